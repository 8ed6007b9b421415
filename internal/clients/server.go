package clients

import (
	"fmt"
	"slices"

	"github.com/annotary/annotary/internal/strict"
)

// A Scope says whose file an entry stands in.
type Scope string

// The scopes. A project's file may come with a cloned repository, so nothing in
// it is started without being asked for.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// A Transport is how a server is reached.
type Transport string

// The transports a configuration can name.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// A Server is one entry of one configuration, as it is written there.
type Server struct {
	Client ID
	Name   string
	Scope  Scope
	File   string
	// Folder is the project the entry belongs to, empty if it belongs to all.
	Folder string

	Transport Transport
	Command   string
	Args      []string
	Env       Vars
	Dir       string // the folder it wants to start in
	URL       string
	Headers   Vars
	// Disabled says the user switched the entry off.
	Disabled bool

	// Launch is the entry with its variables filled in.
	Launch Launch

	envFile    string            // a file with more variables
	inherit    []string          // variables passed on by name, "*" for all
	headerVars map[string]string // headers whose value is in a variable
}

// complete fills in what the entry inherits from where it was found, and its
// launch.
func (s *Server) complete(p *Place, src source) {
	s.Client, s.Scope, s.File = src.client, src.scope, src.path
	if s.Scope == Project {
		s.Folder = p.Project
	}
	folder := s.Folder
	if folder == "" {
		folder = p.Project
	}
	fill := expander{place: p, style: src.style, folder: folder}
	s.Launch = Launch{
		Transport: s.Transport,
		Command:   fill.text(s.Command),
		Args:      fill.texts(s.Args),
		Env:       fill.vars(s.Env),
		Dir:       fill.text(s.Dir),
		URL:       fill.text(s.URL),
		Headers:   fill.vars(s.Headers),
		Inherit:   s.inherit,
	}
	if s.envFile != "" {
		fill.file(fill.text(s.envFile), s.Launch.Env)
	}
	if s.Launch.Dir == "" {
		s.Launch.Dir = s.Folder
	}
	if s.Launch.Inherit == nil {
		s.Launch.Inherit = src.inherit
	}
	for header, variable := range s.headerVars {
		value, ok := p.env(variable)
		if !ok {
			fill.missing = append(fill.missing, variable)
		}
		s.Launch.Headers.values[header] = bearer(header, value)
	}
	slices.Sort(fill.missing)
	s.Launch.Missing = slices.Compact(fill.missing)
}

// readEntry reads an entry in the form that all clients but Codex share.
func readEntry(name string, raw strict.Raw) (Server, error) {
	if strict.KindOf(raw) != strict.Object {
		return Server{}, fmt.Errorf("server %q is not an object", name)
	}
	s := Server{Name: name}
	s.Command, _ = strict.Text(strict.Get(raw, "command"))
	for _, arg := range strict.Elements(strict.Get(raw, "args")) {
		text, ok := strict.Text(arg)
		if !ok {
			return Server{}, fmt.Errorf("server %q has an argument that is not text", name)
		}
		s.Args = append(s.Args, text)
	}
	s.Env = readVars(strict.Get(raw, "env"))
	s.Dir, _ = strict.Text(strict.Get(raw, "cwd"))
	s.envFile, _ = strict.Text(strict.Get(raw, "envFile"))
	s.Headers = readVars(strict.Get(raw, "headers"))
	for _, key := range []string{"url", "serverUrl"} {
		if url, ok := strict.Text(strict.Get(raw, key)); ok {
			s.URL = url
		}
	}
	s.Disabled = strict.KindOf(strict.Get(raw, "disabled")) == strict.True
	kind, _ := strict.Text(strict.Get(raw, "type"))
	return s, s.settle(kind)
}

// settle decides the transport from what the entry says and has.
func (s *Server) settle(kind string) error {
	switch {
	case kind == "sse":
		s.Transport = SSE
	case s.URL != "":
		s.Transport = HTTP
	default:
		s.Transport = Stdio
	}
	switch {
	case s.Transport == Stdio && s.Command == "":
		return fmt.Errorf("server %q has neither a command nor a url", s.Name)
	case s.Transport != Stdio && s.URL == "":
		return fmt.Errorf("server %q has no url", s.Name)
	}
	return nil
}

// readVars reads an object of values. Numbers and booleans count as their text,
// as they do for the clients; null unsets, so it is left out.
func readVars(raw strict.Raw) Vars {
	values := map[string]string{}
	for name, v := range strict.Members(raw) {
		switch strict.KindOf(v) {
		case strict.String:
			values[name], _ = strict.Text(v)
		case strict.Number, strict.True, strict.False:
			values[name] = string(v)
		default:
		}
	}
	return Vars{values}
}
