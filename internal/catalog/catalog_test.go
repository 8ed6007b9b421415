package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/strict"
)

var now = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func parse(t testing.TB, defs ...string) []annotary.Tool {
	t.Helper()
	var tools []annotary.Tool
	for _, d := range defs {
		tool, err := annotary.ParseTool([]byte(d))
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return tools
}

func build(t testing.TB, s catalog.Stance, defs ...string) *catalog.Server {
	t.Helper()
	srv, err := catalog.New("s", parse(t, defs...), s, now)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

func TestShownIsTheRestUntouched(t *testing.T) {
	const def = ` {"name":"get_it", "x":9007199254740993, "annotations" : {"title":"Get it","readOnlyHint":true ,"vendor/key":[1, 2]},"_meta":{"a":1e400,"dev.annotary/hints":{"egress":false}},"z":{"deep":{"é":null}} } `
	srv := build(t, catalog.Stance{}, def)
	shown := string(srv.Tool("get_it").Shown)
	for _, keep := range []string{`"x":9007199254740993`, `"title":"Get it"`, `"vendor/key":[1, 2]`, `"a":1e400`, `"z":{"deep":{"é":null}} `} {
		if !strings.Contains(shown, keep) {
			t.Errorf("lost %s in %s", keep, shown)
		}
	}
	for n, want := range map[string]string{"readOnlyHint": "false", "destructiveHint": "true", "idempotentHint": "false", "openWorldHint": "true"} {
		if got := string(strict.Get([]byte(shown), "annotations", n)); got != want {
			t.Errorf("%s = %s, want %s: the server is not believed", n, got, want)
		}
	}
	if got := string(strict.Get([]byte(shown), "_meta", annotary.MetaHints, "readOnly", "from")); got != `"default"` {
		t.Errorf("readOnly is from %s", got)
	}
}

// TestShownIsTrue (I5): whatever the definition and the stance, clients see four
// consistent booleans, read-only only when vouched, and every byte we do not own
// as it was.
func TestShownIsTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	values := []string{"true", "false", "null", `"true"`, "1"}
	reads := 0
	for i := range 500 {
		annotations := `{"title":"T"`
		for n := range annotary.OpenWorld + 1 {
			if rng.IntN(2) == 0 {
				annotations += fmt.Sprintf(`,%q:%s`, n.Wire(), values[rng.IntN(len(values))])
			}
		}
		annotations += `}`
		if rng.IntN(8) == 0 {
			annotations = values[rng.IntN(len(values))]
		}
		def := fmt.Sprintf(`{"name":"do_%d","n":%d.50,"annotations":%s,"inputSchema":{"type":"object"}}`, i, i, annotations)
		stance := catalog.Stance{Believe: rng.IntN(2) == 0}
		if rng.IntN(3) == 0 {
			stance.Overrides = []catalog.Override{{Tools: "do_*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: rng.IntN(2) == 0}}}
		}
		tool := build(t, stance, def).Tools[0]
		got := map[annotary.HintName]bool{}
		for n := range annotary.OpenWorld + 1 {
			v := string(strict.Get(tool.Shown, "annotations", n.Wire()))
			if v != "true" && v != "false" {
				t.Fatalf("%s is %q in %s", n.Wire(), v, tool.Shown)
			}
			got[n] = v == "true"
		}
		if got[annotary.ReadOnly] {
			reads++
			from := tool.Hints[annotary.ReadOnly].From
			vouched := from == annotary.FromOperator || (from == annotary.FromDeclared && stance.Believe)
			if got[annotary.Destructive] || !got[annotary.Idempotent] || !vouched {
				t.Fatalf("a read-only tool is not consistent or not vouched for (%v): %s", from, tool.Shown)
			}
		}
		checkOurs(t, def, tool.Shown)
	}
	if reads == 0 {
		t.Fatal("no tool was read-only; the test asserts too little")
	}
}

// checkOurs removes what we own from both and compares the rest.
func checkOurs(t *testing.T, before string, after []byte) {
	t.Helper()
	strip := func(doc []byte) string {
		for n := range annotary.OpenWorld + 1 {
			doc = strict.Set(doc, []byte("0"), "annotations", n.Wire())
		}
		doc = strict.Set(doc, []byte("0"), "_meta", annotary.MetaHints)
		c, err := strict.Canonical(doc)
		if err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		return string(c)
	}
	if diff := cmp.Diff(strip([]byte(before)), strip(after)); diff != "" {
		t.Fatalf("something else changed (-before +after):\n%s", diff)
	}
}

func TestOverrides(t *testing.T) {
	yes := map[annotary.HintName]bool{annotary.ReadOnly: true}
	s := catalog.Stance{Overrides: []catalog.Override{
		{Tools: "list_*", Hints: yes, Reason: "read the code", At: annotary.Position{File: "annotary.yaml", Line: 4}},
		{Tools: "old", Hints: yes, Expires: now.Add(-time.Hour)},
		{Tools: "nothing_*", Hints: yes, At: annotary.Position{File: "annotary.yaml", Line: 9}},
	}}
	srv := build(t, s, `{"name":"list_a"}`, `{"name":"old"}`, `{"name":"other"}`)
	if h := srv.Tool("list_a").Hints[annotary.ReadOnly]; h.Value != annotary.Yes || h.Why != "read the code (annotary.yaml:4)" {
		t.Errorf("list_a: %+v", h)
	}
	for _, name := range []string{"old", "other"} {
		if srv.Tool(name).Hints.Is(annotary.ReadOnly) {
			t.Errorf("%s is read-only", name)
		}
	}
	errs := s.Unmatched(srv)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "annotary.yaml:9: an override names s/nothing_*") {
		t.Errorf("unmatched = %v", errs)
	}
}

func TestNarrowing(t *testing.T) {
	s := catalog.Stance{Narrow: []catalog.Narrow{{Tools: "sql", Rule: derive.Rule{Kind: derive.KindSQL, At: "/query", Dialect: "postgres"}}}}
	tool := build(t, s, `{"name":"sql","inputSchema":{"type":"object","properties":{"query":{"type":"string"}}}}`).Tool("sql")
	h, target, why := tool.For([]byte(`{"query":"select 1"}`))
	if h.Class() != annotary.Read || target == tool.Target() || why == "" {
		t.Errorf("a SELECT is %v", h.Class())
	}
	if h[annotary.OpenWorld].Value != annotary.Yes {
		t.Error("narrowing closed the world")
	}
	if h, _, _ := tool.For([]byte(`{"query":"delete from t"}`)); h.Class() == annotary.Read {
		t.Error("a DELETE is a read")
	}
}

// TestNarrowing_by: what a believed server's schema suggests is not the operator's
// word because the operator bound a rule to another tool.
func TestNarrowing_by(t *testing.T) {
	s := catalog.Stance{Believe: true, Narrow: []catalog.Narrow{{Tools: "sql", Rule: derive.Rule{Kind: derive.KindSQL, At: "/query", Dialect: "postgres"}}}}
	srv := build(t, s, `{"name":"sql","inputSchema":{"type":"object","properties":{"query":{"type":"string"}}}}`,
		`{"name":"note","inputSchema":{"type":"object","properties":{"dry_run":{"type":"boolean"},"text":{"type":"string"}}}}`)
	for name, tt := range map[string]struct {
		args string
		want annotary.Source
	}{
		"sql":  {`{"query":"select 1"}`, annotary.FromOperator},
		"note": {`{"dry_run":true}`, annotary.FromDeclared},
	} {
		h, _, why := srv.Tool(name).For([]byte(tt.args))
		if got := h[annotary.ReadOnly]; why == "" || got.Value != annotary.Yes || got.From != tt.want {
			t.Errorf("%s: a read is %v by %v, want by %v", name, got.Value, got.From, tt.want)
		}
	}
}

func TestBehaviour(t *testing.T) {
	digest := func(def string, s catalog.Stance) strict.Digest { return build(t, s, def).Tools[0].Behaviour }
	base := digest(`{"name":"a","description":"one","inputSchema":{"type":"object","properties":{"title":{"type":"string","description":"x"}}}}`, catalog.Stance{})
	same := digest(`{"name":"a","description":"two","title":"T","inputSchema":{"properties":{"title":{"description":"y","type":"string"}},"type":"object"}}`, catalog.Stance{})
	if base != same {
		t.Error("prose changed the behaviour")
	}
	for name, def := range map[string]string{
		"parameter": `{"name":"a","inputSchema":{"type":"object","properties":{"body":{"type":"string"}}}}`,
		"name":      `{"name":"b","inputSchema":{"type":"object","properties":{"title":{"type":"string"}}}}`,
		"app":       `{"name":"a","inputSchema":{"type":"object","properties":{"title":{"type":"string"}}},"_meta":{"ui":{"visibility":["app"]}}}`,
		"hint":      `{"name":"a","inputSchema":{"type":"object","properties":{"title":{"type":"string"}}},"_meta":{"dev.annotary/hints":{"egress":true}}}`,
	} {
		if digest(def, catalog.Stance{}) == base {
			t.Errorf("another %s has the same behaviour", name)
		}
	}
	if digest(`{"name":"a","inputSchema":{"type":"object","properties":{"title":{"type":"string"}}}}`, catalog.Stance{Identity: "other"}) == base {
		t.Error("another server has the same behaviour")
	}
}

func TestScopesAndDuplicates(t *testing.T) {
	write := annotary.Write
	s := catalog.Stance{Scopes: []catalog.ScopeRule{{Tools: "get_*", Scopes: []string{"r"}}, {Class: &write, Scopes: []string{"w"}}},
		Overrides: []catalog.Override{{Tools: "put", Hints: map[annotary.HintName]bool{annotary.Destructive: false}}}}
	srv := build(t, s, `{"name":"get_a","_meta":{"dev.annotary/scopes":["own"]}}`, `{"name":"put"}`, `{"name":"put","x":1}`)
	if got := srv.Tool("get_a").Scopes; !cmp.Equal(got, []string{"r"}) {
		t.Errorf("get_a wants %v; a server that is not believed names no scopes", got)
	}
	if got := srv.Tool("put").Scopes; !cmp.Equal(got, []string{"w"}) {
		t.Errorf("put wants %v", got)
	}
	if len(srv.Tools) != 2 {
		t.Errorf("%d tools, want the first of each name", len(srv.Tools))
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true},
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*b*c", "a1b2c", true}, {"a*b*c", "acb", false}, {"a*a", "a", false},
	} {
		if got := catalog.Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

func BenchmarkFor(b *testing.B) {
	for _, n := range []int{10, 100000} {
		defs := make([]string, n)
		for i := range defs {
			defs[i] = fmt.Sprintf(`{"name":"tool_%d","inputSchema":{"type":"object"}}`, i)
		}
		srv := build(b, catalog.Stance{}, defs...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				srv.Tool("tool_7").For(nil)
			}
		})
	}
}
