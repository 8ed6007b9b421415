// Package eval measures search on the tool corpus beside a general search
// engine and writes the table of docs/find.md. It is a module of its own, so that
// nobody who uses Annotary carries the engine.
package eval

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/find/internal/judged"
	"github.com/annotary/annotary/internal/testenv"
)

var write = flag.String("write", "", "the page whose table is rewritten")

// A system answers a question with tools, best first.
type system struct {
	name   string
	search func(text string, limit int) []*annotary.Entry
	built  time.Duration
}

// A score is what a system reached.
type score struct {
	exact, full           float64 // names found first, as name and as server/name
	recall1, recall5, mrr float64
	held5, heldMRR        float64
	silent                float64
	p50, p99              time.Duration
	missed                []string // questions without an answer among the first five
}

func TestEval(t *testing.T) {
	tools := judged.Corpus(t)
	index, semantic, engine := ours(tools), fused(t, tools), bleveSystem(t, tools)
	var b strings.Builder
	fmt.Fprintf(&b, "%d tools, %d questions (half of them held out), the name of every seventh tool.\n\n", len(tools), len(judged.Questions(t)))
	b.WriteString("| | find | find, fused | bleve 2.6.1 |\n|---|---|---|---|\n")
	scores := []score{measure(t, index, tools), measure(t, semantic, tools), measure(t, engine, tools)}
	silences := []float64{silence(t, tools, func(e []annotary.Entry) system { return ours(e) }), -1, silence(t, tools, func(e []annotary.Entry) system { return bleveSystem(t, e) })}
	silences[1] = silences[0]
	for i := range scores {
		scores[i].silent = silences[i]
	}
	table(&b, scores)
	scale(t, &b, tools)
	failures(&b, scores[0])
	t.Log("\n" + b.String())
	check(t, scores[0])
	if *write != "" {
		rewrite(t, *write, b.String())
	}
}

func ours(tools []annotary.Entry) system {
	start := time.Now()
	x := find.New(tools)
	return system{"find", func(text string, limit int) []*annotary.Entry {
		return entries(x.Search(find.Query{Text: text, Max: limit}))
	}, time.Since(start)}
}

// fused is ours with real word vectors, of the words that corpus and questions
// have.
func fused(t *testing.T, tools []annotary.Entry) system {
	known := map[string]bool{}
	learn := func(text string) {
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			known[w] = true
		}
	}
	for i := range tools {
		learn(nameWords(tools[i].Name) + " " + tools[i].Title + " " + tools[i].Description)
	}
	for _, q := range judged.Questions(t) {
		learn(q.Text)
	}
	url := testenv.Embeddings(t, func(w string) bool { return known[w] })
	s := find.Semantic{Index: find.New(tools), Embedder: find.NewEmbeddings(find.EmbeddingsOptions{URL: url, Timeout: time.Minute})}
	return system{"fused", func(text string, limit int) []*annotary.Entry {
		a := s.Search(context.Background(), find.Query{Text: text, Max: limit})
		if a.Semantic != "" && a.Semantic != find.SemanticFused {
			t.Fatal(a.Semantic)
		}
		return entries(a)
	}, 0}
}

func entries(a find.Answer) []*annotary.Entry {
	var all []*annotary.Entry
	for _, h := range a.Hits {
		all = append(all, h.Tool)
	}
	return all
}

func measure(t *testing.T, s system, tools []annotary.Entry) score {
	var sc score
	sc.exact, sc.full = namesFound(s, tools)
	var asked, held float64
	var times []time.Duration
	for _, q := range judged.Questions(t) {
		start := time.Now()
		hits := s.search(q.Text, 10)
		times = append(times, time.Since(start))
		rank := q.Rank(hits)
		asked++
		if q.HeldOut {
			held++
		}
		if rank == 0 || rank > 5 {
			sc.missed = append(sc.missed, q.Text)
		}
		if rank == 0 {
			continue
		}
		reciprocal := 1 / float64(rank)
		sc.mrr += reciprocal
		if q.HeldOut {
			sc.heldMRR += reciprocal
		}
		if rank == 1 {
			sc.recall1++
		}
		if rank <= 5 {
			sc.recall5++
			if q.HeldOut {
				sc.held5++
			}
		}
	}
	sc.recall1, sc.recall5, sc.mrr = sc.recall1/asked, sc.recall5/asked, sc.mrr/asked
	sc.held5, sc.heldMRR = sc.held5/held, sc.heldMRR/held
	slices.Sort(times)
	sc.p50, sc.p99 = times[len(times)/2], times[len(times)*99/100]
	return sc
}

