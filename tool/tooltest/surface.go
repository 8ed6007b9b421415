package tooltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/lint"
	"github.com/annotary/annotary/prompt"
)

// The name leaves -update free for the author's own; if there is one, it
// counts.
var update = flag.Bool("tooltest.update", false, "rewrite the snapshots of tool definitions")

func updating() bool {
	f := flag.Lookup("update")
	return *update || (f != nil && f.Value.String() == "true")
}

// Snapshot compares every definition, hints and schemas included, with the file
// and fails on any difference: what clients see changes only on purpose. Run
// the test with -tooltest.update, or an -update flag of your own, to rewrite
// the file. A missing file is written, except in CI, where it fails.
func Snapshot(t testing.TB, srv *mcp.Server, file string) {
	t.Helper()
	got := surface(t, srv)
	want, err := os.ReadFile(file)
	if missing := os.IsNotExist(err); updating() || (missing && os.Getenv("CI") == "") {
		if err := writeFile(file, got); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s written", file)
		return
	}
	if err != nil {
		t.Fatalf("%v: run the test with -tooltest.update and commit the file", err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the tools changed (-%s +now); if on purpose, run with -tooltest.update\n%s", file, diff)
	}
}

// surface writes the definitions for people to review: by name, indented.
func surface(t testing.TB, srv *mcp.Server) []byte {
	t.Helper()
	tools := Tools(t, srv)
	slices.SortFunc(tools, func(a, b annotary.Tool) int { return strings.Compare(a.Name, b.Name) })
	raws := make([]json.RawMessage, len(tools))
	for i, def := range tools {
		raws[i] = def.Raw
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"tools": raws}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// Lint judges the definitions by every profile. It fails on errors, and on
// warnings of the strict profile; the other profiles' warnings, which follow the
// taste of one directory each, are logged.
//
// The linter reads words and can be wrong. A finding you have looked at is
// accepted by its rule and tool, such as "doubtful-destructive create_payment";
// accepting what is not found fails.
func Lint(t testing.TB, srv *mcp.Server, accepted ...string) {
	t.Helper()
	found := judge(Tools(t, srv))
	for _, j := range found {
		say := t.Logf
		if j.fails && !slices.Contains(accepted, j.name()) {
			say = t.Errorf
		}
		say("%s", j)
	}
	for _, name := range accepted {
		if !slices.ContainsFunc(found, func(j *judged) bool { return j.name() == name }) {
			t.Errorf("%q is accepted and not found: take it out", name)
		}
	}
}

// A judged finding is what one or more profiles say of a tool.
type judged struct {
	lint.Finding
	by    []string // "strict error"
	fails bool
}

// name is what an author accepts it by.
func (j *judged) name() string { return strings.TrimSpace(j.Rule + " " + j.Tool) }

func (j *judged) String() string {
	text := fmt.Sprintf("%s: %s %s", strings.Join(j.by, ", "), cmp.Or(j.Tool, "the list"), j.Message)
	if j.Evidence != "" {
		text += ": " + j.Evidence
	}
	return fmt.Sprintf("%s; %s (%q)", text, j.Fix, j.name())
}

// judge lints by every profile and puts together what differs only in who says
// it.
func judge(tools []annotary.Tool) []*judged {
	var all []*judged
	for p := range lint.NumProfiles {
		for _, f := range lint.Check(tools, lint.Options{Profile: p}).Findings {
			i := slices.IndexFunc(all, func(j *judged) bool {
				return j.Rule == f.Rule && j.Index == f.Index && j.At == f.At && j.Message == f.Message
			})
			if i < 0 {
				i = len(all)
				all = append(all, &judged{Finding: f})
			}
			all[i].by = append(all[i].by, fmt.Sprintf("%s %s", p, f.Severity))
			all[i].fails = all[i].fails || f.Severity >= lint.Error || p == lint.Strict && f.Severity >= lint.Warning
		}
	}
	return all
}

// Intents are the names of a server's tools, by what they do.
type Intents struct {
	Read, Write, Destroy []string
}

// Annotations checks that exactly the tools named are read-only, writing and
// destructive, that each says all four hints without contradiction, and that
// the safety rules made from them tell a model to ask before each destructive
// one.
func Annotations(t testing.TB, srv *mcp.Server, want Intents) {
	t.Helper()
	tools := Tools(t, srv)
	entries := make([]annotary.Entry, len(tools))
	got := map[annotary.Class][]string{}
	for i, def := range tools {
		checkStated(t, &def)
		known, err := annotary.Resolve(annotary.Known{Claims: def.Declared(), Believed: true})
		if err != nil {
			t.Fatal(err)
		}
		entries[i] = annotary.Entry{Tool: def, Hints: known.Hints}
		class := known.Hints.Class()
		got[class] = append(got[class], def.Name)
	}
	for class, names := range map[annotary.Class][]string{
		annotary.Read: want.Read, annotary.Write: want.Write, annotary.Destroy: want.Destroy,
	} {
		if diff := gocmp.Diff(sorted(names), sorted(got[class])); diff != "" {
			t.Errorf("%s tools (-want +got)\n%s", class, diff)
		}
	}
	checkPrompt(t, entries, want.Destroy)
}

func sorted(names []string) []string {
	names = append([]string{}, names...)
	slices.Sort(names)
	return names
}

// checkStated: all four said, and not against each other.
func checkStated(t testing.TB, def *annotary.Tool) {
	t.Helper()
	for n := annotary.ReadOnly; n <= annotary.OpenWorld; n++ {
		if s := def.Stated[n]; s.Value() == annotary.Unknown {
			t.Errorf("%s: %s is %s", def.Name, n.Wire(), s)
		}
	}
	readOnly := def.Stated[annotary.ReadOnly] == annotary.StatedTrue
	if readOnly && def.Stated[annotary.Destructive] == annotary.StatedTrue {
		t.Errorf("%s: read-only and destructive", def.Name)
	}
	if readOnly && def.Stated[annotary.Idempotent] == annotary.StatedFalse {
		t.Errorf("%s: read-only and not idempotent: nothing changes, so nothing changes twice", def.Name)
	}
}

// checkPrompt: a model told of these tools is told to ask.
func checkPrompt(t testing.TB, entries []annotary.Entry, destructive []string) {
	t.Helper()
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		t.Fatal(err)
	}
	section, err := prompt.Safety(entries, rules, prompt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(destructive) > 0 && !strings.Contains(section.Text, prompt.Never) {
		t.Errorf("the safety rules do not say %q", prompt.Never)
	}
	for i := range entries {
		def := &entries[i].Tool
		if def.ModelVisible() && !strings.Contains(section.Text, def.Name) {
			t.Errorf("the safety rules do not name %s", def.Name)
		}
	}
}
