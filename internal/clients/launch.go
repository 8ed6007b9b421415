package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Launch is what it takes to reach a server. It holds secrets: nothing of it
// is for printing.
type Launch struct {
	Transport Transport
	Command   string
	Args      []string
	Env       Vars
	Dir       string
	URL       string
	Headers   Vars
	// Inherit names the variables of our own environment that the client
	// would pass on; "*" stands for all of them.
	Inherit []string
	// Missing names what the entry refers to and nobody here can fill in:
	// variables that are not set, values the client asks its user for.
	Missing []string
}

// key is the same for launches that start the same server.
func (l *Launch) key() string {
	key := [][]string{{string(l.Transport), l.Command, l.URL}, l.Args, l.Env.pairs(), l.Headers.pairs()}
	return fmt.Sprintf("%q", key)
}

// Secrets returns the values that must not be shown, longest first, so that
// they can be struck from what a server says about itself.
func (l *Launch) Secrets() []string {
	values := secretsInURL(l.URL)
	for _, vars := range []Vars{l.Env, l.Headers} {
		for name, v := range vars.values {
			// A path is what people look for, unless its name says otherwise.
			if secretName(name) || !strings.ContainsAny(v, "/\\") {
				values = append(values, v, strings.TrimPrefix(v, "Bearer "))
			}
		}
	}
	for i, shown := range hideArgs(l.Args) {
		values = append(values, secretsInURL(l.Args[i])...)
		if before, after, ok := strings.Cut(shown, hidden); ok && !strings.Contains(shown, "://") {
			values = append(values, strings.TrimSuffix(strings.TrimPrefix(l.Args[i], before), after))
		}
	}
	// A short value such as "1" or "true" is no secret, and striking it would
	// blot out half the text.
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < 6 })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(values)
}

// Environment returns the variables the server gets: what its client passes on
// of environ ("name=value" each), then its own. It holds secrets.
func (l *Launch) Environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if name != "" && (slices.Contains(l.Inherit, "*") || slices.Contains(l.Inherit, name)) {
			env[name] = value
		}
	}
	maps.Copy(env, l.Env.values)
	return env
}

// Vars are named values that no printer can open: fmt and encoding/json write
// the names only.
type Vars struct{ values map[string]string }

// NewVars returns the values under their names.
func NewVars(values map[string]string) Vars { return Vars{maps.Clone(values)} }

// Names returns the names, sorted.
func (v Vars) Names() []string { return slices.Sorted(maps.Keys(v.values)) }

// Reveal returns the values under their names, for starting a server and
// nothing else.
func (v Vars) Reveal() map[string]string { return maps.Clone(v.values) }

// String writes the names.
func (v Vars) String() string { return strings.Join(v.Names(), " ") }

// Format writes the names, whatever the verb.
func (v Vars) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(v.String())) }

// MarshalJSON writes the names.
func (v Vars) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]string{}, v.Names()...))
}

func (v Vars) pairs() []string {
	var pairs []string
	for _, name := range v.Names() {
		pairs = append(pairs, name, v.values[name])
	}
	return pairs
}
