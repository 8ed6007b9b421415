// Package judged holds the questions by which search is measured: what people
// ask, and which tools of the corpus answer it. It is for tests only.
//
// The questions were written before the ranking was tuned; odd ones were looked
// at while tuning, even ones are held out.
package judged

import (
	"bytes"
	_ "embed"
	"regexp"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
)

//go:embed questions.txt
var questions string

// A Question is one question with its judgement.
type Question struct {
	Text    string
	HeldOut bool // not looked at while tuning
	accept  *regexp.Regexp
}

// Questions returns all questions.
func Questions(t testing.TB) []Question {
	t.Helper()
	var all []Question
	for line := range strings.Lines(questions) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, accept, ok := strings.Cut(line, " | ")
		if !ok {
			t.Fatalf("no bar in %q", line)
		}
		all = append(all, Question{text, len(all)%2 == 1, regexp.MustCompile("(?i)" + accept)})
	}
	return all
}

// Accepts reports whether a tool answers the question.
func (q Question) Accepts(e *annotary.Entry) bool {
	return q.accept.MatchString(e.Server + " : " + words(e.Name))
}

// Rank returns the place of the first acceptable tool, from 1; 0 is none.
func (q Question) Rank(tools []*annotary.Entry) int {
	for i, e := range tools {
		if q.Accepts(e) {
			return i + 1
		}
	}
	return 0
}

var (
	hump = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
	gap  = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

// words returns the words of a name, as the judgements write them.
func words(name string) string {
	name = hump.ReplaceAllString(name, "$1$3 $2$4")
	return strings.ToLower(strings.TrimSpace(gap.ReplaceAllString(name, " ")))
}

// Corpus returns the tools of the corpus with their servers. Nothing is known of
// what they do.
func Corpus(t testing.TB) []annotary.Entry {
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

// Unrelated are servers of the corpus that have little in common: each is asked
// the questions that none of its tools answers, and should find nothing.
var Unrelated = []string{
	"mcp-server-filesystem", "time-mcp", "postgres-mcp-server", "mcp-server-kubernetes",
	"@cocal/google-calendar-mcp", "mcp-git", "yahoo-finance-mcp", "@modelcontextprotocol/server-slack",
}
