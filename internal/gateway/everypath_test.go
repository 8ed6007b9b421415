package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/strict"
)

// randomTools makes a server's definitions: some say they only read, some want a
// scope, some are of an app.
func randomTools(r *rand.Rand, names []string) string {
	var defs []string
	for _, name := range names {
		if r.IntN(5) == 0 {
			continue // the server does not have it
		}
		def := fmt.Sprintf(`{"name":%q,"description":"Does %s.","inputSchema":{"type":"object"}`, name, name)
		def += pick(r, []string{``, `,"annotations":{"readOnlyHint":true}`, `,"annotations":{"destructiveHint":false}`})
		def += pick(r, []string{``, ``, `,"_meta":{"ui":{"visibility":["app"]}}`, `,"_meta":{"dev.annotary/scopes":["root"]}`})
		defs = append(defs, def+"}")
	}
	return "[" + strings.Join(defs, ",") + "]"
}

var toolNames = []string{"get_row", "put_row", "drop_table", "run_sql", "admin"}

// TestEveryPathAgrees (I2, I10): over random catalogues, stances, policies and
// callers, who may see a tool is one answer in list, search, description,
// dispatch, call, prediction and the operator's view; what becomes of a call is
// the same decision directly, dispatched and predicted; and nothing is hidden or
// refused without a code and a reason.
func TestEveryPathAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	met := map[annotary.Code]int{}
	for range 30 {
		believe := r.IntN(2) == 0
		j := &gateway.Judge{Policies: randomSet(t, r), Stances: map[string]catalog.Stance{}}
		for _, server := range []string{"db", "files"} {
			j.Stances[server] = catalog.Stance{Believe: believe, Overrides: []catalog.Override{
				{Tools: pick(r, []string{"get_*", "*_row"}), Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}},
			}}
		}
		o := newOffice(t, j, randomTools(r, toolNames), randomTools(r, toolNames))
		for range 2 {
			c := &caller{o, annotary.Principal{
				Tenant: "default", Subject: pick(r, []string{"ann", "bob"}),
				Groups: pick(r, [][]string{nil, {"interns"}}), Scopes: pick(r, [][]string{nil, {"root"}}),
			}, r.IntN(2) == 0}
			c.seesTheSame(r, met)
		}
	}
	for _, code := range []annotary.Code{"", annotary.CodeApproval, annotary.CodeDenied, annotary.CodeUnknownTool, annotary.CodeAppOnly, annotary.CodeScope, annotary.CodeDoor} {
		if met[code] == 0 {
			t.Errorf("%q was never met: %v", code, met)
		}
	}
}

// A caller is somebody with a host that renders apps or not.
type caller struct {
	*office
	who  annotary.Principal
	apps bool
}

// find calls one of the tools at /mcp/find, by the caller's host.
func (c *caller) find(name, args string) []byte {
	c.t.Helper()
	return c.do(c.who, c.apps, gateway.Find, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, name, args))
}

func (c *caller) seesTheSame(r *rand.Rand, met map[annotary.Code]int) {
	c.t.Helper()
	found := namesAt(strict.Get(c.find("find_tools", `{"max":50}`), "result", "structuredContent", "tools"), "tool")
	for _, server := range []string{"db", "files"} {
		listed := namesAt(strict.Get(c.do(c.who, c.apps, server, "tools/list", ""), "result", "tools"), "name")
		plain := namesAt(strict.Get(c.do(c.who, false, server, "tools/list", ""), "result", "tools"), "name")
		seen := c.operatorSees(server)
		for _, name := range append(toolNames, "absent") {
			label := server + "/" + name
			sees := slices.Contains(listed, name)
			if sees && !seen[name] {
				c.t.Errorf("%s is listed, and hidden to the operator's eye", label)
			}
			model := slices.Contains(plain, name) // without an app
			if got := slices.Contains(found, label); got != model {
				c.t.Errorf("%s: found %v, listed %v", label, got, model)
			}
			byName := namesAt(strict.Get(c.find("find_tools", fmt.Sprintf(`{"query":%q,"max":50}`, label)), "result", "structuredContent", "tools"), "tool")
			if got := slices.Contains(byName, label); got != model {
				c.t.Errorf("%s: found by its name %v, listed %v", label, got, model)
			}
			if got := codeOf(c.find("describe_tool", fmt.Sprintf(`{"tool":%q}`, label))) == ""; got != model {
				c.t.Errorf("%s: described %v, listed %v", label, got, model)
			}
			args := pick(r, []string{`{}`, `{"x":"1"}`, `{"x":"2"}`, `{"a":1,"A":2}`})
			c.calls(server, name, args, sees, model, met)
		}
	}
}

