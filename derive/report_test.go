package derive

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/testenv"
)

// reportCases is how many of the worst cases the report lists.
const reportCases = 30

// A worstCase is a tool that was derived otherwise than its server says.
type worstCase struct {
	Name, Declared, Derived, Why string
	confidence                   float64
	unsafe                       bool
}

// worstCases returns the unsafe verdicts, surest first, then the most
// over-cautious ones. Tools of one server that are wrong for one reason are one
// case.
func worstCases(t *testing.T, samples []sample, claims []Claims) []worstCase {
	t.Helper()
	why := explanations(t)
	var cases []worstCase
	seen := map[string]bool{}
	for i := range samples {
		s, c := &samples[i], claims[i][annotary.ReadOnly]
		declared, derived := s.said.Stated[annotary.ReadOnly], c.Value == annotary.Yes
		reason := s.server + " " + c.Why
		if !s.labelled(annotary.ReadOnly) || derived == (declared == annotary.StatedTrue) || !derived && seen[reason] {
			continue
		}
		seen[reason] = true
		cases = append(cases, worstCase{s.said.Name, declared.String(), c.Value.String(), why[s.said.Name], c.Confidence, derived})
	}
	slices.SortStableFunc(cases, func(a, b worstCase) int {
		if a.unsafe != b.unsafe {
			return map[bool]int{true: -1, false: 1}[a.unsafe]
		}
		return cmp.Or(cmp.Compare(b.confidence, a.confidence), cmp.Compare(a.Name, b.Name))
	})
	cases = cases[:min(reportCases, len(cases))]
	for _, c := range cases {
		if c.Why == "" {
			t.Errorf("testdata/worst.txt does not say why %s is derived wrongly", c.Name)
		}
	}
	return cases
}

// explanations are what reading each worst case showed, by the name of the
// tool: "name<tab>sentence" a line.
func explanations(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/worst.txt")
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, sentence, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			t.Fatalf("testdata/worst.txt: %q has no sentence", line)
		}
		why[name] = sentence
	}
	return why
}

// verbOnly judges by the verb of the name alone, to compare with.
func verbOnly(samples []sample) []Claims {
	claims := make([]Claims, len(samples))
	for i := range samples {
		r := &samples[i].r
		claims[i][annotary.ReadOnly].Value = annotary.ValueOf(r.kind.reads())
		claims[i][annotary.Destructive].Value = annotary.ValueOf(r.kind == destroy)
	}
	return claims
}

// withoutLargest measures without the server that has most destructive tools,
// since a third of them are of one author.
func withoutLargest(samples []sample, claims []Claims) figures {
	count := map[string]int{}
	for i := range samples {
		if s := &samples[i]; s.said.Stated[annotary.Destructive] == annotary.StatedTrue {
			count[s.server]++
		}
	}
	largest := slices.MaxFunc(samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(count[a.server], count[b.server]), cmp.Compare(a.server, b.server))
	}).server
	var rest []sample
	var restClaims []Claims
	for i := range samples {
		if samples[i].server != largest {
			rest, restClaims = append(rest, samples[i]), append(restClaims, claims[i])
		}
	}
	return measure(rest, restClaims)
}

// writeReport writes docs/derivation.md from its template.
func writeReport(t *testing.T, samples []sample, crossed []Claims, cv, fit figures) {
	t.Helper()
	judged := loadJudged(t)
	data := map[string]any{
		"Rows": [][]string{
			row("verb of the name alone", measure(samples, verbOnly(samples))),
			row("**derive**, cross-validated by server", cv),
			row("derive with the shipped weights, seen in learning", fit),
			row("derive on our own judged definitions", measure(judged, judgeAll(judged, shipped))),
			{"wanted", "≥ 92", "≤ 2.0", "≤ 12", "≥ 87", "≥ 85", "≥ 65"},
		},
		"Rest":         withoutLargest(samples, crossed),
		"CV":           cv,
		"Judged":       len(judged),
		"Tools":        len(samples),
		"Weights":      strings.Count(shipped.text(), "\n"),
		"KB":           len(shipped.text()) / 1000,
		"Cases":        worstCases(t, samples, crossed),
		"Contradicted": percent(cv.Contradicted, cv.Labelled),
	}
	text := template.Must(template.New("derivation.tmpl").Funcs(template.FuncMap{
		"pc": func(f float64) string { return fmt.Sprintf("%.1f", f) },
	}).ParseFiles("testdata/derivation.tmpl"))
	out, err := os.Create(filepath.Join(testenv.Root(t), "docs", "derivation.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := text.Execute(out, data); err != nil {
		t.Fatal(err)
	}
}

func row(name string, f figures) []string {
	cells := []string{name}
	for _, v := range []float64{f.accuracy(), f.unsafe(), f.cautious(), f.MeanPerServer, f.Precision(), f.Recall()} {
		cells = append(cells, fmt.Sprintf("%.1f", v))
	}
	return cells
}
