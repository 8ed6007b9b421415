// Package clients knows the programs people run agents in: where each keeps its
// list of MCP servers ([Find]), and what each does with a tool's hints today
// ([Hosts]).
//
// Reading is all it does. It starts nothing, changes no file, and looks only
// below the folders and through the environment it is given, so a test hands
// it a home of its own:
//
//	Place{Home, Project, OS, Getenv} ─ Find ─▶ Found{Servers, Files}
//	                                             └ Distinct ─▶ [][]Server
//
// A configuration holds secrets. Values of environment variables and headers
// are kept in [Vars], which no printer can open; [Server.Line] writes a command
// with what looks like a secret left out.
package clients

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// An ID names a client in output and flags.
type ID string

// The clients whose configurations are read.
const (
	ClaudeCode    ID = "claude-code"
	ClaudeDesktop ID = "claude-desktop"
	Cursor        ID = "cursor"
	VSCode        ID = "vscode"
	Codex         ID = "codex"
)

// All lists the clients in the order they are shown.
var All = []ID{ClaudeCode, ClaudeDesktop, Cursor, VSCode, Codex}

// Name returns the name people know the client by.
func (id ID) Name() string {
	switch id {
	case ClaudeCode:
		return "Claude Code"
	case ClaudeDesktop:
		return "Claude Desktop"
	case Cursor:
		return "Cursor"
	case VSCode:
		return "VS Code"
	case Codex:
		return "Codex"
	default:
		return string(id)
	}
}

// A Place says where to look.
type Place struct {
	// Home is the user's home folder.
	Home string
	// Project is the folder whose project files are read. If empty, none are.
	Project string
	// OS is "linux", "darwin" or "windows": clients keep their files in
	// different places on each. If empty, "linux".
	OS string
	// Getenv looks up a variable, as os.LookupEnv does. If nil, none is set.
	Getenv func(name string) (string, bool)
}

func (p *Place) env(name string) (string, bool) {
	if p.Getenv == nil {
		return "", false
	}
	return p.Getenv(name)
}

// folder returns the folder a variable names, else the given one below home.
func (p *Place) folder(variable string, below ...string) string {
	if dir, ok := p.env(variable); ok && dir != "" {
		return dir
	}
	return filepath.Join(append([]string{p.Home}, below...)...)
}

// Found is what the configurations say.
type Found struct {
	// Servers are the entries, by client, then file, then name.
	Servers []Server
	// Files are the configuration files that exist, readable or not.
	Files []File
	// Rules are the permissions the user gave.
	Rules Rules
}

// A File is one configuration file of one client.
type File struct {
	Client ID     `json:"client"`
	Scope  Scope  `json:"scope"`
	Path   string `json:"path"`
	// Problem says in a sentence why the file, or a part of it, could not be
	// read. Empty if all is well.
	Problem string `json:"problem,omitempty"`
}

// Find reads every configuration there is. A file that cannot be read is
// reported among the files and stops nothing.
func Find(p Place) Found {
	var found Found
	seen := map[string]bool{}
	for _, s := range sources(&p) {
		if seen[s.path] { // in a project at home, both scopes name one file
			continue
		}
		seen[s.path] = true
		raw, err := readFile(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		file := File{Client: s.client, Scope: s.scope, Path: s.path}
		var servers []Server
		if err == nil {
			servers, err = s.read(raw)
		}
		if err != nil {
			file.Problem = problem(err)
		}
		found.Files = append(found.Files, file)
		for i := range servers {
			servers[i].complete(&p, s)
		}
		slices.SortFunc(servers, func(a, b Server) int {
			return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Name, b.Name))
		})
		found.Servers = append(found.Servers, servers...)
	}
	var bad []File
	found.Rules, bad = readRules(&p)
	found.Files = append(found.Files, bad...)
	return found
}

// maxFile is the largest file read: Claude Code keeps its history beside its
// servers, and that grows.
const maxFile = 256 << 20

// readFile reads a configuration. A project may come from a stranger, and a
// link to a device would never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), maxFile)
	}
	return os.ReadFile(path)
}

// Distinct groups entries that start the same server: the same command with
// the same arguments and environment, or the same address with the same
// headers, whatever it is called and whichever folder it starts in. Groups and
// their members keep the order of the entries.
func Distinct(servers []Server) [][]Server {
	var groups [][]Server
	at := map[string]int{}
	for _, s := range servers {
		key := s.Launch.key()
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}
