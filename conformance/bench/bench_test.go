package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the benchmark start this very binary in its roles.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "role" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestBench runs the whole harness briefly. Every answer is checked; nothing
// is asserted about time.
func TestBench(t *testing.T) {
	p := plan{duration: 100 * time.Millisecond, rounds: 1, concurrency: []int{1, 32}, gogc: "100", legs: "direct,reverseproxy,annotary,judged,sdk"}
	r, err := measureAll(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	cells := r.cells
	// Two ways to reach the server, two eras, two loads; no ReverseProxy before a pipe.
	if got, want := len(cells), 2*2*(5+4); got != want {
		t.Errorf("%d cells were measured, want %d", got, want)
	}
	for _, c := range cells {
		if c.calls <= 0 || c.p50 <= 0 || c.p99 < c.p50 || (c.leg != "direct" && c.allocated <= 0) {
			t.Errorf("not measured: %+v", c)
		}
	}
	for _, r := range r.records {
		if r.memory.p50 <= 0 || r.durable.p50 <= 0 {
			t.Errorf("not measured: %+v", r)
		}
	}
	checkPage(t, p, r)
}

func checkPage(t *testing.T, p plan, r results) {
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(page, p, r); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(page)
	for _, want := range []string{"before\n", "after\n", "| 32 | ReverseProxy |", "| 32 | annotary, forwarding |", "| 32 | annotary, judging |", "server behind a pipe, " + legacy, "| a write, which waits for its record |"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the page has no %q:\n%s", want, got)
		}
	}
	if bytes.Contains(got, []byte("old\n")) {
		t.Error("the old tables are still in the page")
	}
	plot := filepath.Join(dir, "wire.svg")
	if err := writePlot(plot, r.cells); err != nil {
		t.Fatal(err)
	}
	if svg, _ := os.ReadFile(plot); !bytes.Contains(svg, []byte("<rect")) {
		t.Errorf("the plot has no bars: %s", svg)
	}
}

// TestCorrect sees wrong answers: the measurement must not count errors as
// speed.
func TestCorrect(t *testing.T) {
	right, err := answer(callBody(modern, 7))
	if err != nil {
		t.Fatal(err)
	}
	if err := correct(right, 7); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string][]byte{
		"another id": bytes.Replace(right, []byte(`"id":7`), []byte(`"id":8`), 1),
		"cut short":  bytes.Replace(right, []byte(text), []byte(text[1:]), 1),
		"an error":   []byte(`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`),
	} {
		if correct(wrong, 7) == nil {
			t.Errorf("%s counts as correct", name)
		}
	}
}
