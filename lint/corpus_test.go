package lint_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

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
		if bytes.HasPrefix([]byte(r.ID), []byte("contradiction-")) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// TestCorpus lints every server there is: in time, and with few accusations.
// docs/contradictions.md judges each of them by hand.
func TestCorpus(t *testing.T) {
	servers := corpus(t)
	began := time.Now()
	annotated, accused, byRule := 0, 0, map[string]int{}
	accusing := contradictions()
	for _, tools := range servers {
		r := lint.Check(tools, lint.Options{})
		annotated += r.Annotated
		seen := map[int]bool{}
		for _, f := range r.Findings {
			byRule[f.Rule]++
			if slices.Contains(accusing, f.Rule) {
				t.Logf("%s: %s: %s", f.Rule, f.Tool, f.Message)
				seen[f.Index] = true
			}
		}
		accused += len(seen)
	}
	took := time.Since(began)
	t.Logf("%d servers in %v: %d of %d annotated tools contradicted (%.2f %%)", len(servers), took.Round(time.Millisecond),
		accused, annotated, 100*float64(accused)/float64(annotated))
	for _, r := range lint.Rules() {
		t.Logf("%6d %s", byRule[r.ID], r.ID)
	}
	if took > 30*time.Second {
		t.Errorf("took %v, at most 30s", took)
	}
	if accused*100 > annotated {
		t.Errorf("%d of %d annotated tools contradicted, at most 1 %%", accused, annotated)
	}
}
