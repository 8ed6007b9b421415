package config

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse reads anything: it never panics, an error points into the file,
// and what is accepted was accepted for what it says, not for how it is laid
// out: adding a comment changes nothing.
func FuzzParse(f *testing.F) {
	f.Add("annotary.yaml", "listen: 127.0.0.1:1\nservers:\n  a: {command: x, args: [1, \"${env:T}\"]}\n")
	f.Add("annotary.yaml", "limits:\n  request: 1MiB # c\ntimeouts: {call: 5s}\n")
	f.Add("mcp.json", `{"mcpServers": {"a": {"command": "x", /* c */ "args": ["${T:-y}",]}}}`)
	f.Add("mcp.json", "{\"servers\": {\"a\": {\"url\": \"http://h\"}}}")
	f.Fuzz(func(t *testing.T, name, src string) {
		c, err := parse(name, []byte(src), env("T", "t"))
		if err != nil {
			if !utf8.ValidString(err.Error()) && utf8.ValidString(name) && utf8.ValidString(src) {
				t.Errorf("the error is not text: %q", err)
			}
			return
		}
		if strings.HasSuffix(strings.ToLower(name), ".json") {
			return
		}
		again, err := parse(name, []byte(src+"\n# a comment\n"), env("T", "t"))
		if err != nil {
			// A document that ends with "..." or in a block scalar takes no comment.
			return
		}
		if len(again.Servers) != len(c.Servers) || again.Listen != c.Listen || again.Limits != c.Limits {
			t.Errorf("a comment changed the configuration:\n%+v\n%+v", c, again)
		}
	})
}

// FuzzSet edits anything: the result is refused, or says what was asked.
func FuzzSet(f *testing.F) {
	f.Add("a: 1 # c\nb: {c: d}\n", "b.c", "x")
	f.Add("a:\n- 1\n- |\n  x\n", "a", "- #")
	f.Add("a: 'x'\nb: \"y\"\r\n", "new.path", "{")
	f.Fuzz(func(t *testing.T, src, at, value string) {
		path := strings.Split(at, ".")
		out, err := Set([]byte(src), path, value)
		if err != nil {
			return
		}
		root, err := document(out)
		if err != nil {
			t.Fatalf("the result cannot be read: %v\n%q", err, out)
		}
		if n := lookup(root, path...); n == nil || n.Value != value || n.ShortTag() != "!!str" {
			t.Fatalf("%v is not %q in %q", path, value, out)
		}
		if slices.Equal(out, []byte(src)) {
			return
		}
		if again, err := Set(out, path, value); err != nil || !slices.Equal(again, out) {
			t.Fatalf("setting it again changed something: %v\n%q\n%q", err, out, again)
		}
	})
}
