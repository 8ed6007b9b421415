package clients

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

var update = flag.Bool("update", false, "rewrite the table in docs/clients.md")

// hints reads "r=true d=false o=absent" into the stated hints.
func hints(t *testing.T, s string) (out [annotary.NumHints]annotary.Stated) {
	t.Helper()
	names := map[string]annotary.HintName{"r": annotary.ReadOnly, "d": annotary.Destructive, "o": annotary.OpenWorld}
	states := map[string]annotary.Stated{
		"true": annotary.StatedTrue, "false": annotary.StatedFalse, "null": annotary.StatedNull, "wrong": annotary.StatedWrongType,
	}
	for part := range strings.FieldsSeq(s) {
		name, state, _ := strings.Cut(part, "=")
		st, ok := states[state]
		if !ok {
			t.Fatalf("unknown state %q", state)
		}
		out[names[name]] = st
	}
	return out
}

// TestHosts is the table of docs/clients.md: what each host does with the
// combinations that tell them apart.
func TestHosts(t *testing.T) {
	columns := []string{"", "r=true", "r=true d=true", "r=false d=false", "r=false d=false o=false", "d=true", "r=null", "r=wrong", "o=false", "d=false"}
	want := map[string]string{
		"claude-code normal":        "ask ask ask ask ask ask ask ask ask ask",
		"claude-code plan mode":     "ask run run ask ask ask ask ask ask ask",
		"claude-desktop connectors": "ask run ask ask ask ask ask ask ask ask",
		"cursor agent":              "ask ask ask ask ask ask ask ask ask ask",
		"cursor ask mode":           "block ask ask block block block block block block block",
		"cursor admin: reads":       "block run block block block block block block block block",
		"vscode agent":              "ask run run ask ask ask ask ask ask ask",
		"codex auto":                "ask run ask ask run ask ask ask ask ask",
		"codex exec, never ask":     "block run block block run block block block block block",
	}
	words := map[annotary.Effect]string{annotary.Allow: "run", annotary.Ask: "ask", annotary.Deny: "block"}
	got := map[string]string{}
	for _, h := range Hosts {
		var row []string
		for _, c := range columns {
			v := h.Judge(hints(t, c), NoRule)
			if v.Why == "" {
				t.Errorf("%s %s gives no reason for %q", h.Client, h.Mode, c)
			}
			row = append(row, words[v.Effect])
		}
		got[fmt.Sprint(h.Client, " ", h.Mode)] = strings.Join(row, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}

// TestHosts_OneDefault checks that every client has a mode people get unasked.
func TestHosts_OneDefault(t *testing.T) {
	for _, id := range All {
		defaults := 0
		for _, h := range HostsOf(id) {
			if h.Default {
				defaults++
			}
		}
		if defaults != 1 {
			t.Errorf("%s has %d default modes, want 1", id, defaults)
		}
	}
}

// TestHosts_Monotone checks that saying a tool is destructive never makes a
// host less careful than silence.
func TestHosts_Monotone(t *testing.T) {
	for _, h := range Hosts {
		for _, rest := range []string{"", "r=true", "r=false", "o=true", "o=false", "r=true o=true", "r=false o=false"} {
			silent, loud := h.Judge(hints(t, rest), NoRule), h.Judge(hints(t, rest+" d=true"), NoRule)
			if loud.Effect > silent.Effect {
				t.Errorf("%s %s: destructiveHint true turns %s into %s with %q", h.Client, h.Mode, silent.Effect, loud.Effect, rest)
			}
		}
	}
}

// TestHosts_Docs checks that docs/clients.md shows what the code does. Run with
// -update to rewrite the table.
func TestHosts_Docs(t *testing.T) {
	const file, begin, end = "../../docs/clients.md", "<!-- hosts -->\n", "<!-- /hosts -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), begin)
	got, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no place for the table", file)
	}
	want := hostTable(t)
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/clients.md (-want +got):\n%s", diff)
	}
}

func hostTable(t *testing.T) string {
	t.Helper()
	columns := []struct{ title, hints string }{
		{"nothing said", ""},
		{"`readOnly`", "r=true"},
		{"`readOnly`, `destructive`", "r=true d=true"},
		{"not `destructive`", "d=false"},
		{"not `destructive`, not `openWorld`", "d=false o=false"},
		{"`destructive`", "d=true"},
	}
	words := map[annotary.Effect]string{annotary.Allow: "**runs**", annotary.Ask: "asks", annotary.Deny: "blocked"}
	var out strings.Builder
	out.WriteString("| client, mode |")
	for _, c := range columns {
		out.WriteString(" " + c.title + " |")
	}
	out.WriteString("\n|---" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, h := range Hosts {
		fmt.Fprintf(&out, "| %s, %s |", h.Client.Name(), h.Mode)
		for _, c := range columns {
			fmt.Fprintf(&out, " %s |", words[h.Judge(hints(t, c.hints), NoRule).Effect])
		}
		out.WriteString("\n")
	}
	return out.String()
}
