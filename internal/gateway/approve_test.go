package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/seal"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// A notebook is a server of both eras with a tool that writes, one that destroys,
// and one that asks before it writes.
type notebook struct {
	mu    sync.Mutex
	input string // more of the input schema of add
	deeds []string
}

func (n *notebook) tools() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return `[{"name":"add","title":"Add a note","inputSchema":{"type":"object"` + n.input + `}},
	 {"name":"drop","title":"Drop all notes","inputSchema":{"type":"object"}},
	 {"name":"wonder","inputSchema":{"type":"object"}}]`
}

func (n *notebook) change(input string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.input = input
}

func (n *notebook) did() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.deeds...)
}

func (n *notebook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var result string
	switch text(body, "method") {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s1")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notebook","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":` + n.tools() + `}`
	case "tools/call":
		result = n.call(strict.Get(body, "params"))
	case "notes/forget":
		n.mu.Lock()
		n.deeds = append(n.deeds, "forget "+text(body, "params", "name"))
		n.mu.Unlock()
		result = `{"resultType":"complete","done":"done"}`
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, strict.Get(body, "id"), result)
}

// call does the deed; wonder asks twice first, and keeps its state with the client.
func (n *notebook) call(params []byte) string {
	name, state := text(params, "name"), text(params, "requestState")
	if name == "wonder" && state != "two" {
		next := map[string]string{"": "one", "one": "two"}[state]
		if answer := text(params, "inputResponses", "q", "action"); (state != "") != (answer == "accept") {
			return `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"a stray answer"}]}`
		}
		return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Really?","requestedSchema":{"type":"object"}}}},"requestState":"` + next + `"}`
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deeds = append(n.deeds, name+" "+string(strict.Get(params, "arguments"))+" "+string(strict.Get(params, "inputResponses"))+state)
	return `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
}

// A world is a gateway before a notebook, whose calls people are asked about.
type world struct {
	t       *testing.T
	g       *gateway.Gateway
	book    *notebook
	log     *memory.Log
	desk    *approval.Desk
	ladder  *gateway.Ladder
	buckets [3]*memory.Bucket
	options approval.Options
}

// writers is the stance of an operator who says that only drop destroys.
var writers = map[string]catalog.Stance{"db": {Overrides: []catalog.Override{
	{Tools: "add", Hints: map[annotary.HintName]bool{annotary.Destructive: false}},
	{Tools: "wonder", Hints: map[annotary.HintName]bool{annotary.Destructive: false}},
}}}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, book: &notebook{}, log: &memory.Log{}}
	for i := range w.buckets {
		w.buckets[i] = memory.NewBucket()
	}
	srv := httptest.NewServer(w.book)
	t.Cleanup(srv.Close)
	s, err := upstream.New(upstream.Target{Name: "db", URL: srv.URL}, upstream.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.g = gateway.New(s)
	w.ladder = &gateway.Ladder{Wait: 20 * time.Second}
	w.restart(careful(t))
	t.Cleanup(func() { w.g.Replace(); w.g.Wait() })
	return w
}

// restart makes everything anew that is not in the store, with these policies.
func (w *world) restart(set *policy.Set, profiles ...gateway.Profile) {
	w.desk = approval.NewDesk(w.buckets[0], w.buckets[1], w.options)
	l := *w.ladder
	l.Desk, l.Sealer = w.desk, seal.NewSealer(w.buckets[2])
	j := &gateway.Judge{Policies: set, Stances: writers, Log: w.log, Ladder: &l, Profiles: profiles}
	w.g.Use(j)
	w.t.Cleanup(j.Wait)
}

const (
	noForm = `{}`
	form   = `{"elicitation":{}}`
	page   = `{"elicitation":{"url":{}}}`
)

// send makes a call as a modern client that declares these capabilities.
func (w *world) send(who annotary.Principal, caps, params string) []byte {
	w.t.Helper()
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, params, caps)
	m, err := rpc.Parse([]byte(raw), strict.Limits{})
	if err != nil {
		w.t.Fatal(err)
	}
	name, _ := m.Target()
	a, err := w.g.Call(w.t.Context(), &gateway.Call{Principal: who, Server: "db", Era: upstream.EraModern, Message: m, Header: http.Header{
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {name}, "Mcp-Protocol-Version": {"2026-07-28"}, "Accept": {"application/json, text/event-stream"},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer a.Close()
	return append([]byte(nil), a.Body...)
}

func (w *world) call(tool, args string) []byte {
	w.t.Helper()
	return w.send(ann, noForm, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
}

// say answers the question of a refusal through the command line.
func (w *world) say(refusal []byte, said approval.Answer) (*approval.Approval, error) {
	w.t.Helper()
	id := text(refusal, "result", "_meta", gateway.MetaDecision, "approval", "id")
	if id == "" {
		w.t.Fatalf("no approval is waited for: %s", refusal)
	}
	if said.By.Subject == "" {
		said.By = approval.PersonOf(&ann)
	}
	if said.Channel == "" {
		said.Channel = string(policy.ChannelCLI)
	}
	return w.g.Answer(w.t.Context(), id, said)
}

func (w *world) yes(refusal []byte, s approval.Scope) {
	w.t.Helper()
	if _, err := w.say(refusal, approval.Answer{Yes: true, Scope: s}); err != nil {
		w.t.Fatal(err)
	}
}

// want holds an answer against the code it must carry; none means that the call
// happened.
func (w *world) want(answer []byte, code annotary.Code, earlier ...annotary.Code) {
	w.t.Helper()
	if got := codeOf(answer); got != string(code) || (code == "" && !strings.Contains(string(answer), `"done"`)) {
		w.t.Errorf("got %q, want %q: %s", got, code, answer)
	}
	var gaps []annotary.Code
	for _, g := range strict.Elements(strict.Get(answer, "result", "_meta", gateway.MetaDecision, "earlier")) {
		gaps = append(gaps, annotary.Code(text(g, "code")))
	}
	if fmt.Sprint(gaps) != fmt.Sprint(earlier) {
		w.t.Errorf("earlier answers: %v, want %v", gaps, earlier)
	}
}

// happened holds what the server did against what it should have done.
func (w *world) happened(n int) {
	w.t.Helper()
	if got := w.book.did(); len(got) != n {
		w.t.Errorf("%d deeds, want %d: %q", len(got), n, got)
	}
}

// TestApprove_none: who cannot be asked is answered at once, and told how; the
// retry runs once.
func TestApprove_none(t *testing.T) {
	w := newWorld(t)
	refusal := w.call("drop", `{"all":true}`)
	w.want(refusal, annotary.CodeApproval)
	again := w.call("drop", `{"all":true}`)
	about := strict.Get(refusal, "result", "_meta", gateway.MetaDecision, "approval")
	if text(about, "id") != text(strict.Get(again, "result", "_meta", gateway.MetaDecision, "approval"), "id") {
		t.Error("the same call is another question")
	}
	said := text(strict.Get(refusal, "result", "content"), "")
	for _, b := range strict.Elements(strict.Get(refusal, "result", "content")) {
		said = text(b, "text")
	}
	for _, part := range []string{"annotary approvals approve " + text(about, "id"), "with exactly the same arguments", "has not happened"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not said: %s", part, said)
		}
	}
	w.happened(0)
	w.yes(refusal, approval.Scope{})
	w.want(w.call("drop", `{"all":true}`), "")
	w.want(w.call("drop", `{"all":true}`), annotary.CodeApproval, annotary.CodeGrantSpent)
	w.happened(1)
	var used []string
	for _, e := range entries(t, w.log) {
		if e.Kind == "decided" && e.Effect == "allow" {
			used = append(used, e.Approval+" "+e.ApprovedBy+" "+e.Channel)
		}
	}
	if want := text(about, "id") + " default//ann cli"; len(used) != 1 || used[0] != want {
		t.Errorf("the log says %q, want %q", used, want)
	}
}

// TestApprove_flood: an agent in a loop asks so often, and no more, until somebody
// answers; others are asked about as ever, and what is asked already is no new
// question. A prediction says so, too.
func TestApprove_flood(t *testing.T) {
	w := newWorld(t)
	w.options.Max = 5
	w.restart(careful(t))
	numbered := func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }
	predicted := func(args string) annotary.Code {
		p, err := w.g.Predict(t.Context(), &gateway.Question{Principal: ann, Server: "db", Tool: "drop", Arguments: []byte(args)})
		if err != nil {
			t.Fatal(err)
		}
		return p.Told
	}
	var asked sync.WaitGroup
	for i := range 4 { // those that come at once are counted, too
		asked.Go(func() { w.want(w.call("drop", numbered(i)), annotary.CodeApproval) })
	}
	asked.Wait()
	first := w.call("drop", numbered(4))
	w.want(first, annotary.CodeApproval)
	for i := 5; i < 20; i++ {
		if got := predicted(numbered(i)); got != annotary.CodeQuestions {
			t.Errorf("predicted %q", got)
		}
		w.want(w.call("drop", numbered(i)), annotary.CodeQuestions)
	}
	refusal := string(w.call("drop", numbered(20)))
	for _, part := range []string{"nobody was asked", "annotary approvals list", "approvals.max"} {
		if !strings.Contains(refusal, part) {
			t.Errorf("%q is not said: %s", part, refusal)
		}
	}
	if open, err := w.desk.List(t.Context(), true); err != nil || len(open) != 5 {
		t.Errorf("%d questions, %v", len(open), err)
	}
	if got := predicted(numbered(4)); got != annotary.CodeApproval {
		t.Errorf("what is asked already: %q", got)
	}
	w.want(w.call("drop", numbered(4)), annotary.CodeApproval)
	w.want(w.send(annotary.Principal{Tenant: "default", Subject: "bob"}, noForm, `"name":"drop","arguments":{}`), annotary.CodeApproval)
	w.yes(first, approval.Scope{})
	w.want(w.call("drop", numbered(4)), "")
	w.want(w.call("drop", numbered(5)), annotary.CodeApproval)
	w.want(w.call("drop", numbered(6)), annotary.CodeQuestions)
	w.happened(1)
}

// TestApprove_meta: what hosts put into _meta differs with every call, and is no
// part of what a yes is for.
func TestApprove_meta(t *testing.T) {
	w := newWorld(t)
	call := func(meta string) []byte {
		caps := noForm + `,"progressToken":` + meta + `,"claudecode/toolUseId":` + meta + `,"vscode.requestId":` + meta + `,"traceparent":` + meta
		return w.send(ann, caps, `"name":"drop","arguments":{"all":true}`)
	}
	first := call(`"1"`)
	w.want(first, annotary.CodeApproval)
	w.yes(first, approval.Scope{})
	w.want(call(`"2"`), "")
	w.happened(1)
}

// TestApprove_earlier: a model hears of a few answers that do not count, and how
// many more there are.
func TestApprove_earlier(t *testing.T) {
	w := newWorld(t)
	hours := approval.Scope{Kind: approval.Until, Until: time.Now().Add(time.Hour)}
	for i := range 5 {
		w.yes(w.call("drop", fmt.Sprintf(`{"n":%d}`, i)), hours)
	}
	said := string(w.call("drop", `{"n":9}`))
	if got := strings.Count(said, "An earlier yes ("); got != 3 || !strings.Contains(said, "Nor do 2 others.") {
		t.Errorf("%d earlier answers are named, want 3 and 'Nor do 2 others.': %s", got, said)
	}
}

// TestApprove_method: a yes to a method that the operator named is a yes to all
// that its params say, and the person saw it.
func TestApprove_method(t *testing.T) {
	w := newWorld(t)
	l := *w.ladder
	l.Desk, l.Sealer = w.desk, seal.NewSealer(w.buckets[2])
	j := &gateway.Judge{Policies: careful(t), Stances: writers, Log: w.log, Ladder: &l, Methods: map[string][]string{"db": {"notes/forget"}}}
	w.g.Use(j)
	t.Cleanup(j.Wait)
	forget := func(params string) []byte {
		t.Helper()
		m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":7,"method":"notes/forget","params":`+params+`}`), strict.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.g.Call(t.Context(), &gateway.Call{Principal: ann, Server: "db", Era: upstream.EraModern, Message: m, Header: http.Header{
			"Mcp-Method": {"notes/forget"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Accept": {"application/json, text/event-stream"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		return append([]byte(nil), a.Body...)
	}
	refused := func(params string) *approval.Approval {
		t.Helper()
		if body := forget(params); strict.Get(body, "error") == nil {
			t.Fatalf("%s: %s", params, body)
		}
		open, err := w.desk.List(t.Context(), false)
		if err != nil || len(open) != 1 {
			t.Fatalf("%d open questions: %v", len(open), err)
		}
		return open[0]
	}
	a := refused(`{"name":"draft","deep":{"tags":["old"]},"_meta":{"n":1}}`)
	if saw, want := a.Prompt.Text(), "  /name: \"draft\"\n  /deep/tags/0: \"old\"\n"; !strings.Contains(saw, want) {
		t.Errorf("the person saw %s, want %s", saw, want)
	}
	if _, err := w.g.Answer(t.Context(), a.ID, approval.Answer{Yes: true, By: approval.PersonOf(&ann), Channel: string(policy.ChannelCLI)}); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{
		`{"name":"everything","deep":{"tags":["old"]}}`, `{"name":"draft","deep":{"tags":["new"]}}`,
		`{"name":"draft","deep":{"tags":["old"]},"requestState":"x"}`,
	} {
		if body := forget(other); strict.Get(body, "error") == nil {
			t.Errorf("%s: the yes was for another: %s", other, body)
		}
	}
	w.happened(0)
	if body := forget(`{"name":"draft","deep":{"tags":["old"]},"_meta":{"n":2}}`); text(body, "result", "done") != "done" {
		t.Errorf("%s", body)
	}
	w.happened(1)
}

// TestApprove_scopes: a yes is used within what it says and for the reasons it
// answers; everything else is refused with its code.
func TestApprove_scopes(t *testing.T) {
	hours := approval.Scope{Kind: approval.Until, Until: time.Now().Add(8 * time.Hour)}
	const newRule = `@id("new") forbid(principal, action == Action::"unattended", resource);`
	for name, tt := range map[string]struct {
		scope   approval.Scope
		change  func(*testing.T, *world)
		who     annotary.Principal
		args    string
		want    annotary.Code
		earlier []annotary.Code
	}{
		"same":               {scope: hours},
		"changed argument":   {scope: hours, args: `{"repo":"b"}`, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantArguments}},
		"once, changed":      {args: `{"repo":"b"}`, want: annotary.CodeApproval},
		"other principal":    {scope: hours, who: annotary.Principal{Tenant: "default", Subject: "bob"}, want: annotary.CodeApproval},
		"new rule":           {scope: hours, change: func(t *testing.T, w *world) { w.restart(careful(t, newRule)) }, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantReasons}},
		"once, new rule":     {change: func(t *testing.T, w *world) { w.restart(careful(t, newRule)) }, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantReasons}},
		"policy edited":      {scope: hours, change: func(t *testing.T, w *world) { w.restart(strictly(t)) }, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantReasons}},
		"approver forbidden": {scope: hours, change: func(t *testing.T, w *world) { w.restart(careful(t, noCLI)) }, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantApprover}},
		"once, forbidden":    {change: func(t *testing.T, w *world) { w.restart(careful(t, noCLI)) }, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantApprover}},
		"definition changed": {scope: hours, change: func(t *testing.T, w *world) {
			w.book.change(`,"properties":{"force":{"type":"boolean"}}`)
			ask(t, w.g, "tools/list", `"cursor":""`)
		}, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantDefinition}},
		"revoked": {scope: hours, change: func(t *testing.T, w *world) {
			grants, err := w.desk.Grants(t.Context(), false)
			if err != nil || len(grants) != 1 || w.desk.Revoke(t.Context(), grants[0].ID) != nil {
				t.Fatal(grants, err)
			}
		}, want: annotary.CodeApproval, earlier: []annotary.Code{annotary.CodeGrantRevoked}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.yes(w.call("drop", `{"repo":"a"}`), tt.scope)
			if name == "definition changed" { // of the tool that changes
				w.yes(w.call("add", `{"repo":"a"}`), tt.scope)
			}
			if tt.change != nil {
				tt.change(t, w)
			}
			who, args, tool := ann, `{"repo":"a"}`, "drop"
			if tt.who.Subject != "" {
				who = tt.who
			}
			if tt.args != "" {
				args = tt.args
			}
			if name == "definition changed" {
				tool = "add"
			}
			answer := w.send(who, noForm, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
			w.want(answer, tt.want, tt.earlier...)
			if name == "definition changed" && !strings.Contains(string(answer), "inputSchema.force (new)") {
				t.Errorf("it is not said what changed: %s", answer)
			}
		})
	}
}

