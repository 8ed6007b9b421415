package derive

import (
	"bytes"
	"encoding/json"
	"flag"
	"hash/fnv"
	"os"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
)

// eval makes the corpus tests write what they measure: weights.txt and
// docs/derivation.md. `make derive-eval` sets it.
var eval = flag.Bool("eval", false, "learn and write the weights, write docs/derivation.md")

// A sample is one tool of the corpus: what its server said of it, and what we
// read with everything the server said of it hidden.
type sample struct {
	server string
	said   annotary.Tool
	r      reading
}

// labelled reports whether the server declared the hint.
func (s *sample) labelled(n annotary.HintName) bool {
	return s.said.Stated[n].Value() != annotary.Unknown
}

// loadCorpus reads the corpus, server by server.
func loadCorpus(t *testing.T) []sample {
	t.Helper()
	var servers []string
	said, hidden := map[string][]annotary.Tool{}, map[string][]annotary.Tool{}
	for line := range bytes.Lines(testenv.Corpus(t)) {
		server, ok := strict.Text(strict.Get(line, "server"))
		if !ok {
			t.Fatalf("a line of the corpus has no server: %.80s", line)
		}
		if said[server] == nil {
			servers = append(servers, server)
		}
		definition := strict.Get(line, "tool")
		said[server] = append(said[server], parse(t, definition))
		hidden[server] = append(hidden[server], parse(t, hide(t, definition)))
	}
	var samples []sample
	for _, server := range servers {
		for i, r := range read(hidden[server]) {
			samples = append(samples, sample{server, said[server][i], r})
		}
	}
	return samples
}

func parse(t *testing.T, raw []byte) annotary.Tool {
	t.Helper()
	tool, err := annotary.ParseTool(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// hide removes what the server says of the tool: annotations, and the title in
// them, and _meta.
func hide(t *testing.T, raw []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "annotations")
	delete(members, "_meta")
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readOnlyExamples are the labelled tools of the servers that keep says.
func readOnlyExamples(samples []sample, keep func(server string) bool) []example {
	var examples []example
	for i := range samples {
		s := &samples[i]
		if s.labelled(annotary.ReadOnly) && keep(s.server) {
			examples = append(examples, example{
				server: s.server, features: s.r.features(), yes: s.said.Stated[annotary.ReadOnly] == annotary.StatedTrue,
			})
		}
	}
	weighServers(examples)
	return examples
}

// folds is how many parts the servers are split into.
const folds = 20

func foldOf(server string) int {
	h := fnv.New32a()
	h.Write([]byte(server))
	return int(h.Sum32() % folds)
}

// crossValidate judges every tool with a model that never saw its server.
func crossValidate(samples []sample) []Claims {
	claims := make([]Claims, len(samples))
	for k := range folds {
		m := train(readOnlyExamples(samples, func(server string) bool { return foldOf(server) != k }))
		for i := range samples {
			if foldOf(samples[i].server) == k {
				claims[i] = samples[i].r.judge(m)
			}
		}
	}
	return claims
}

// judgeAll judges every tool with one model.
func judgeAll(samples []sample, m model) []Claims {
	claims := make([]Claims, len(samples))
	for i := range samples {
		claims[i] = samples[i].r.judge(m)
	}
	return claims
}

// TestWeights shows that weights.txt is what learning from the corpus gives.
func TestWeights(t *testing.T) {
	samples := loadCorpus(t)
	got := train(readOnlyExamples(samples, func(string) bool { return true })).text()
	if *eval {
		if err := os.WriteFile("weights.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		shipped = mustModel(got)
	}
	if got != weightsText && !*eval {
		t.Error("weights.txt is not what the corpus teaches: run 'make derive-eval'")
	}
}

// TestCorpus holds derivation to its limits on real tools, each judged by a
// model that never saw its server.
func TestCorpus(t *testing.T) {
	samples := loadCorpus(t)
	crossed := crossValidate(samples)
	cv := measure(samples, crossed)
	cv.check(t)
	fit := measure(samples, judgeAll(samples, shipped))
	t.Logf("cross-validated by server: %s", cv)
	t.Logf("shipped weights, seen in learning: %s", fit)
	if *eval {
		writeReport(t, samples, crossed, cv, fit)
	}
}
