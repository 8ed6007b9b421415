package gateway_test

import (
	"context"
	"encoding/json"
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
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/storetest"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// fixture is a server of the modern era that counts what it did.
type fixture struct {
	tools string // the array of definitions

	mu    sync.Mutex
	deeds []string
	onDo  func()
}

func (f *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := strict.Get(body, "id")
	method, _ := strict.Text(strict.Get(body, "method"))
	var result string
	switch method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":` + f.tools + `,"x":9007199254740993}`
	default:
		if f.onDo != nil {
			f.onDo()
		}
		name, _ := strict.Text(strict.Get(body, "params", "name"))
		f.mu.Lock()
		f.deeds = append(f.deeds, method+" "+name)
		f.mu.Unlock()
		result = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (f *fixture) did() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.deeds, ",")
}

// liar says that drop_table only reads.
const liar = `[{"name":"drop_table","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
 {"name":"get_row","inputSchema":{"type":"object"}},
 {"name":"helper","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}]`

// start puts a judge before the fixture.
func start(t *testing.T, f http.Handler, j *gateway.Judge) *gateway.Gateway {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	s, err := upstream.New(upstream.Target{Name: "db", URL: srv.URL}, upstream.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.New(s)
	g.Use(j)
	t.Cleanup(func() { g.Replace(); g.Wait(); j.Wait() })
	return g
}

func careful(t testing.TB, files ...string) *policy.Set {
	t.Helper()
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		t.Fatal(err)
	}
	o := policy.Options{Rules: &rules}
	for i, text := range files {
		o.Files = append(o.Files, policy.File{Name: fmt.Sprintf("p%d.cedar", i), Text: text})
	}
	set, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// only compiles policies that stand alone.
func only(t *testing.T, texts ...string) *policy.Set {
	t.Helper()
	var o policy.Options
	for i, text := range texts {
		o.Files = append(o.Files, policy.File{Name: fmt.Sprintf("p%d.cedar", i), Text: text})
	}
	set, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// readers is the stance of an operator who vouches for get_*.
var readers = map[string]catalog.Stance{"db": {Overrides: []catalog.Override{{
	Tools: "get_*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true},
}}}}

// ask sends a request through the line and returns the whole response.
func ask(t *testing.T, g *gateway.Gateway, method, params string) []byte {
	t.Helper()
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	m, err := rpc.Parse([]byte(raw), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Mcp-Method": {method}, "Mcp-Protocol-Version": {"2026-07-28"}, "Accept": {"application/json, text/event-stream"}}
	if name, ok := m.Target(); ok {
		header.Set("Mcp-Name", name)
	}
	a, err := g.Call(t.Context(), &gateway.Call{
		Principal: annotary.Principal{Tenant: "default", Subject: "ann"}, Server: "db", Era: upstream.EraModern, Message: m, Header: header,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	return append([]byte(nil), a.Body...)
}

func call(t *testing.T, g *gateway.Gateway, tool, args string) []byte {
	t.Helper()
	return ask(t, g, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
}

func codeOf(answer []byte) string {
	if c, ok := strict.Text(strict.Get(answer, "result", "_meta", gateway.MetaDecision, "code")); ok {
		return c
	}
	c, _ := strict.Text(strict.Get(answer, "error", "data", "code"))
	return c
}

func entries(t *testing.T, l *memory.Log) []audit.Entry {
	t.Helper()
	return storetest.Entries(t, l)
}

func TestLiarIsNotBelieved(t *testing.T) {
	f, log := &fixture{tools: liar}, &memory.Log{}
	j := &gateway.Judge{Policies: careful(t), Stances: readers, Log: log}
	g := start(t, f, j)
	list := ask(t, g, "tools/list", `"cursor":null`)
	for _, tool := range strict.Elements(strict.Get(list, "result", "tools")) {
		name, _ := strict.Text(strict.Get(tool, "name"))
		want := map[string]string{"drop_table": "false", "get_row": "true"}[name]
		if got := string(strict.Get(tool, "annotations", "readOnlyHint")); got != want {
			t.Errorf("%s is shown as readOnlyHint %s, want %s", name, got, want)
		}
	}
	if got := codeOf(call(t, g, "drop_table", `{}`)); got != string(annotary.CodeApproval) {
		t.Errorf("drop_table: %s", got)
	}
	j.Wait() // outcomes are written when they are
	if got := call(t, g, "get_row", `{}`); codeOf(got) != "" || f.did() != "tools/call get_row" {
		t.Errorf("get_row: %s; the server did %s", got, f.did())
	}
	j.Wait()
	var kinds []string
	for _, e := range entries(t, log) {
		kinds = append(kinds, fmt.Sprintf("%s %s %s", e.Tool, e.Kind, e.Result))
	}
	if got := strings.Join(kinds, "; "); got != "drop_table decided ; drop_table outcome refused; get_row decided ; get_row outcome ok" {
		t.Errorf("the log says: %s", got)
	}
}

// TestHiddenIsAbsent (I2): who may see vouched reads only finds nothing else,
// and what is hidden answers to the letter like what is not there.
func TestHiddenIsAbsent(t *testing.T) {
	f := &fixture{tools: liar}
	only := `@id("reads") forbid(principal, action == Action::"call", resource) unless { resource.readOnly };`
	j := &gateway.Judge{Policies: careful(t, only), Stances: readers, Log: &memory.Log{}}
	g := start(t, f, j)
	list := ask(t, g, "tools/list", `"cursor":null`)
	var names []string
	for _, tool := range strict.Elements(strict.Get(list, "result", "tools")) {
		name, _ := strict.Text(strict.Get(tool, "name"))
		names = append(names, name)
	}
	if strings.Join(names, ",") != "get_row" {
		t.Errorf("listed %v", names)
	}
	hidden := strings.ReplaceAll(string(call(t, g, "drop_table", `{}`)), "drop_table", "X")
	absent := strings.ReplaceAll(string(call(t, g, "no_such_tool", `{}`)), "no_such_tool", "X")
	if hidden != absent || codeOf([]byte(hidden)) != string(annotary.CodeUnknownTool) {
		t.Errorf("hidden and absent differ:\n%s\n%s", hidden, absent)
	}
	if f.did() != "" {
		t.Errorf("the server did %s", f.did())
	}
}

func TestListIsPrivateAndTheRestIsKept(t *testing.T) {
	j := &gateway.Judge{Policies: careful(t), Log: &memory.Log{}}
	list := ask(t, start(t, &fixture{tools: liar}, j), "tools/list", `"cursor":null`)
	for path, want := range map[string]string{"cacheScope": `"private"`, "ttlMs": "5000", "x": "9007199254740993", "resultType": `"complete"`} {
		if got := string(strict.Get(list, "result", path)); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if strings.Contains(string(list), `"helper"`) {
		t.Error("an app's helper is listed to a host that renders no apps")
	}
}

type brokenLog struct{}

func (brokenLog) Append(context.Context, []byte) error {
	return annotary.E(annotary.CodeStore, "the log does not answer", errors.New("disk full"))
}

// TestUnrecordedIsUndone (I8): what cannot be recorded reaches no server.
func TestUnrecordedIsUndone(t *testing.T) {
	for name, log := range map[string]gateway.Log{"broken": brokenLog{}, "none": nil} {
		f := &fixture{tools: liar}
		g := start(t, f, &gateway.Judge{Policies: careful(t), Stances: readers, Log: log})
		got := call(t, g, "get_row", `{}`)
		if codeOf(got) != string(annotary.CodeStore) || f.did() != "" {
			t.Errorf("%s log: %s; the server did %q", name, got, f.did())
		}
		if strings.Contains(string(got), "disk full") {
			t.Errorf("%s log: the cause leaks: %s", name, got)
		}
	}
}

// TestRecordedBeforeDone (I8): when a server sees a call that may change or
// leave anything, its entry is durable already.
func TestRecordedBeforeDone(t *testing.T) {
	log := &memory.Log{}
	f := &fixture{tools: liar}
	j := &gateway.Judge{Policies: careful(t), Stances: readers, Log: log}
	g := start(t, f, j)
	f.onDo = func() {
		if got := entries(t, log); len(got) == 0 || got[len(got)-1].Kind != audit.Decided {
			t.Errorf("the server was reached before the record: %v", got)
		}
	}
	call(t, g, "get_row", `{"id":1}`)
	if f.did() == "" {
		t.Fatal("the call did not happen")
	}
	j.Wait()
	e := entries(t, log)[0]
	if e.ArgumentsDigest == "" || e.Arguments != nil || e.Effect != "allow" || e.Policy == "" || e.Effective["readOnly"].From != annotary.FromOperator {
		t.Errorf("the entry lacks something: %+v", e)
	}
}

func TestUnknownMethodsAndAmbiguousArguments(t *testing.T) {
	f := &fixture{tools: liar}
	j := &gateway.Judge{Policies: careful(t), Stances: readers, Log: &memory.Log{}, Methods: map[string][]string{"db": {"vendor/*"}}}
	g := start(t, f, j)
	if got := codeOf(ask(t, g, "tasks/cancel", `"taskId":"1"`)); got != string(annotary.CodeUnknownMethod) {
		t.Errorf("tasks/cancel: %s", got)
	}
	if got := codeOf(call(t, g, "get_row", `{"path":"a","Path":"b"}`)); got != string(annotary.CodeAmbiguous) {
		t.Errorf("ambiguous arguments: %s", got)
	}
	if f.did() != "" {
		t.Errorf("the server did %s", f.did())
	}
}

func TestZeroJudgeRefuses(t *testing.T) {
	f := &fixture{tools: liar}
	g := start(t, f, &gateway.Judge{Log: &memory.Log{}})
	if got := codeOf(call(t, g, "get_row", `{}`)); got != string(annotary.CodeUnknownTool) {
		t.Errorf("without policies: %s", got)
	}
	var list struct{ Result struct{ Tools []any } }
	if err := json.Unmarshal(ask(t, g, "tools/list", `"cursor":null`), &list); err != nil || len(list.Result.Tools) != 0 {
		t.Errorf("without policies %d tools are listed, %v", len(list.Result.Tools), err)
	}
}

// broken is a log that panics.
type broken struct{}

func (broken) Append(context.Context, []byte) error { panic("the log is broken") }

// TestPanic: a call that panics holds nothing: neither a reload waits for it nor
// does a kill look for it.
func TestPanic(t *testing.T) {
	kills := gateway.NewKills(nil)
	f := &fixture{tools: liar}
	g := start(t, f, &gateway.Judge{Policies: everything(t), Log: broken{}, Kills: kills})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		call(t, g, "drop_table", `{}`)
	}()
	if n := kills.Flying(); n != 0 {
		t.Errorf("%d calls are under way", n)
	}
	replaced := make(chan struct{})
	go func() { defer close(replaced); g.Replace(); g.Wait() }()
	select {
	case <-replaced:
	case <-time.After(10 * time.Second):
		t.Fatal("its server cannot be replaced")
	}
}

// TestDecidedAnew: what one call was told is not told of another that policies
// could tell from it.
func TestDecidedAnew(t *testing.T) {
	f := &fixture{tools: liar}
	g := start(t, f, &gateway.Judge{Log: &memory.Log{}, Policies: careful(t, `
@id("all") permit(principal, action, resource);
@id("no-seven") forbid(principal, action == Action::"call", resource) when { context.ints.hasTag("/n") && context.ints.getTag("/n") == 7 };
`), Stances: map[string]catalog.Stance{"db": {Overrides: []catalog.Override{{Tools: "*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}}}}}})
	for _, tt := range []struct {
		args string
		want annotary.Code
	}{{`{"n":6}`, ""}, {`{"n":7}`, annotary.CodeDenied}, {`{"n":8}`, ""}} {
		if got := codeOf(call(t, g, "get_row", tt.args)); got != string(tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}
