package gateway_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// scoped is a judge under which db/put_row wants a scope, and db another.
func scoped(t *testing.T, stepUp bool) *gateway.Judge {
	return &gateway.Judge{
		Policies: only(t, `permit(principal, action, resource);`), Log: &memory.Log{}, StepUp: stepUp,
		Stances: map[string]catalog.Stance{"db": {Scopes: []catalog.ScopeRule{
			{Scopes: []string{"db"}}, {Tools: "put_*", Scopes: []string{"db:write"}},
		}}},
	}
}

// sent is a message through the line, for a caller with these scopes.
func sent(t *testing.T, g *gateway.Gateway, scopes []string, method, params string) *upstream.Answer {
	t.Helper()
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`}}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.Call(t.Context(), &gateway.Call{
		Principal: annotary.Principal{Tenant: "default", Subject: "ann", Scopes: scopes}, Server: "db", Era: upstream.EraModern,
		Message: m, Header: http.Header{"Mcp-Method": {method}, "Mcp-Protocol-Version": {"2026-07-28"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// TestScopes: without a scope a tool is not listed and a call of it reaches
// nobody; or, where callers are to be challenged, it is listed and the call says
// all that it wants.
func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stepUp bool
		scopes []string
		listed int
		code   annotary.Code
		wants  []string
	}{
		{"hide, none", false, nil, 0, annotary.CodeUnknownTool, nil},
		{"hide, the server's", false, []string{"db"}, 4, annotary.CodeUnknownTool, nil},
		{"hide, the tool's only", false, []string{"db:write"}, 0, annotary.CodeUnknownTool, nil},
		{"hide, both", false, []string{"db:write", "db"}, 5, "", nil},
		{"challenge, none", true, nil, 5, annotary.CodeStepUp, []string{"db", "db:write"}},
		{"challenge, the server's", true, []string{"db"}, 5, annotary.CodeStepUp, []string{"db", "db:write"}},
		{"challenge, both", true, []string{"db:write", "db"}, 5, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fixture{tools: mixed}
			g := start(t, f, scoped(t, tc.stepUp))
			list := sent(t, g, tc.scopes, "tools/list", "")
			n := 0
			for range strict.Elements(strict.Get(list.Body, "result", "tools")) {
				n++
			}
			if n != tc.listed {
				t.Errorf("%d tools are listed, want %d", n, tc.listed)
			}
			a := sent(t, g, tc.scopes, "tools/call", `"name":"put_row","arguments":{"x":"1"}`)
			if got := annotary.Code(codeOf(a.Body)); got != tc.code || (f.did() != "") != (tc.code == "") {
				t.Errorf("told %q, want %q; the server did %q", got, tc.code, f.did())
			}
			if diff := cmp.Diff(tc.wants, a.Scopes); diff != "" || (tc.wants != nil) != (a.Status == http.StatusForbidden) {
				t.Errorf("status %d, wants (-want +got):\n%s", a.Status, diff)
			}
		})
	}
}

// TestScopesOfServer: what is no tool wants the scopes of the server.
func TestScopesOfServer(t *testing.T) {
	f := &fixture{tools: mixed}
	g := start(t, f, scoped(t, false))
	if a := sent(t, g, nil, "resources/read", `"uri":"a://b"`); a.Status != http.StatusForbidden || f.did() != "" {
		t.Errorf("without: %d, did %q", a.Status, f.did())
	}
	if a := sent(t, g, []string{"db"}, "resources/read", `"uri":"a://b"`); a.Status != http.StatusOK || f.did() == "" {
		t.Errorf("with: %d, did %q", a.Status, f.did())
	}
}

// TestVerdictLeaksNothing: the caller cannot tell a tool that is hidden from one
// that is not there.
func TestVerdictLeaksNothing(t *testing.T) {
	g := start(t, &fixture{tools: mixed}, &gateway.Judge{
		Policies: careful(t, pieces[0]), Log: &memory.Log{}, Stances: map[string]catalog.Stance{"db": {Believe: true}},
	})
	verdict := func(tool string) string {
		p, err := g.Predict(t.Context(), &gateway.Question{Principal: annotary.Principal{Tenant: "default", Subject: "ann"}, Server: "db", Tool: tool})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Verdict()
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	absent := verdict("absent")
	for _, tool := range []string{"drop_table", "admin"} {
		if got := verdict(tool); got != absent {
			t.Errorf("%s: %s, but absent: %s", tool, got, absent)
		}
	}
	if got := verdict("get_row"); got != `{"effect":"allow","reasons":[]}` {
		t.Errorf("get_row: %s", got)
	}
	if got := verdict("run_sql"); got == absent {
		t.Errorf("run_sql: %s", got)
	}
}
