package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWords: what is exported, put into a file, says the same.
func TestWords(t *testing.T) {
	words := []Word{
		{Server: "notes", Believe: true},
		{Server: "notes", Tools: "list: all", Hints: map[string]bool{"readOnly": true, "openWorld": false}, Reason: "it's \"fine\": #1"},
		{Server: "notes", Tools: "*", Hints: map[string]bool{"egress": false}},
		{Server: "a b", Tools: "no", Hints: map[string]bool{"destructive": true}, Reason: "two\nlines"},
	}
	text, err := Words(words)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "a b"} {
		if text, err = Set(text, []string{"servers", name, "command"}, "x"); err != nil {
			t.Fatal(err)
		}
	}
	c, err := parse(FileName, text, noEnv)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got []Word
	for _, w := range words {
		s := c.Servers[w.Server]
		if w.Tools == "" {
			got = append(got, Word{Server: w.Server, Believe: s.Believed()})
			continue
		}
		o := s.Overrides[w.Tools]
		hints := map[string]bool{}
		for n, v := range o.Hints() {
			hints[n.String()] = v
		}
		got = append(got, Word{Server: w.Server, Tools: w.Tools, Hints: hints, Reason: o.Reason})
	}
	if diff := cmp.Diff(words, got); diff != "" {
		t.Errorf("the file says something else (-said +written):\n%s\n%s", diff, text)
	}
}
