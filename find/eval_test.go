package find_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
)

// corpus returns the tools of the corpus with their servers.
func corpus(t testing.TB) []annotary.Entry {
	t.Helper()
	var tools []annotary.Entry
	for line := range bytes.Lines(testenv.Corpus(t)) {
		tool, err := annotary.ParseTool(strict.Get(line, "tool"))
		if err != nil {
			t.Fatal(err)
		}
		tool.Server, _ = strict.Text(strict.Get(line, "server"))
		tools = append(tools, annotary.Entry{Tool: tool, Hints: annotary.Pessimistic()})
	}
	return tools
}

// A question is one of the judged questions.
type question struct {
	text   string
	accept *regexp.Regexp
	held   bool
}

func questions(t testing.TB) []question {
	t.Helper()
	b, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, accept, ok := strings.Cut(line, " | ")
		if !ok {
			t.Fatalf("no bar in %q", line)
		}
		all = append(all, question{text, regexp.MustCompile("(?i)" + accept), len(all)%2 == 1})
	}
	return all
}

// accepts reports whether a tool answers the question.
func (q question) accepts(e *annotary.Entry) bool {
	return q.accept.MatchString(e.Server + " : " + strings.Join(find.Split(e.Name), " "))
}

// TestJudged: S7, the questions people ask, against the corpus. The half that
// was not looked at while the ranking was made must reach the same.
func TestJudged(t *testing.T) {
	x := find.New(corpus(t))
	for _, half := range []struct {
		name string
		held bool
	}{{"trained", false}, {"held-out", true}} {
		t.Run(half.name, func(t *testing.T) {
			asked, found, reciprocal := 0, 0, 0.0
			for _, q := range questions(t) {
				if q.held != half.held {
					continue
				}
				asked++
				rank := q.rank(x.Search(find.Query{Text: q.text, Max: 10}).Hits)
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

// rank returns the place of the first acceptable hit, from 1; 0 is none.
func (q question) rank(hits []find.Hit) int {
	return 1 + slices.IndexFunc(hits, func(h find.Hit) bool { return q.accepts(h.Tool) })
}

// TestExactNames: S7, every tool of the corpus is found first under its name, and
// alone first under server/name.
func TestExactNames(t *testing.T) {
	tools := corpus(t)
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

// TestUnrelated: what is not there is not found. Eight servers are asked
// questions that none of their tools answers.
func TestUnrelated(t *testing.T) {
	servers := map[string][]annotary.Entry{}
	for _, e := range corpus(t) {
		servers[e.Server] = append(servers[e.Server], e)
	}
	asked, silent := 0, 0
	for _, name := range []string{
		"mcp-server-filesystem", "time-mcp", "postgres-mcp-server", "mcp-server-kubernetes",
		"@cocal/google-calendar-mcp", "mcp-git", "yahoo-finance-mcp", "@modelcontextprotocol/server-slack",
	} {
		tools := servers[name]
		if len(tools) == 0 {
			t.Fatalf("the corpus has no %s", name)
		}
		x := find.New(tools)
		for _, q := range questions(t) {
			if slices.ContainsFunc(tools, func(e annotary.Entry) bool { return q.accepts(&e) }) {
				continue
			}
			asked++
			if len(x.Search(find.Query{Text: q.text}).Hits) == 0 {
				silent++
			}
		}
	}
	t.Logf("%d of %d unrelated questions found nothing (%.3f)", silent, asked, float64(silent)/float64(asked))
	if float64(silent) < 0.93*float64(asked) {
		t.Errorf("want at least 0.93")
	}
}
