package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/lint"
)

var update = flag.Bool("update", false, "write the rules into docs/lint.md")

const rulesBegin, rulesEnd = "<!-- rules -->\n", "<!-- end of rules -->"

// TestDocs keeps the list of rules in docs/lint.md the list in the code; with
// -update it writes it.
func TestDocs(t *testing.T) {
	file := filepath.Join(testenv.Root(t), "docs", "lint.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), rulesBegin)
	got, after, ok2 := strings.Cut(rest, rulesEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no %s … %s", file, strings.TrimSpace(rulesBegin), rulesEnd)
	}
	want := rulesDoc()
	if *update {
		if err := os.WriteFile(file, []byte(before+rulesBegin+want+rulesEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/lint.md differs from the rules; run go test ./lint -run TestDocs -update:\n%s", diff)
	}
}

// TestDocs_sample keeps the output shown in docs/lint.md what the command
// prints, as a script has it.
func TestDocs_sample(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", "lint.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := txtar.ParseFile(filepath.Join(testenv.Root(t), "cmd", "annotary", "testdata", "script", "lint.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range script.Files {
		if f.Name == "table.txt" && !strings.Contains(string(doc), "```\n"+string(f.Data)+"```\n") {
			t.Errorf("docs/lint.md does not show\n%s", f.Data)
		}
	}
}

func rulesDoc() string {
	var b strings.Builder
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", r.ID, r.Demand)
		for p := range lint.NumProfiles {
			if s := r.Vendor[p]; s != "" {
				fmt.Fprintf(&b, "For `%s`: %s.\n\n", p, s)
			}
		}
		fmt.Fprintf(&b, "%s%s\n", levels(&r), map[bool]string{true: " · fixable"}[r.Fixable])
	}
	return b.String() + "\n"
}

// levels lists a rule's severities: one word if they are all the same.
func levels(r *lint.Rule) string {
	var each []string
	same := true
	for p := range lint.NumProfiles {
		each = append(each, fmt.Sprintf("%s %s", p, r.Severity[p]))
		same = same && r.Severity[p] == r.Severity[lint.Spec]
	}
	if same {
		return r.Severity[lint.Spec].String()
	}
	return strings.Join(each, ", ")
}
