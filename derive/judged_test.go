package derive

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// loadJudged reads the definitions of our own making. What somebody judged of
// a tool takes the place of what a server would have said.
func loadJudged(t *testing.T) []sample {
	t.Helper()
	raw, err := os.ReadFile("testdata/judged.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	tools, said := map[string][]annotary.Tool{}, map[string][]annotary.Tool{}
	for line := range bytes.Lines(raw) {
		server, _ := strict.Text(strict.Get(line, "server"))
		if tools[server] == nil {
			servers = append(servers, server)
		}
		tool := parse(t, strict.Get(line, "tool"))
		tools[server] = append(tools[server], tool)
		said[server] = append(said[server], judged(t, tool, strict.Get(line, "judged")))
	}
	var samples []sample
	for _, server := range servers {
		for i, r := range read(tools[server]) {
			samples = append(samples, sample{server, said[server][i], r})
		}
	}
	return samples
}

func judged(t *testing.T, tool annotary.Tool, raw []byte) annotary.Tool {
	t.Helper()
	var hints map[string]bool
	if err := json.Unmarshal(raw, &hints); err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	for name, value := range hints {
		n, ok := annotary.ParseHintName(name)
		if !ok {
			t.Fatalf("%s: no hint is called %q", tool.Name, name)
		}
		tool.Stated[n] = annotary.StatedFalse
		if value {
			tool.Stated[n] = annotary.StatedTrue
		}
	}
	return tool
}

// TestJudged holds derivation to the limits of the corpus on definitions of
// our own making, since the corpus is not in the repository.
func TestJudged(t *testing.T) {
	samples := loadJudged(t)
	if len(samples) < 300 {
		t.Fatalf("%d judged definitions, at least 300 are wanted", len(samples))
	}
	claims := judgeAll(samples, shipped)
	f := measure(samples, claims)
	f.check(t)
	t.Log(f)
	for i := range samples {
		logMisjudged(t, &samples[i], &claims[i])
	}
}

// logMisjudged names what was derived wrongly, under -v.
func logMisjudged(t *testing.T, s *sample, c *Claims) {
	t.Helper()
	for n := range c {
		want, got := s.said.Stated[n].Value(), c[n].Value
		if want == annotary.Unknown || got == want || n != int(annotary.ReadOnly) && got == annotary.Unknown {
			continue
		}
		t.Logf("%s/%s: %s is %s, derived %s (%.2f): %s", s.server, s.said.Name, annotary.HintName(n), want, got, c[n].Confidence, c[n].Why)
	}
}
