package gateway_test

import (
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
)

// typed are tools whose schemas demand something, each in its own way.
const typed = `[{"name":"put_row","inputSchema":{"type":"object","required":["row"],"properties":{"row":{"type":"object","properties":{"id":{"type":"integer"}}}}}},
 {"name":"get_row","inputSchema":{"type":"object","required":["id"]}},
 {"name":"put_far","inputSchema":{"$ref":"https://schemas.invalid/row"}},
 {"name":"put_costly","inputSchema":{"$ref":"#"}},
 {"name":"put_any"}]`

// permissive lets every call through that the line itself does not stop.
const permissive = `@id("all") permit(principal, action, resource);`

func permitting(t *testing.T) *gateway.Judge {
	t.Helper()
	return &gateway.Judge{Policies: only(t, permissive), Stances: map[string]catalog.Stance{"db": readers["db"]}, Log: &memory.Log{}}
}

// TestArguments: what does not keep to the schema of a tool that may change
// something is refused with the place, and the server sees nothing. Where the
// schema says nothing that can be checked, a person is asked.
func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		tool, args string
		want       annotary.Code
		says       string
	}{
		{"put_row", `{"row":{"id":1}}`, "", ""},
		{"put_row", `{}`, annotary.CodeArguments, `the arguments: lacks \"row\"`},
		{"put_row", `null`, annotary.CodeArguments, `the arguments: is a null, not object`},
		{"put_row", `{"row":{"id":"1"}}`, annotary.CodeArguments, `/row/id: is a string, not integer`},
		{"get_row", `{}`, "", ""}, // a read is the server's own matter
		{"put_far", `{}`, annotary.CodeApproval, `leaves the document`},
		{"put_costly", `{}`, annotary.CodeApproval, `would cost too much`},
		{"put_any", `{"x":[]}`, "", ""},
	} {
		f, j := &fixture{tools: typed}, permitting(t)
		got := call(t, start(t, f, j), tt.tool, tt.args)
		if codeOf(got) != string(tt.want) || !strings.Contains(string(got), tt.says) {
			t.Errorf("%s %s: %s, want %q and %s", tt.tool, tt.args, got, tt.want, tt.says)
		}
		if reached := f.did() != ""; reached != (tt.want == "") {
			t.Errorf("%s %s: the server did %q", tt.tool, tt.args, f.did())
		}
		j.Wait()
		if e := entries(t, j.Log.(*memory.Log)); len(e) != 2 || (tt.want == annotary.CodeArguments && (e[0].Reasons[0].Code != tt.want || e[1].Code != tt.want)) {
			t.Errorf("%s %s: the log has %+v", tt.tool, tt.args, e)
		}
	}
}

// TestArgumentsOff: the operator can leave the arguments to the server.
func TestArgumentsOff(t *testing.T) {
	for _, tool := range []string{"put_row", "put_far"} {
		f, j := &fixture{tools: typed}, permitting(t)
		j.Stances = map[string]catalog.Stance{"db": {Unvalidated: true}}
		if got := call(t, start(t, f, j), tool, `{}`); codeOf(got) != "" || f.did() == "" {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// TestPredictOpen: a question that leaves the arguments open is not answered
// with what they lack.
func TestPredictOpen(t *testing.T) {
	g := start(t, &fixture{tools: typed}, permitting(t))
	for open, want := range map[bool]annotary.Code{true: "", false: annotary.CodeArguments} {
		p, err := g.Predict(t.Context(), &gateway.Question{
			Principal: annotary.Principal{Tenant: "default", Subject: "ann"}, Server: "db", Tool: "put_row", Open: open,
		})
		if err != nil || p.Told != want {
			t.Errorf("open %v: %+v, %v", open, p, err)
		}
	}
}
