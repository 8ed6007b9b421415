package gateway_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// mixed are tools of every sort, one of which wants a scope.
const mixed = `[{"name":"get_row","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
 {"name":"put_row","annotations":{"destructiveHint":false},"inputSchema":{"type":"object","required":["x"],"properties":{"x":{"const":"1"}}}},
 {"name":"drop_table","annotations":{"readOnlyHint":true},"inputSchema":{"$ref":"https://schemas.invalid/drop"}},
 {"name":"run_sql","inputSchema":{"type":"object","properties":{"query":{"type":"string"}}}},
 {"name":"admin","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"_meta":{"dev.annotary/scopes":["root"]}}]`

// pieces are policies that random sets are made of, some of which fail to
// evaluate for some calls.
var pieces = []string{
	`@id("no-drop") forbid(principal, action == Action::"see", resource == Tool::"db/drop_table");`,
	`@id("reads") forbid(principal, action == Action::"call", resource) unless { resource.readOnly };`,
	`@id("interns") forbid(principal in Group::"interns", action == Action::"call", resource) when { resource.class != "read" };`,
	`@id("not-x") forbid(principal, action == Action::"call", resource) when { context.args.getTag("/x") == "1" };`,
	`@id("ask-x") @ask("once") forbid(principal, action == Action::"unattended", resource) when { context.args.hasTag("/x") };`,
	`@id("all") permit(principal, action, resource);`,
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// randomSet compiles a random choice of the pieces beside a random preset.
func randomSet(t *testing.T, r *rand.Rand) *policy.Set {
	t.Helper()
	var o policy.Options
	if preset := pick(r, []string{"", "relaxed", "careful", "strict"}); preset != "" {
		rules, err := annotary.PresetRules(preset)
		if err != nil {
			t.Fatal(err)
		}
		o.Rules = &rules
	}
	for i, text := range pieces {
		if r.IntN(3) == 0 {
			o.Files = append(o.Files, policy.File{Name: fmt.Sprintf("p%d.cedar", i), Text: text})
		}
	}
	set, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestPredictIsWhatCallDoes (I2): over random policies, stances and callers, a
// prediction has the effect, the reasons and the code of the call itself, and
// leaves no trace.
func TestPredictIsWhatCallDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	codes := map[annotary.Code]int{}
	for range 60 {
		log := &memory.Log{}
		j := &gateway.Judge{Policies: randomSet(t, r), Log: log, StepUp: r.IntN(2) == 0, Stances: map[string]catalog.Stance{"db": {
			Believe:   r.IntN(2) == 0,
			Overrides: []catalog.Override{{Tools: pick(r, []string{"get_*", "*_row"}), Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}}},
		}}}
		f := &fixture{tools: mixed}
		g := start(t, f, j)
		for range 8 {
			q := &gateway.Question{
				Principal: annotary.Principal{Tenant: "default", Subject: "ann", Groups: pick(r, [][]string{nil, {"interns"}}), Scopes: pick(r, [][]string{nil, {"root"}})},
				Server:    "db", Tool: pick(r, []string{"get_row", "put_row", "drop_table", "run_sql", "admin", "absent"}),
				Arguments: pick(r, [][]byte{nil, []byte(`{}`), []byte(`{"x":"1"}`), []byte(`{"x":"2"}`), []byte(`{"a":1,"A":2}`), []byte(`{"query":"SELECT 1"}`)}),
			}
			deeds, before := f.did(), len(entries(t, log))
			p, err := g.Predict(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if f.did() != deeds || len(entries(t, log)) != before {
				t.Fatalf("predicting %s left a trace", q.Tool)
			}
			happened, told, entry := really(t, g, j, f, log, q)
			if p.Told != told || (told == "") != happened {
				t.Errorf("%s %s: predicted %q, was told %q, happened: %v", q.Tool, q.Arguments, p.Told, told, happened)
			}
			var predicted audit.Entry
			predicted.SetDecision(p.Call)
			if diff := cmp.Diff(predicted.Reasons, entry.Reasons); predicted.Effect != entry.Effect || diff != "" {
				t.Errorf("%s %s: predicted %s, recorded %s (-predicted +recorded):\n%s", q.Tool, q.Arguments, predicted.Effect, entry.Effect, diff)
			}
			codes[told]++
		}
	}
	for _, c := range []annotary.Code{"", annotary.CodeApproval, annotary.CodeDenied, annotary.CodeUnknownTool, annotary.CodeAmbiguous, annotary.CodeArguments, annotary.CodeStepUp} {
		if codes[c] == 0 {
			t.Errorf("no call came to %q: %v", c, codes)
		}
	}
}

// really makes the call and says whether it reached the server, what the caller
// was told and what the log says.
func really(t *testing.T, g *gateway.Gateway, j *gateway.Judge, f *fixture, log *memory.Log, q *gateway.Question) (bool, annotary.Code, audit.Entry) {
	t.Helper()
	params := map[string]any{"name": q.Tool, "_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": struct{}{}}}
	if q.Arguments != nil {
		params["arguments"] = json.RawMessage(q.Arguments)
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rpc.Parse(raw, strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	deeds := f.did()
	a, err := g.Call(t.Context(), &gateway.Call{
		Principal: q.Principal, Server: "db", Era: upstream.EraModern, Message: m, ReadOnly: q.ReadOnly,
		Header: http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {q.Tool}, "Mcp-Protocol-Version": {"2026-07-28"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	j.Wait()
	all := entries(t, log)
	i := len(all) - 1
	for ; i > 0 && all[i].Kind != audit.Decided; i-- {
	}
	return f.did() != deeds, annotary.Code(codeOf(a.Body)), all[i]
}

// TestPredictSaysWhatCallersMustNotLearn: hidden by a rule, hidden by a scope and
// absent are one to the caller and three to the operator.
func TestPredictSaysWhatCallersMustNotLearn(t *testing.T) {
	j := &gateway.Judge{
		Policies: careful(t, pieces[0]), Log: &memory.Log{},
		Stances: map[string]catalog.Stance{"db": {Believe: true}},
	}
	g := start(t, &fixture{tools: mixed}, j)
	for tool, want := range map[string]annotary.Reason{
		"drop_table": {Code: annotary.CodePolicy, Rule: "no-drop"},
		"admin":      {Code: annotary.CodeScope},
		"absent":     {Code: annotary.CodeUnknownTool},
	} {
		p, err := g.Predict(t.Context(), &gateway.Question{Principal: annotary.Principal{Tenant: "default", Subject: "ann"}, Server: "db", Tool: tool})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.See.Reasons[0]; p.Told != annotary.CodeUnknownTool || got.Code != want.Code || got.Rule != want.Rule {
			t.Errorf("%s: told %s because of %+v", tool, p.Told, p.See.Reasons)
		}
	}
	sights, err := g.Tools(t.Context(), "db", &annotary.Principal{Tenant: "default", Subject: "ann"})
	var hidden []string
	for _, s := range sights {
		if s.See.Effect != annotary.Allow {
			hidden = append(hidden, s.Name)
		}
	}
	if slices.Sort(hidden); err != nil || strings.Join(hidden, ",") != "admin,drop_table" {
		t.Errorf("hidden are %v, %v", hidden, err)
	}
}
