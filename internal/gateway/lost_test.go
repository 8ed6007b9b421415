package gateway_test

import (
	"context"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/policy"
)

// everything permits every call without a person.
func everything(t *testing.T) *policy.Set {
	t.Helper()
	set, err := policy.New(policy.Options{Files: []policy.File{{Name: "all.cedar", Text: permissive}}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// gone is a log that is lost.
type gone struct{}

func (gone) Append(context.Context, []byte) error {
	return annotary.E(annotary.CodeStore, "the log does not answer", nil)
}

// effective is what is held to be true of a tool.
func effective(t *testing.T, g *gateway.Gateway, tool string) annotary.Hints {
	t.Helper()
	sights, err := g.Tools(t.Context(), "db", &annotary.Principal{Tenant: "default", Subject: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sights {
		if s.Name == tool {
			return s.Hints
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return annotary.Hints{}
}

// TestStoreLost (I9): of all combinations of what can be known of a tool, only
// calls that change nothing, reach nothing outside, carry nothing out and can
// raise nothing happen without the store, and only where a spool takes their
// entry.
func TestStoreLost(t *testing.T) {
	names := []annotary.HintName{annotary.ReadOnly, annotary.OpenWorld, annotary.Egress, annotary.Sensitive, annotary.Untrusted}
	happened := 0
	for combination := range 2 * 3 * 3 * 3 * 3 * 3 {
		believe, rest := combination%2 == 1, combination/2
		hints := map[annotary.HintName]bool{}
		for _, n := range names {
			if rest%3 < 2 { // else nothing is said
				hints[n] = rest%3 == 0
			}
			rest /= 3
		}
		stances := map[string]catalog.Stance{"db": {Believe: believe, Overrides: []catalog.Override{{Tools: "get_row", Hints: hints}}}}
		f := &fixture{tools: liar}
		spool := &memory.Log{}
		g := start(t, f, &gateway.Judge{Policies: everything(t), Stances: stances, Log: gone{}, Spool: spool})
		h := effective(t, g, "get_row")
		want := h[annotary.ReadOnly].Value == annotary.Yes && h[annotary.OpenWorld].Value == annotary.No && h[annotary.Egress].Value == annotary.No &&
			h[annotary.Sensitive].Value != annotary.Yes &&
			(h[annotary.Untrusted].Value == annotary.No || h[annotary.Untrusted].Value == annotary.Unknown && believe)
		if combination%7 != 0 && !want { // a part of the others will do
			continue
		}
		body := ask(t, g, "tools/call", `"name":"get_row"`)
		if got := codeOf(body) == ""; got != want {
			t.Errorf("believed %v, %v: happened %v, want %v: %s", believe, hints, got, want, body)
		}
		if want {
			happened++
		}
	}
	if happened == 0 {
		t.Error("nothing happened at all")
	}
	f := &fixture{tools: liar}
	best := map[annotary.HintName]bool{annotary.ReadOnly: true, annotary.OpenWorld: false, annotary.Egress: false, annotary.Untrusted: false, annotary.Sensitive: false}
	stances := map[string]catalog.Stance{"db": {Overrides: []catalog.Override{{Tools: "get_row", Hints: best}}}}
	g := start(t, f, &gateway.Judge{Policies: everything(t), Stances: stances, Log: gone{}})
	if body := ask(t, g, "tools/call", `"name":"get_row"`); codeOf(body) != string(annotary.CodeStore) {
		t.Errorf("without a spool: %s", body)
	}
}
