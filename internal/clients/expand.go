package clients

import (
	"path/filepath"
	"strings"
)

// A style is how a client writes a variable in its configuration.
type style uint8

const (
	styleNone   style = iota // text is text
	styleShell               // ${NAME}, ${NAME:-default}
	styleEditor              // ${env:NAME}, ${userHome}, ${workspaceFolder}, ${input:id}
)

// An expander fills in variables and remembers those it could not.
type expander struct {
	place   *Place
	style   style
	folder  string
	missing []string
}

// text fills in the variables of s. One that cannot be filled in stays as it
// is written.
func (e *expander) text(s string) string {
	if e.style == styleNone {
		return s
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString("${" + rest)
			return out.String()
		}
		value, ok := e.lookup(name)
		if !ok {
			e.missing = append(e.missing, strings.TrimPrefix(name, "env:"))
			value = "${" + name + "}"
		}
		out.WriteString(value)
		s = after
	}
}

func (e *expander) lookup(name string) (string, bool) {
	if e.style == styleShell {
		name, fallback, hasFallback := strings.Cut(name, ":-")
		if value, ok := e.place.env(name); ok && (value != "" || !hasFallback) {
			return value, true
		}
		return fallback, hasFallback
	}
	if variable, ok := strings.CutPrefix(name, "env:"); ok {
		return e.place.env(variable)
	}
	switch name {
	case "userHome":
		return e.place.Home, true
	case "workspaceFolder":
		return e.folder, e.folder != ""
	case "workspaceFolderBasename":
		return filepath.Base(e.folder), e.folder != ""
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	return "", false
}

func (e *expander) texts(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, e.text(s))
	}
	return out
}

func (e *expander) vars(v Vars) Vars {
	out := map[string]string{}
	for _, name := range v.Names() {
		out[name] = e.text(v.values[name])
	}
	return Vars{out}
}

// file adds the variables of an env file, where the entry does not set them
// itself. A file that cannot be read is missing like a variable.
func (e *expander) file(path string, into Vars) {
	raw, err := readFile(path)
	if err != nil {
		e.missing = append(e.missing, path)
		return
	}
	for line := range strings.Lines(string(raw)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		name = strings.TrimSpace(name)
		if _, own := into.values[name]; !ok || own || strings.HasPrefix(name, "#") {
			continue
		}
		into.values[name] = unquoteValue(strings.TrimSpace(value))
	}
}

// unquoteValue takes off the quotes around a value.
func unquoteValue(v string) string {
	for _, quote := range []string{`"`, "'"} {
		if len(v) > 1 && strings.HasPrefix(v, quote) && strings.HasSuffix(v, quote) {
			return v[1 : len(v)-1]
		}
	}
	return v
}