const noCLI = `@id("no-cli") forbid(principal, action == Action::"approve", resource) when { context.channel == "cli" };`

// strictly is a policy whose rules bear the same names as careful's but say
// something else.
func strictly(t *testing.T) *policy.Set {
	t.Helper()
	set, err := policy.New(policy.Options{Rules: &annotary.Rules{
		Read: annotary.VerdictAllow, Write: annotary.VerdictAskOutside, Destructive: annotary.VerdictAskOutside, Irreversible: annotary.VerdictAskOutside,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestApprove_answer: who may not say yes is refused when saying it.
func TestApprove_answer(t *testing.T) {
	fleet := func(t *testing.T) *policy.Set {
		rules, _ := annotary.PresetRules("careful")
		set, err := policy.New(policy.Options{Rules: &rules, Fleet: true})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	bob := annotary.Principal{Tenant: "default", Subject: "bob", Groups: []string{"approvers"}}
	eve := annotary.Principal{Tenant: "default", Subject: "eve"}
	for name, tt := range map[string]struct {
		fleet   bool
		tool    string
		by      annotary.Principal
		channel policy.Channel
		want    annotary.Code
	}{
		"owner":                      {false, "drop", ann, policy.ChannelCLI, ""},
		"owner, in the client":       {false, "drop", ann, policy.ChannelClient, annotary.CodeNotApprover},
		"somebody else":              {false, "drop", eve, policy.ChannelCLI, annotary.CodeNotApprover},
		"fleet: requester, destroys": {true, "drop", ann, policy.ChannelPage, annotary.CodeNotApprover},
		"fleet: requester, writes":   {true, "add", ann, policy.ChannelPage, ""},
		"fleet: approver":            {true, "drop", bob, policy.ChannelPage, ""},
		"fleet: anybody":             {true, "add", eve, policy.ChannelPage, annotary.CodeNotApprover},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.fleet {
				w.restart(fleet(t))
			}
			refusal := w.call(tt.tool, `{}`)
			_, err := w.say(refusal, approval.Answer{Yes: true, By: approval.PersonOf(&tt.by), Channel: string(tt.channel)})
			if got := annotary.CodeOf(err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want == "" {
				w.want(w.call(tt.tool, `{}`), "")
			} else {
				w.want(w.call(tt.tool, `{}`), annotary.CodeApproval)
			}
		})
	}
	t.Run("no", func(t *testing.T) {
		w := newWorld(t)
		refusal := w.call("drop", `{}`)
		if _, err := w.say(refusal, approval.Answer{Note: "ask Ben\nfirst"}); err != nil {
			t.Fatal(err)
		}
		again := w.call("drop", `{}`)
		w.want(again, annotary.CodeApprovalNo)
		if !strings.Contains(string(again), "ask Ben⏎first") {
			t.Errorf("the note is not told: %s", again)
		}
		w.want(w.call("drop", `{"x":1}`), annotary.CodeApproval)
		_, err := w.say(refusal, approval.Answer{Yes: true})
		if annotary.CodeOf(err) != annotary.CodeAnswered {
			t.Errorf("answered twice: %v", err)
		}
	})
	t.Run("by profile", func(t *testing.T) {
		w := newWorld(t)
		w.restart(careful(t, `@id("ops") permit(principal in Profile::"ops", action == Action::"approve", resource);`),
			gateway.Profile{Name: "ops", Users: []string{"bob"}})
		refusal := w.call("drop", `{}`)
		if _, err := w.say(refusal, approval.Answer{Yes: true, By: approval.PersonOf(&eve)}); annotary.CodeOf(err) != annotary.CodeNotApprover {
			t.Errorf("eve is in no profile, and heard %v", err)
		}
		if _, err := w.say(refusal, approval.Answer{Yes: true, By: approval.PersonOf(&bob)}); err != nil {
			t.Error(err)
		}
		w.want(w.call("drop", `{}`), "")
	})
	t.Run("changed meanwhile", func(t *testing.T) {
		w := newWorld(t)
		refusal := w.call("add", `{}`)
		w.book.change(`,"properties":{"force":{"type":"boolean"}}`)
		ask(t, w.g, "tools/list", `"cursor":""`)
		if _, err := w.say(refusal, approval.Answer{Yes: true}); annotary.CodeOf(err) != annotary.CodeGrantDefinition {
			t.Errorf("got %v", err)
		}
	})
}

// question returns our question and the state of a result that asks.
func (w *world) question(answer []byte) (params []byte, state string) {
	w.t.Helper()
	params = strict.Get(answer, "result", "inputRequests", "annotary/approval", "params")
	state = text(answer, "result", "requestState")
	if params == nil || state == "" || text(answer, "result", "resultType") != "input_required" {
		w.t.Fatalf("nothing is asked: %s", answer)
	}
	return params, state
}

// retry repeats a call with an answer to our question.
func (w *world) retry(who annotary.Principal, params, state, response string) []byte {
	w.t.Helper()
	return w.send(who, form, fmt.Sprintf(`%s,"requestState":%q,"inputResponses":{"annotary/approval":%s}`, params, state, response))
}

const (
	add    = `"name":"add","arguments":{"n":9007199254740993}`
	accept = `{"action":"accept","content":{"scope":"once"}}`
)

// TestApprove_form: a modern client asks its own person; the upstream sees the
// call as if nothing had been asked, once.
func TestApprove_form(t *testing.T) {
	w := newWorld(t)
	params, state := w.question(w.send(ann, form, add))
	if text(params, "mode") != "form" || !strings.Contains(text(params, "message"), `"Add a note"`) || !strings.Contains(text(params, "message"), "9007199254740993") {
		t.Errorf("asked %s", params)
	}
	w.happened(0)
	w.want(w.retry(ann, add, state, accept), "")
	if got := w.book.did(); len(got) != 1 || got[0] != `add {"n":9007199254740993} ` {
		t.Errorf("the server saw %q", got)
	}
	w.question(w.send(ann, form, add)) // once was once
	var calls, parents []string
	for _, e := range entries(t, w.log) {
		if e.Kind == "decided" {
			calls, parents = append(calls, e.Call), append(parents, e.Parent)
		}
	}
	if len(calls) != 3 || parents[1] != calls[0] || parents[2] != "" {
		t.Errorf("calls %v continue %v", calls, parents)
	}
}

// TestApprove_once: where every rule asks once, a plain yes covers the tool for
// the conversation, whatever the arguments.
func TestApprove_once(t *testing.T) {
	w := newWorld(t)
	_, state := w.question(w.send(ann, form, add))
	w.want(w.retry(ann, add, state, `{"action":"accept"}`), "")
	w.want(w.send(ann, form, `"name":"add","arguments":{"other":true}`), "")
	w.question(w.send(ann, form, `"name":"wonder","arguments":{}`))
	other := ann
	other.Client = "another"
	w.question(w.send(other, form, add))
	w.happened(2)
}

// TestApprove_state: whatever a client does to the state, the call does not
// happen, and the code says why.
func TestApprove_state(t *testing.T) {
	bob := annotary.Principal{Tenant: "default", Subject: "bob"}
	for name, tt := range map[string]struct {
		try  func(w *world, state string) []byte
		want annotary.Code
	}{
		"forged":          {func(w *world, s string) []byte { return w.retry(ann, add, s[:len(s)-4]+"AAAA", accept) }, annotary.CodeStateForged},
		"made up":         {func(w *world, _ string) []byte { return w.retry(ann, add, "annotary1.e30", accept) }, annotary.CodeStateForged},
		"other principal": {func(w *world, s string) []byte { return w.retry(bob, add, s, accept) }, annotary.CodeStateMismatch},
		"other arguments": {func(w *world, s string) []byte { return w.retry(ann, `"name":"add","arguments":{"n":2}`, s, accept) }, annotary.CodeStateMismatch},
		"other tool": {func(w *world, s string) []byte {
			return w.retry(ann, `"name":"drop","arguments":{"n":9007199254740993}`, s, accept)
		}, annotary.CodeStateMismatch},
		"other params": {func(w *world, s string) []byte { return w.retry(ann, add+`,"task":{}`, s, accept) }, annotary.CodeStateMismatch},
		"replayed": {func(w *world, s string) []byte {
			w.want(w.retry(ann, add, s, accept), "")
			w.book.deeds = nil
			return w.retry(ann, add, s, accept)
		}, annotary.CodeStateReplayed},
		"declined": {func(w *world, s string) []byte { return w.retry(ann, add, s, `{"action":"decline"}`) }, annotary.CodeApprovalNo},
		"declined, then again": {func(w *world, s string) []byte {
			w.retry(ann, add, s, `{"action":"decline"}`)
			return w.send(ann, form, add)
		}, annotary.CodeApprovalNo},
		"cancelled": {func(w *world, s string) []byte { return w.retry(ann, add, s, `{"action":"cancel"}`) }, annotary.CodeApproval},
		"a wider scope": {func(w *world, s string) []byte {
			return w.retry(ann, add, s, `{"action":"accept","content":{"scope":"always"}}`)
		}, annotary.CodeScopeTooWide},
		"a scope that was not offered": {func(w *world, s string) []byte {
			return w.retry(ann, add, s, `{"action":"accept","content":{"scope":"unchanged"}}`)
		}, annotary.CodeScopeTooWide},
		"kill: denied": {func(w *world, s string) []byte {
			w.restart(careful(w.t, `@id("stop") forbid(principal, action == Action::"call", resource) when { context.truncated == false };`))
			return w.retry(ann, add, s, accept)
		}, annotary.CodeDenied},
		"client forbidden meanwhile": {func(w *world, s string) []byte {
			w.restart(careful(w.t, noClient))
			return w.retry(ann, add, s, accept)
		}, annotary.CodeNotApprover},
		"approval forgotten": {func(w *world, s string) []byte {
			w.buckets[0] = memory.NewBucket()
			w.restart(careful(w.t))
			return w.retry(ann, add, s, accept)
		}, annotary.CodeUnknownApproval},
		"without state": {func(w *world, _ string) []byte {
			return w.send(ann, noForm, add+`,"inputResponses":{"annotary/approval":`+accept+`}`)
		}, annotary.CodeApproval},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, state := w.question(w.send(ann, form, add))
			w.want(tt.try(w, state), tt.want)
			w.happened(0)
		})
	}
}

const noClient = `@id("no-client") forbid(principal, action == Action::"approve", resource) when { context.channel == "client" };`

// TestApprove_expired: a state outlives nothing.
func TestApprove_expired(t *testing.T) {
	w := newWorld(t)
	w.desk = approval.NewDesk(w.buckets[0], w.buckets[1], approval.Options{Open: time.Millisecond})
	l := *w.ladder
	l.Desk, l.Sealer = w.desk, seal.NewSealer(w.buckets[2])
	j := &gateway.Judge{Policies: careful(t), Stances: writers, Log: w.log, Ladder: &l}
	w.g.Use(j)
	_, state := w.question(w.send(ann, form, add))
	time.Sleep(5 * time.Millisecond)
	w.want(w.retry(ann, add, state, accept), annotary.CodeStateExpired)
	j.Wait()
}

// TestApprove_outside: where policy wants the yes from outside, the client is not
// asked, whatever it declares.
func TestApprove_outside(t *testing.T) {
	w := newWorld(t)
	w.want(w.send(ann, form, `"name":"drop","arguments":{}`), annotary.CodeApproval)
	w.restart(careful(t, noClient))
	w.want(w.send(ann, form, add), annotary.CodeApproval)
	u := newLegacyUser(t, w.g, "db")
	a := u.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}`)
	defer a.Close()
	if a.Stream != nil {
		t.Error("the legacy client was asked")
	}
	w.want(a.Body, annotary.CodeApproval)
}

// TestApprove_newReason: a reason that came up after the question was asked is
// asked about anew.
func TestApprove_newReason(t *testing.T) {
	w := newWorld(t)
	_, state := w.question(w.send(ann, form, add))
	w.restart(careful(t, `@id("new") @ask("each") forbid(principal, action == Action::"unattended", resource);`))
	_, next := w.question(w.retry(ann, add, state, accept))
	w.happened(0)
	w.want(w.retry(ann, add, next, accept), "")
	w.happened(1)
}

// TestApprove_upstream: a server that asks itself, after our question: one
// approval, then its questions, then the result.
func TestApprove_upstream(t *testing.T) {
	const wonder = `"name":"wonder","arguments":{}`
	w := newWorld(t)
	_, state := w.question(w.send(ann, form, wonder))
	answer := w.retry(ann, wonder, state, accept)
	states := []string{state}
	for round := range 2 {
		asks := strict.Get(answer, "result", "inputRequests")
		if text(asks, "server/q", "method") != "elicitation/create" || strict.Get(asks, "annotary/approval") != nil {
			t.Fatalf("round %d: %s", round, answer)
		}
		state = text(answer, "result", "requestState")
		if !strings.HasPrefix(state, seal.Prefix) {
			t.Fatalf("the server's state went out bare: %s", answer)
		}
		states = append(states, state)
		answer = w.send(ann, form, wonder+`,"requestState":"`+state+`","inputResponses":{"server/q":{"action":"accept"}}`)
	}
	w.want(answer, "")
	if got := w.book.did(); len(got) != 1 || got[0] != `wonder {} {"q":{"action":"accept"}}two` {
		t.Errorf("the server saw %q", got)
	}
	for i, s := range states { // the state of round 1 in round 3, and all others
		w.want(w.retry(ann, wonder, s, accept), annotary.CodeStateReplayed)
		if i == 0 {
			w.want(w.send(ann, form, wonder+`,"requestState":"`+s+`","inputResponses":{"server/q":{"action":"accept"}}`), annotary.CodeStateReplayed)
		}
	}
	w.happened(1)
	all, err := w.desk.List(t.Context(), true)
	if err != nil || len(all) != 1 || all[0].State != approval.Spent {
		t.Errorf("there were %d approvals, %v", len(all), err)
	}
}

// TestApprove_upstreamNewReason: a call that is let through stays so only while
// no new reason speaks against it.
func TestApprove_upstreamNewReason(t *testing.T) {
	const wonder = `"name":"wonder","arguments":{}`
	w := newWorld(t)
	_, state := w.question(w.send(ann, form, wonder))
	state = text(w.retry(ann, wonder, state, accept), "result", "requestState")
	w.restart(careful(t, `@id("new") @ask("each") forbid(principal, action == Action::"unattended", resource);`))
	w.want(w.send(ann, form, wonder+`,"requestState":"`+state+`","inputResponses":{"server/q":{"action":"accept"}}`),
		annotary.CodeApproval, annotary.CodeGrantSpent)
	w.happened(0)
}

// TestApprove_rounds: a call does not go back and forth for ever.
func TestApprove_rounds(t *testing.T) {
	w := newWorld(t)
	answer := w.send(ann, form, add)
	for range 10 {
		_, state := w.question(answer)
		answer = w.send(ann, form, add+`,"requestState":"`+state+`"`)
	}
	w.want(answer, annotary.CodeRounds)
	w.happened(0)
}

// TestApprove_restart: the gateway dies between question and answer; the retry
// runs once.
func TestApprove_restart(t *testing.T) {
	w := newWorld(t)
	_, state := w.question(w.send(ann, form, add))
	w.restart(careful(t))
	w.want(w.retry(ann, add, state, accept), "")
	w.restart(careful(t))
	w.want(w.retry(ann, add, state, accept), annotary.CodeStateReplayed)
	w.happened(1)
}

// TestApprove_page: a client that can open a page is sent there; that it did is no
// yes.
func TestApprove_page(t *testing.T) {
	const drop = `"name":"drop","arguments":{}`
	w := newWorld(t)
	w.ladder.Link = func(id string) string { return "https://gate.example/approvals/" + id }
	w.restart(careful(t))
	params, state := w.question(w.send(ann, page, drop))
	id := strings.TrimPrefix(text(params, "url"), "https://gate.example/approvals/")
	if text(params, "mode") != "url" || id == "" {
		t.Fatalf("asked %s", params)
	}
	done := make(chan []byte, 1)
	go func() { done <- w.retry(ann, drop, state, accept) }()
	select {
	case a := <-done:
		t.Fatalf("opening the page was a yes: %s", a)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := w.g.Answer(t.Context(), id, approval.Answer{Yes: true, By: approval.PersonOf(&ann), Channel: "page"}); err != nil {
		t.Fatal(err)
	}
	w.want(<-done, "")
	w.happened(1)
	w.ladder.Wait = 20 * time.Millisecond
	w.restart(careful(t))
	_, state = w.question(w.send(ann, page, drop))
	w.want(w.retry(ann, drop, state, accept), annotary.CodeApproval) // nobody answered in time
	w.happened(1)
}

// hold calls a tool as a legacy client and answers what it is asked.
func (u *legacyUser) hold(params, answer string) (asked, end []byte) {
	u.t.Helper()
	a := u.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + params + `}}`)
	defer a.Close()
	if a.Stream == nil {
		return nil, append([]byte(nil), a.Body...)
	}
	ctx, cancel := context.WithTimeout(u.t.Context(), 30*time.Second)
	defer cancel()
	for {
		it, err := a.Stream.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return asked, end
		case err != nil:
			u.t.Fatal(err)
		case text(it.Msg, "method") == "elicitation/create":
			asked = it.Msg
			if answer != "" {
				u.close(u.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, strict.Get(it.Msg, "id"), answer)))
			}
		case it.Final:
			end = it.Msg
		}
	}
}

// TestApprove_legacy: a legacy client is asked on the stream of its call.
func TestApprove_legacy(t *testing.T) {
	const add = `"name":"add","arguments":{"n":1}`
	for name, tt := range map[string]struct {
		answer string
		want   annotary.Code
		deeds  int
	}{
		"yes":     {`"result":{"action":"accept","content":{"scope":"once"}}`, "", 1},
		"no":      {`"result":{"action":"decline"}`, annotary.CodeApprovalNo, 0},
		"cancel":  {`"result":{"action":"cancel"}`, annotary.CodeApproval, 0},
		"error":   {`"error":{"code":-32601,"message":"cannot"}`, annotary.CodeApproval, 0},
		"silence": {"", annotary.CodeApproval, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if name == "silence" {
				w.ladder.Wait = 20 * time.Millisecond
				w.restart(careful(t))
			}
			u := newLegacyUser(t, w.g, "db")
			asked, end := u.hold(add, tt.answer)
			if !strings.Contains(text(asked, "params", "message"), "Add a note") {
				t.Errorf("asked %s", asked)
			}
			w.want(end, tt.want)
			w.happened(tt.deeds)
			if tt.deeds > 0 { // the question is over: its answer again is nothing
				u.close(u.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, strict.Get(asked, "id"), tt.answer)))
				w.happened(tt.deeds)
			}
		})
	}
}

// TestApprove_legacyCancelled: a call that its client gave up does not happen when
// somebody approves it later.
func TestApprove_legacyCancelled(t *testing.T) {
	w := newWorld(t)
	u := newLegacyUser(t, w.g, "db")
	a := u.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}`)
	defer a.Close()
	if _, err := a.Stream.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	u.close(u.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`))
	if _, err := a.Stream.Next(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.happened(0)
}

// TestApprove_predicted: what is foretold is what happens, and nothing is used up
// by asking.
func TestApprove_predicted(t *testing.T) {
	w := newWorld(t)
	foretold := func(want annotary.Code) {
		t.Helper()
		for range 2 {
			p, err := w.g.Predict(t.Context(), &gateway.Question{Principal: ann, Server: "db", Tool: "drop", Arguments: []byte(`{}`)})
			if err != nil || p.Told != want || (want == "") != (p.Yes != nil) {
				t.Errorf("foretold %q by %+v, %v, want %q", p.Told, p.Yes, err, want)
			}
		}
	}
	foretold(annotary.CodeApproval)
	refusal := w.call("drop", `{}`)
	foretold(annotary.CodeApproval)
	w.yes(refusal, approval.Scope{})
	foretold("")
	w.want(w.call("drop", `{}`), "")
	foretold(annotary.CodeApproval)
	if _, err := w.say(w.call("drop", `{}`), approval.Answer{}); err != nil {
		t.Fatal(err)
	}
	foretold(annotary.CodeApprovalNo)
}