// operatorSees is what the operator is told that the caller may see.
func (c *caller) operatorSees(server string) map[string]bool {
	sights, err := c.g.Tools(c.t.Context(), server, &c.who)
	if err != nil {
		c.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range sights {
		seen[s.Name] = s.See.Effect == annotary.Allow
		if len(s.See.Reasons) == 0 || s.See.Reasons[0].Code == "" {
			c.t.Errorf("%s/%s: nothing says why it is seen or not", server, s.Name)
		}
	}
	return seen
}

// calls makes one call directly and by every door, and predicts it.
func (c *caller) calls(server, name, args string, sees, model bool, met map[annotary.Code]int) {
	c.t.Helper()
	label := server + "/" + name
	before := c.did()
	direct := c.do(c.who, c.apps, server, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, name, args))
	code, happened := annotary.Code(codeOf(direct)), c.did() != before
	if happened != (code == "") || (code == annotary.CodeUnknownTool) == sees {
		c.t.Errorf("%s %s: listed %v, called as %q, happened %v", label, args, sees, code, happened)
	}
	recorded := c.lastDecided()
	met[code]++
	met[recorded.Reasons[0].Code]++

	p, err := c.g.Predict(c.t.Context(), &gateway.Question{Principal: c.who, Server: server, Tool: name, Arguments: []byte(args)})
	if err != nil {
		c.t.Fatal(err)
	}
	if model == sees { // predictions are of hosts that render no apps
		c.same(label, "predicted", p.Told, decidedOf(p.Call), code, recorded)
	}
	if len(p.Call.Reasons) == 0 || p.Call.Reasons[0].Code == "" {
		c.t.Errorf("%s: why names no reason", label)
	}
	doors := []string{"call_read", "call_write", "call_destructive"}
	for i, door := range doors {
		before := c.did()
		got := annotary.Code(codeOf(c.find(door, fmt.Sprintf(`{"tool":%q,"arguments":%s}`, label, args))))
		met[got]++
		decided := c.lastDecided()
		worse := model && i < slices.Index([]string{"read", "write", "destructive"}, p.Hints.Class().String())
		switch {
		case worse && got != annotary.CodeDoor && got != annotary.CodeAmbiguous, (c.did() != before) != (got == ""):
			c.t.Errorf("%s by %s: %q", label, door, got)
		case !worse && model == sees:
			c.same(label, door, got, decided, code, recorded)
		case !model && got != annotary.CodeUnknownTool:
			c.t.Errorf("%s by %s: %q, and it is not to be seen", label, door, got)
		}
	}
}

// same wants two ways to come to the same decision.
func (c *caller) same(label, way string, code annotary.Code, got audit.Entry, directly annotary.Code, want audit.Entry) {
	c.t.Helper()
	if code != directly || got.Effect != want.Effect || !slices.Equal(got.Reasons, want.Reasons) {
		c.t.Errorf("%s, %s: %q, %s %v; directly %q, %s %v", label, way, code, got.Effect, got.Reasons, directly, want.Effect, want.Reasons)
	}
}

func decidedOf(d annotary.Decision) audit.Entry {
	var e audit.Entry
	e.SetDecision(d)
	return e
}

// lastDecided is the decision that was recorded since the last time.
func (c *caller) lastDecided() audit.Entry {
	c.t.Helper()
	c.j.Wait()
	var last audit.Entry
	err := c.log.Read(c.t.Context(), c.read+1, func(pack uint64, lines [][]byte) error {
		c.read = pack
		e, err := audit.Decode(lines[0])
		if err == nil && e.Kind == audit.Decided {
			last = e
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if len(last.Reasons) == 0 {
		c.t.Fatalf("%s/%s was decided without a reason", last.Server, last.Tool)
	}
	return last
}
