package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/annotary/annotary/internal/strict"
)

// A source is one file a client may have, and how to read it.
type source struct {
	client  ID
	scope   Scope
	path    string
	read    func(raw []byte) ([]Server, error)
	style   style
	inherit []string
}

// What a client passes on to a server it starts. Claude Desktop and Codex hand
// over a handful of variables, the others everything they were started with.
var (
	inheritAll = []string{"*"}
	inheritFew = []string{
		"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR",
		"APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE",
	}
)

// sources lists every file that may exist, in the order clients are shown.
func sources(p *Place) []source {
	in := func(parts ...string) string { return filepath.Join(append([]string{p.Project}, parts...)...) }
	config := p.configFolder()
	list := []source{
		{ClaudeCode, User, filepath.Join(p.folder("CLAUDE_CONFIG_DIR"), ".claude.json"), readClaude, styleShell, inheritAll},
		{ClaudeCode, Project, in(".mcp.json"), readServers("mcpServers"), styleShell, inheritAll},
		{ClaudeDesktop, User, filepath.Join(config, "Claude", "claude_desktop_config.json"), readServers("mcpServers"), styleNone, inheritFew},
		{Cursor, User, filepath.Join(p.Home, ".cursor", "mcp.json"), readServers("mcpServers"), styleEditor, inheritAll},
		{Cursor, Project, in(".cursor", "mcp.json"), readServers("mcpServers"), styleEditor, inheritAll},
	}
	for _, path := range vscodeFiles(config) {
		list = append(list, source{VSCode, User, path, readServers("servers"), styleEditor, inheritAll})
	}
	list = append(
		list,
		source{VSCode, Project, in(".vscode", "mcp.json"), readServers("servers"), styleEditor, inheritAll},
		source{Codex, User, filepath.Join(p.folder("CODEX_HOME", ".codex"), "config.toml"), readCodex, styleNone, inheritFew},
		source{Codex, Project, in(".codex", "config.toml"), readCodex, styleNone, inheritFew},
	)
	return slices.DeleteFunc(list, func(s source) bool { return s.scope == Project && p.Project == "" })
}

// configFolder is where the operating system wants programs to keep settings.
func (p *Place) configFolder() string {
	switch p.OS {
	case "darwin":
		return filepath.Join(p.Home, "Library", "Application Support")
	case "windows":
		return p.folder("APPDATA", "AppData", "Roaming")
	default:
		return p.folder("XDG_CONFIG_HOME", ".config")
	}
}

// vscodeFiles lists the user's files of VS Code and its preview edition: one
// for the default profile and one for each further profile.
func vscodeFiles(config string) []string {
	var files []string
	for _, edition := range []string{"Code", "Code - Insiders"} {
		user := filepath.Join(config, edition, "User")
		files = append(files, filepath.Join(user, "mcp.json"))
		profiles, err := filepath.Glob(filepath.Join(user, "profiles", "*", "mcp.json"))
		if err == nil { // it fails only on a home whose name is no pattern
			files = append(files, profiles...)
		}
	}
	return files
}

// readServers reads a file whose servers stand under one key.
func readServers(key string) func(raw []byte) ([]Server, error) {
	return func(raw []byte) ([]Server, error) {
		doc, err := readJSON(raw)
		if err != nil {
			return nil, err
		}
		return readMap(strict.Get(doc, key))
	}
}

// readClaude reads ~/.claude.json: the user's servers, and those of single
// projects, which the user added too.
func readClaude(raw []byte) ([]Server, error) {
	doc, err := readJSON(raw)
	if err != nil {
		return nil, err
	}
	servers, err := readMap(strict.Get(doc, "mcpServers"))
	errs := []error{err}
	for folder, project := range strict.Members(strict.Get(doc, "projects")) {
		more, err := readMap(strict.Get(project, "mcpServers"))
		errs = append(errs, err)
		for _, s := range more {
			s.Folder = folder
			s.Disabled = s.Disabled || contains(strict.Get(project, "disabledMcpServers"), s.Name)
			servers = append(servers, s)
		}
	}
	return servers, errors.Join(errs...)
}

// readMap reads entries under their names. What is wrong with one does not
// hide the others.
func readMap(raw strict.Raw) ([]Server, error) {
	var servers []Server
	var errs []error
	for name, entry := range strict.Members(raw) {
		s, err := readEntry(name, entry)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		servers = append(servers, s)
	}
	return servers, errors.Join(errs...)
}

// readJSON returns the document, comments and trailing commas taken out.
func readJSON(raw []byte) (strict.Raw, error) {
	doc := strict.Plain(raw)
	if err := strict.Check(doc, strict.Limits{Bytes: maxFile}); err != nil {
		return nil, err
	}
	if kind := strict.KindOf(doc); kind != strict.Object {
		return nil, fmt.Errorf("it holds no object but %s", kind)
	}
	return doc, nil
}

func contains(list strict.Raw, want string) bool {
	for _, v := range strict.Elements(list) {
		if s, ok := strict.Text(v); ok && s == want {
			return true
		}
	}
	return false
}

// ProjectAt returns the project that a folder belongs to: the nearest folder
// from there upwards that holds a project's configuration or a repository, but
// none at or above home. If there is none, it is the folder itself.
func ProjectAt(folder, home string) string {
	marks := []string{".git", ".mcp.json", filepath.Join(".cursor", "mcp.json"), filepath.Join(".vscode", "mcp.json"), filepath.Join(".codex", "config.toml")}
	for dir := folder; dir != home && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, mark := range marks {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
	}
	return folder
}
