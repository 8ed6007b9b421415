package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
)

// Ours returns the file that what we and the operator say is written to: the
// configuration itself or, for the file of a client, which is not ours to
// write, the one beside it. What mcp.json leaves to be said is in
// mcp.annotary.yaml.
func Ours(path string) string {
	if !isClient(path) {
		return path
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "." + FileName
}

func isClient(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// load reads a configuration, and for a client's file what stands beside it.
func load(path string, env func(string) (string, bool)) (*Config, error) {
	src, err := read(path)
	if err != nil {
		return nil, err
	}
	ours, err := readBeside(path)
	if err != nil {
		return nil, err
	}
	return parseBoth(path, src, ours, env)
}

// readBeside returns what stands beside a client's file, nil if nothing does.
func readBeside(path string) ([]byte, error) {
	if !isClient(path) {
		return nil, nil
	}
	src, err := os.ReadFile(Ours(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, annotary.E(annotary.CodeConfig, "cannot read "+Ours(path), err).
			WithHint("it says what " + filepath.Base(path) + " leaves to be said; may this user read it?")
	}
	return src, nil
}

// parseBoth reads a configuration and what stands beside it. There each key of
// a server that is written wins over the client's.
func parseBoth(name string, src, ours []byte, env func(string) (string, bool)) (*Config, error) {
	c, err := parse(name, src, env)
	if err != nil || ours == nil {
		return c, err
	}
	d, root, err := open(Ours(name), ours, env)
	if err != nil {
		return nil, err
	}
	both := new(Config)
	d.structure(root, reflect.ValueOf(both).Elem(), "")
	both.adopt(c.Servers, root)
	d.check(both, root)
	if err := d.err(); err != nil {
		return nil, err
	}
	return both, both.settle(filepath.Dir(name))
}

// adopt takes over servers, except for the keys that root says of them.
func (c *Config) adopt(servers map[string]Server, root *yaml.Node) {
	if c.Servers == nil {
		c.Servers = map[string]Server{}
	}
	for name, theirs := range servers {
		own, ok := c.Servers[name]
		if !ok {
			c.Servers[name] = theirs
			continue
		}
		from, to := reflect.ValueOf(theirs), reflect.ValueOf(&own).Elem()
		for i := range from.NumField() {
			if key := from.Type().Field(i).Tag.Get("yaml"); lookup(root, "servers", name, key) == nil {
				to.Field(i).Set(from.Field(i))
			}
		}
		c.Servers[name] = own
	}
}
