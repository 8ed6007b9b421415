package find_test

import (
	"slices"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/find/internal/judged"
)

func entries(hits []find.Hit) []*annotary.Entry {
	var all []*annotary.Entry
	for _, h := range hits {
		all = append(all, h.Tool)
	}
	return all
}

// TestJudged: S7, the questions people ask, against the corpus. The half that
// was not looked at while the ranking was made must reach the same.
func TestJudged(t *testing.T) {
	x := find.New(judged.Corpus(t))
	for _, half := range []struct {
		name string
		held bool
	}{{"trained", false}, {"held-out", true}} {
		t.Run(half.name, func(t *testing.T) {
			asked, found, reciprocal := 0, 0, 0.0
			for _, q := range judged.Questions(t) {
				if q.HeldOut != half.held {
					continue
				}
				asked++
				rank := q.Rank(entries(x.Search(find.Query{Text: q.Text, Max: 10}).Hits))
				if rank > 0 {
					reciprocal += 1 / float64(rank)
				}
				if rank > 0 && rank <= 5 {
					found++
				}
			}
			recall, mrr := float64(found)/float64(asked), reciprocal/float64(asked)
			t.Logf("%d questions: recall@5 %.3f, MRR %.3f", asked, recall, mrr)
			if asked < 75 || recall < 0.85 || mrr < 0.7 {
				t.Errorf("want at least 75 questions, recall@5 0.85, MRR 0.7")
			}
		})
	}
}

// TestExactNames: S7, every tool of the corpus is found first under its name, and
// alone first under server/name.
func TestExactNames(t *testing.T) {
	tools := judged.Corpus(t)
	x := find.New(tools)
	for i := range tools {
		e := &tools[i]
		if hits := x.Search(find.Query{Text: e.Name, Max: 1}).Hits; len(hits) == 0 || hits[0].Tool.Name != e.Name {
			t.Errorf("%q: %q", e.Name, names(hits))
		}
		full := e.Server + "/" + e.Name
		if hits := x.Search(find.Query{Text: full, Max: 1}).Hits; len(hits) == 0 || hits[0].Tool.Server+"/"+hits[0].Tool.Name != full {
			t.Errorf("%q: %q", full, names(hits))
		}
	}
}

// TestUnrelated: what is not there is not found.
func TestUnrelated(t *testing.T) {
	servers := map[string][]annotary.Entry{}
	for _, e := range judged.Corpus(t) {
		servers[e.Server] = append(servers[e.Server], e)
	}
	asked, silent := 0, 0
	for _, name := range judged.Unrelated {
		tools := servers[name]
		if len(tools) == 0 {
			t.Fatalf("the corpus has no %s", name)
		}
		x := find.New(tools)
		for _, q := range judged.Questions(t) {
			if slices.ContainsFunc(tools, func(e annotary.Entry) bool { return q.Accepts(&e) }) {
				continue
			}
			asked++
			if len(x.Search(find.Query{Text: q.Text}).Hits) == 0 {
				silent++
			}
		}
	}
	t.Logf("%d of %d unrelated questions found nothing (%.3f)", silent, asked, float64(silent)/float64(asked))
	if float64(silent) < 0.93*float64(asked) {
		t.Errorf("want at least 0.93")
	}
}
