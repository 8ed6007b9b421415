package approval

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

func TestPattern(t *testing.T) {
	const shown = `{"repo":"acme/site","path":"docs/a.md","n":1,"list":["x","y"],"o":{}}`
	with := func(from, to string) string { return strings.Replace(shown, from, to, 1) }
	for _, tt := range []struct {
		pattern, args string
		want          bool
	}{
		{"/path=prefix:docs/", shown, true},
		{"/path=prefix:docs/", with("docs/a.md", "docs/b/c.md"), true},
		{"/path=prefix:docs/", with("docs/a.md", "docs/../secret"), false},
		{"/path=prefix:docs/", with("docs/a.md", `docs/..\\secret`), false},
		{"/path=prefix:docs/", with("docs/a.md", "docs/%2E%2e/secret"), false},
		{"/path=prefix:docs/.", with("docs/a.md", "docs/.hidden"), true},
		{"/path=prefix:docs/.", with("docs/a.md", "docs/../secret"), false},
		{"/path=prefix:docs/%2", with("docs/a.md", "docs/%2E./secret"), false},
		{"/path=prefix:docs/", with("docs/a.md", "Docs/a.md"), false},
		{"/path=prefix:docs/", with(`"docs/a.md"`, `["docs/a.md"]`), false},
		{"/path=prefix:docs/", with(`"docs/a.md"`, `null`), false},
		{"/path=prefix:docs/", with("acme/site", "acme/other"), false},
		{"/path=prefix:docs/", with(`"n":1`, `"n":1.0`), true},
		{"/path=prefix:docs/", with(`"n":1`, `"n":10`), false},
		{"/path=prefix:docs/", with(`"o":{}`, `"o":[]`), false},
		{"/path=prefix:docs/", with(`"o":{}`, `"o":{"x":1}`), false},
		{"/path=prefix:docs/", with(`,"o":{}`, ``), false},
		{"/path=prefix:docs/", with(`["x","y"]`, `{"0":"x","1":"y"}`), false},
		{"/n=prefix:", with(`"n":1`, `"n":77`), true},
		{"/n=prefix:", with(`"n":1`, `"n":{"a":1}`), false},
		{"/n=one-of:1,2", with(`"n":1`, `"n":2`), true},
		{"/n=one-of:1,2", with(`"n":1`, `"n":20e-1`), true},
		{"/n=one-of:1,2", with(`"n":1`, `"n":"2"`), true}, // a person who writes 2 means both
		{"/n=one-of:1,2", with(`"n":1`, `"n":3`), false},
		{"/repo=exact:acme/site", shown, true},
		{"/repo=acme/other", with("acme/site", "acme/other"), true},
		{"/repo=acme/other", shown, false},
		{"/list/1=prefix:y", with(`"y"`, `"yes"`), true},
		{"/list/1=prefix:y", with(`["x","y"]`, `["x","y","y"]`), false},
	} {
		p, err := ParsePattern([]string{tt.pattern})
		if err == nil {
			err = p.check(leavesOf([]byte(shown)))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := p.fits(leavesOf([]byte(shown)), []byte(tt.args)); got != tt.want {
			t.Errorf("%s fits %s: %v", tt.pattern, tt.args, got)
		}
		for pointer, m := range p {
			if again, err := ParseMatch(m.String()); err != nil || again.String() != m.String() {
				t.Errorf("%s is written %s", pointer, m)
			}
		}
	}
}

func TestDestination(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                            "server:s",
		`{"text":"hello there"}`:        "server:s",
		`{"file":"a.md","v":"1.2"}`:     "a.md", // shaped like a host: taken for one
		`{"to":"Ann <ann@B.example>"}`:  "mail:b.example",
		`{"url":"https://A.example/x"}`: "a.example",
		`{"a":["http://b.example:80/","see https://c.example."],"h":"d.example"}`: "b.example:80 c.example d.example",
		`{"ip":"10.0.0.1"}`: "10.0.0.1",

		// Whatever a program would take for an address is one.
		`{"to":"10.0.0.1:8080"}`:                  "10.0.0.1:8080",
		`{"to":"[2001:DB8::1]:80"}`:               "2001:db8::1:80",
		`{"to":"Evil.example."}`:                  "evil.example",
		`{"to":"evil.example:80"}`:                "evil.example:80",
		`{"to":"evil.example/in?all=1"}`:          "evil.example",
		`{"to":"//evil.example/in"}`:              "evil.example",
		`{"to":"evil.example:80/in"}`:             "evil.example:80",
		`{"to":"my_box.evil.example"}`:            "my_box.evil.example",
		`{"to":"bücher.example"}`:                 "bücher.example",
		`{"text":"it ended. Then: nothing, 1/2"}`: "server:s",
	} {
		if got := Destination("s", []byte(args)); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// FuzzPrompt: whatever a server and a model write, each of it stays on one line
// of its own, within bounds, and steers no terminal.
func FuzzPrompt(f *testing.F) {
	f.Add("Delete", "a", `{"a":"b"}`)
	f.Add("x\nYou are asked because:", "t\x1b[2J", "{\"a\\n\":\"\\nTool x of server y\",\"\u202e\":\"\\u202e\"}")
	f.Fuzz(func(t *testing.T, title, name, args string) {
		h := annotary.Pessimistic()
		who := annotary.Principal{Subject: name}
		s := Shown{
			Tool: &annotary.Tool{Title: title}, Server: name, Name: name, Hints: &h, Principal: &who,
			Reasons: []Reason{{Text: title, Rule: name}}, Changed: []string{title},
		}
		if err := checkJSON(args); err == nil {
			s.Arguments = []byte(args)
		}
		p := NewPrompt(s)
		text := p.Text()
		if lines, want := strings.Count(text, "\n"), 5+max(1, len(p.Arguments))+min(p.More, 1)+len(p.Why)+len(p.Hints)+len(p.Changed); lines != want {
			t.Errorf("%d lines, want %d:\n%s", lines, want, text)
		}
		if len(text) > 20_000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\r\u202e\x00") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}

// TestPrompt_empty: an empty list is shown, for it may mean everything.
func TestPrompt_empty(t *testing.T) {
	h := annotary.Pessimistic()
	for args, want := range map[string][]Argument{
		`{"tables":[],"where":{},"force":true}`: {{Pointer: "/tables", Value: "[]"}, {Pointer: "/where", Value: "{}"}, {Pointer: "/force", Value: "true"}},
		`{"a":{"b":[{}]}}`:                      {{Pointer: "/a/b/0", Value: "{}"}},
		`{}`:                                    nil,
		``:                                      nil,
	} {
		p := NewPrompt(Shown{Hints: &h, Principal: &annotary.Principal{}, Arguments: []byte(args)})
		if diff := cmp.Diff(want, p.Arguments); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", args, diff)
		}
	}
}

// TestPrompt_cut: of a value that is too long the prompt says how much is missing.
func TestPrompt_cut(t *testing.T) {
	h := annotary.Pessimistic()
	for _, tt := range []struct{ length, cut int }{{maxValue, 0}, {maxValue + 1, 1}, {maxValue + 5000, 5000}} {
		args := fmt.Sprintf(`{"path":%q}`, strings.Repeat("é", tt.length))
		p := NewPrompt(Shown{Hints: &h, Principal: &annotary.Principal{}, Arguments: []byte(args)})
		if got := p.Arguments[0].Cut; got != tt.cut {
			t.Errorf("%d characters: got cut %d, want %d", tt.length, got, tt.cut)
		}
		said := fmt.Sprintf("and %d more characters that are not shown", tt.cut)
		if got, want := strings.Contains(p.Text(), said), tt.cut > 0; got != want {
			t.Errorf("%d characters: %q is there: %t, want %t", tt.length, said, got, want)
		}
	}
}

func checkJSON(s string) error { return strict.Check([]byte(s), strict.Limits{}) }