// namesFound asks for every seventh tool by its name.
func namesFound(s system, tools []annotary.Entry) (exact, full float64) {
	asked := 0.0
	for i := 0; i < len(tools); i += 7 {
		e := &tools[i]
		asked++
		if hits := s.search(e.Name, 1); len(hits) > 0 && hits[0].Name == e.Name {
			exact++
		}
		if hits := s.search(e.Server+"/"+e.Name, 1); len(hits) > 0 && hits[0].Name == e.Name && hits[0].Server == e.Server {
			full++
		}
	}
	return exact / asked, full / asked
}

// silence says how often a catalogue that has no answer gives none.
func silence(t *testing.T, tools []annotary.Entry, build func([]annotary.Entry) system) float64 {
	var asked, silent float64
	for _, name := range judged.Unrelated {
		var own []annotary.Entry
		for _, e := range tools {
			if e.Server == name {
				own = append(own, e)
			}
		}
		s := build(own)
		for _, q := range judged.Questions(t) {
			if slices.ContainsFunc(own, func(e annotary.Entry) bool { return q.Accepts(&e) }) {
				continue
			}
			asked++
			if len(s.search(q.Text, 1)) == 0 {
				silent++
			}
		}
	}
	return silent / asked
}

func table(b *strings.Builder, scores []score) {
	row := func(name string, value func(score) string) {
		fmt.Fprintf(b, "| %s |", name)
		for _, s := range scores {
			fmt.Fprintf(b, " %s |", value(s))
		}
		b.WriteString("\n")
	}
	number := func(f func(score) float64) func(score) string {
		return func(s score) string { return fmt.Sprintf("%.3f", f(s)) }
	}
	row("tool's name → it is first", number(func(s score) float64 { return s.exact }))
	row("server/name → it is first", number(func(s score) float64 { return s.full }))
	row("question: an answer is first", number(func(s score) float64 { return s.recall1 }))
	row("question: an answer among five (recall@5)", number(func(s score) float64 { return s.recall5 }))
	row("question: MRR", number(func(s score) float64 { return s.mrr }))
	row("held-out questions: recall@5", number(func(s score) float64 { return s.held5 }))
	row("held-out questions: MRR", number(func(s score) float64 { return s.heldMRR }))
	row("nothing found where nothing is", number(func(s score) float64 { return s.silent }))
	row("time per question, p50", func(s score) string { return s.p50.Round(time.Microsecond * 10).String() })
	row("time per question, p99", func(s score) string { return s.p99.Round(time.Microsecond * 10).String() })
}

// scale indexes 100,000 tools: the corpus again and again under other servers.
func scale(t *testing.T, b *strings.Builder, tools []annotary.Entry) {
	const n = 100_000
	many := make([]annotary.Entry, 0, n)
	for i := range n {
		e := tools[i%len(tools)]
		e.Server = fmt.Sprintf("%s-%d", e.Server, i/len(tools))
		many = append(many, e)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu := cpuTime(t)
	s := ours(many)
	cpu = cpuTime(t) - cpu
	runtime.ReadMemStats(&after)
	peak := after.HeapAlloc - before.HeapAlloc
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := after.HeapAlloc - before.HeapAlloc
	var times []time.Duration
	for _, q := range judged.Questions(t) {
		start := time.Now()
		s.search(q.Text, 10)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	fmt.Fprintf(b, "\n100,000 tools: indexed in %.1f s of processor time (%.1f s by the clock); the index keeps %d MB (%d MB while building, garbage included); p50 %v.\n",
		cpu.Seconds(), s.built.Seconds(), kept>>20, peak>>20, times[len(times)/2].Round(10*time.Microsecond))
	if cpu > 10*time.Second || peak > 500<<20 {
		t.Errorf("100,000 tools took %v and %d MB", cpu, peak>>20)
	}
	runtime.KeepAlive(many)
}

// cpuTime is what this process has used of all processors. The clock also counts
// what others do on the same machine.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func failures(b *strings.Builder, s score) {
	fmt.Fprintf(b, "\nQuestions without an answer among the first five (%d):\n\n", len(s.missed))
	for _, m := range s.missed {
		fmt.Fprintf(b, "- %s\n", m)
	}
}

// check holds the limits.
func check(t *testing.T, s score) {
	if s.exact != 1 || s.full != 1 || s.recall5 < 0.85 || s.mrr < 0.7 || s.held5 < 0.85 || s.heldMRR < 0.7 || s.p50 > time.Millisecond {
		t.Errorf("out of limits: %+v", s)
	}
}

const from, to = "<!-- find-eval -->\n", "<!-- /find-eval -->"

func rewrite(t *testing.T, page, text string) {
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if err := os.WriteFile(page, []byte(head+from+text+to+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
