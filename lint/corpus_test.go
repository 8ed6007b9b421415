package lint_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/lint"
)

// corpus returns the real tools, by server, in the order of the corpus.
func corpus(t testing.TB) [][]annotary.Tool {
	t.Helper()
	place := map[string]int{}
	var servers [][]annotary.Tool
	for line := range bytes.Lines(testenv.Corpus(t)) {
		server, _ := strict.Text(strict.Get(line, "server"))
		tool, err := annotary.ParseTool(strict.Get(line, "tool"))
		if err != nil {
			t.Fatalf("%s: %v", server, err)
		}
		i, ok := place[server]
		if !ok {
			i = len(servers)
			place[server] = i
			servers = append(servers, nil)
		}
		servers[i] = append(servers[i], tool)
	}
	return servers
}

// contradictions are the rules that accuse an author of saying what is not so.
func contradictions() []string {
	var ids []string
	for _, r := range lint.Rules() {
		if strings.HasPrefix(r.ID, "contradiction-") {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// judged reads docs/contradictions.md: each accused tool, and whether the
// accusation is right.
func judged(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", "contradictions.md"))
	if err != nil {
		t.Fatal(err)
	}
	right := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (right|wrong) \\|").FindAllStringSubmatch(string(raw), -1) {
		right[row[1]] = row[2] == "right"
	}
	return right
}

// TestCorpus_judged demands that at least nine of ten accusations are right.
func TestCorpus_judged(t *testing.T) {
	right, all := 0, judged(t)
	for _, ok := range all {
		if ok {
			right++
		}
	}
	if len(all) == 0 || right*10 < len(all)*9 {
		t.Errorf("%d of %d accusations are right, want nine of ten", right, len(all))
	}
}

// TestCorpus lints every server there is: in time, with few accusations, each
// of which docs/contradictions.md judges by hand.
func TestCorpus(t *testing.T) {
	servers := corpus(t)
	began := time.Now()
	annotated, accused, byRule := 0, 0, map[string]int{}
	accusing, accusedNames := contradictions(), map[string]bool{}
	for _, tools := range servers {
		r := lint.Check(tools, lint.Options{})
		annotated += r.Annotated
		seen := map[int]bool{}
		for _, f := range r.Findings {
			byRule[f.Rule]++
			if slices.Contains(accusing, f.Rule) {
				t.Logf("%s: %s: %s", f.Rule, f.Tool, f.Evidence)
				seen[f.Index] = true
				accusedNames[f.Tool] = true
			}
		}
		accused += len(seen)
	}
	t.Logf("%d servers in %v: %d of %d annotated tools contradicted (%.2f %%)", len(servers), time.Since(began).Round(time.Millisecond),
		accused, annotated, 100*float64(accused)/float64(annotated))
	for _, r := range lint.Rules() {
		t.Logf("%6d %s", byRule[r.ID], r.ID)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(judged(t))), slices.Sorted(maps.Keys(accusedNames))); diff != "" {
		t.Errorf("docs/contradictions.md (-) and the linter (+) accuse other tools:\n%s", diff)
	}
	if accused*100 > annotated {
		t.Errorf("%d of %d annotated tools contradicted, at most 1 %%", accused, annotated)
	}
}
