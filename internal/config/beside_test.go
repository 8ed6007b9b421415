package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/annotary/annotary"
)

// TestBeside: a client's file stays as it is; what is said of its servers stands
// beside it and counts.
func TestBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	theirs := `{"mcpServers": {"notes": {"command": "notes", "args": ["-v"]}, "other": {"url": "http://localhost:1/"}}}`
	if err := os.WriteFile(path, []byte(theirs), 0o644); err != nil {
		t.Fatal(err)
	}
	err := SetFile(path,
		Edit{[]string{"preset"}, "careful"},
		Edit{[]string{"servers", "notes", "overrides", "list", "readOnly"}, true})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != theirs {
		t.Errorf("the client's file was written: %s", got)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	notes := c.Servers["notes"]
	o := notes.Overrides["list"]
	if c.Preset != "careful" || notes.Command.Value() != "notes" || len(notes.Args) != 1 || o.ReadOnly == nil || !*o.ReadOnly {
		t.Errorf("got %+v", c)
	}
	if got, want := o.Position(), (annotary.Position{File: "mcp.annotary.yaml", Line: 5}); got != want {
		t.Errorf("the override is at %v, want %v", got, want)
	}
	if c.Servers["other"].URL.Value() != "http://localhost:1/" {
		t.Errorf("a server of which nothing is said is lost: %+v", c.Servers)
	}
	if err := SetFile(path, Edit{[]string{"servers", "nobody", "believe_hints"}, true}); annotary.CodeOf(err) != annotary.CodeConfig {
		t.Errorf("a server that is nowhere was written: %v", err)
	}
}
