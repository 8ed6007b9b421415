package clients

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// codexFile is the part of Codex's configuration that names servers.
type codexFile struct {
	Servers map[string]codexServer `toml:"mcp_servers"`
}

type codexServer struct {
	Command    string            `toml:"command"`
	Args       []string          `toml:"args"`
	Env        map[string]string `toml:"env"`
	EnvVars    []any             `toml:"env_vars"` // names, or tables with a name
	Dir        string            `toml:"cwd"`
	URL        string            `toml:"url"`
	Headers    map[string]string `toml:"http_headers"`
	EnvHeaders map[string]string `toml:"env_http_headers"`
	BearerVar  string            `toml:"bearer_token_env_var"`
	Enabled    *bool             `toml:"enabled"`
}

const authorization = "Authorization"

func readCodex(raw []byte) ([]Server, error) {
	var file codexFile
	if err := toml.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	var servers []Server
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		s := file.Servers[name].server(name)
		if err := s.settle(""); err != nil {
			errs = append(errs, err)
			continue
		}
		servers = append(servers, s)
	}
	return servers, errors.Join(errs...)
}

func (c codexServer) server(name string) Server {
	fromVars := map[string]string{}
	maps.Copy(fromVars, c.EnvHeaders)
	if c.BearerVar != "" {
		fromVars[authorization] = c.BearerVar
	}
	return Server{
		Name:       name,
		Command:    c.Command,
		Args:       c.Args,
		Env:        NewVars(c.Env),
		Dir:        c.Dir,
		URL:        c.URL,
		Headers:    NewVars(c.Headers),
		Disabled:   c.Enabled != nil && !*c.Enabled,
		inherit:    c.inherited(),
		headerVars: fromVars,
	}
}

// inherited returns the variables passed on beside the usual few; nil if none
// are named.
func (c codexServer) inherited() []string {
	if len(c.EnvVars) == 0 {
		return nil
	}
	names := slices.Clone(inheritFew)
	for _, v := range c.EnvVars {
		switch v := v.(type) {
		case string:
			names = append(names, v)
		case map[string]any:
			if name, ok := v["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// bearer completes the value of a header that came from a variable: the
// variable of an Authorization header may hold the bare token.
func bearer(header, value string) string {
	if header == authorization && value != "" && !strings.Contains(value, " ") {
		return "Bearer " + value
	}
	return value
}

// problem says in one line what is wrong with a file.
func problem(err error) string {
	if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := syntax.Position()
		return fmt.Sprintf("not valid TOML in line %d: %s", row, strings.TrimPrefix(syntax.Error(), "toml: "))
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}
