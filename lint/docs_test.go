package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// TestDocs_samples keeps the output shown in the pages what the commands print,
// as the scripts have it.
func TestDocs_samples(t *testing.T) {
	root := testenv.Root(t)
	for page, sample := range map[string]string{"lint": "table.txt", "tools": "states.txt"} {
		doc, err := os.ReadFile(filepath.Join(root, "docs", page+".md"))
		if err != nil {
			t.Fatal(err)
		}
		script, err := txtar.ParseFile(filepath.Join(root, "cmd", "annotary", "testdata", "script", page+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(script.Files, func(f txtar.File) bool { return f.Name == sample })
		if at < 0 || !strings.Contains(string(doc), "```\n"+string(script.Files[at].Data)+"```\n") {
			t.Errorf("docs/%s.md does not show the %s of its script", page, sample)
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
