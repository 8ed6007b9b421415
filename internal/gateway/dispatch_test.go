package gateway_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// office is a gateway before two servers of the modern era and a judge.
type office struct {
	t     *testing.T
	g     *gateway.Gateway
	j     *gateway.Judge
	log   *memory.Log
	files *fixture
	db    *fixture
	read  uint64 // how much of the log was read
}

func newOffice(t *testing.T, j *gateway.Judge, db, files string) *office {
	t.Helper()
	o := &office{t: t, j: j, log: &memory.Log{}, db: &fixture{tools: db}, files: &fixture{tools: files}}
	j.Log = o.log
	var servers []*upstream.Server
	for name, f := range map[string]*fixture{"db": o.db, "files": o.files} {
		srv := httptest.NewServer(f)
		t.Cleanup(srv.Close)
		s, err := upstream.New(upstream.Target{Name: name, URL: srv.URL}, upstream.ServerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	o.g = gateway.New(servers...)
	o.g.Use(j)
	t.Cleanup(func() { o.g.Replace(); o.g.Wait(); j.Wait() })
	return o
}

// do sends a modern request of somebody whose host renders apps or not.
func (o *office) do(who annotary.Principal, apps bool, server, method, params string) []byte {
	o.t.Helper()
	capabilities := `{}`
	if apps {
		capabilities = `{"extensions":{"io.modelcontextprotocol/ui":{}}}`
	}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, capabilities)
	m, err := rpc.Parse([]byte(raw), strict.Limits{})
	if err != nil {
		o.t.Fatal(err)
	}
	a, err := o.g.Call(o.t.Context(), &gateway.Call{Principal: who, Server: server, Era: upstream.EraModern, Message: m})
	if err != nil {
		o.t.Fatalf("%s: %v", raw, err)
	}
	defer a.Close()
	return append([]byte(nil), a.Body...)
}

// tool calls one of the tools at /mcp/find.
func (o *office) tool(who annotary.Principal, name, args string) []byte {
	o.t.Helper()
	return o.do(who, false, gateway.Find, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, name, args))
}

func (o *office) did() string { return o.db.did() + "|" + o.files.did() }

func namesAt(list []byte, key string) []string {
	var names []string
	for _, t := range strict.Elements(list) {
		names = append(names, text(t, key))
	}
	return names
}

const fileTools = `[{"name":"read_file","description":"Read a file.","inputSchema":{"type":"object"}},
 {"name":"write_file","description":"Write a file.","inputSchema":{"type":"object"}},
 {"name":"render","description":"Render a file.","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}]`

// classes is the stance of an operator who has sorted all tools.
var classes = map[string]catalog.Stance{
	"db":    {Overrides: []catalog.Override{{Tools: "get_*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}}}},
	"files": {Overrides: []catalog.Override{{Tools: "read_*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}}, {Tools: "write_*", Hints: map[annotary.HintName]bool{annotary.Destructive: false}}}},
}

func permitAll(t *testing.T, files ...string) *gateway.Judge {
	t.Helper()
	o := policy.Options{Files: []policy.File{{Name: "all.cedar", Text: `@id("all") permit(principal, action, resource);`}}}
	for i, text := range files {
		o.Files = append(o.Files, policy.File{Name: fmt.Sprintf("p%d.cedar", i), Text: text})
	}
	set, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &gateway.Judge{Policies: set, Stances: classes}
}

// TestDispatch: what is found can be described and called by its door, and goes
// down the same line to the server.
func TestDispatch(t *testing.T) {
	o := newOffice(t, &gateway.Judge{Policies: careful(t), Stances: classes}, liar, fileTools)
	list := o.do(ann, false, gateway.Find, "tools/list", "")
	if got := strings.Join(namesAt(strict.Get(list, "result", "tools"), "name"), ","); got != "find_tools,describe_tool,call_read,call_write,call_destructive" {
		t.Errorf("the endpoint lists %s", got)
	}
	found := o.tool(ann, "find_tools", `{"query":"read a file","max":1}`)
	hits := strict.Get(found, "result", "structuredContent", "tools")
	if got := strings.Join(namesAt(hits, "tool"), ","); got != "files/read_file" || namesAt(hits, "call_by")[0] != "call_read" {
		t.Errorf("found %s", hits)
	}
	about := o.tool(ann, "describe_tool", `{"tool":"files/read_file"}`)
	if got := string(strict.Get(about, "result", "structuredContent", "definition", "annotations", "readOnlyHint")); got != "true" {
		t.Errorf("described as %s", about)
	}
	if got := o.tool(ann, "call_read", `{"tool":"files/read_file","arguments":{"path":"x"}}`); codeOf(got) != "" || o.files.did() != "tools/call read_file" {
		t.Errorf("called: %s; the server did %s", got, o.files.did())
	}
	if got := codeOf(o.tool(ann, "call_destructive", `{"tool":"db/drop_table"}`)); got != string(annotary.CodeApproval) {
		t.Errorf("drop_table: %s", got)
	}
}

// TestDoors: nothing passes by a door that is better than it.
func TestDoors(t *testing.T) {
	o := newOffice(t, permitAll(t), liar, fileTools)
	for tool, right := range map[string]int{"files/read_file": 0, "files/write_file": 1, "db/drop_table": 2} {
		for i, door := range []string{"call_read", "call_write", "call_destructive"} {
			before := o.did()
			got := o.tool(ann, door, fmt.Sprintf(`{"tool":%q}`, tool))
			passed := o.did() != before
			if passed != (i >= right) || (codeOf(got) == string(annotary.CodeDoor)) == passed {
				t.Errorf("%s by %s: passed %v, %s", tool, door, passed, got)
			}
			if want := []string{"call_read", "call_write", "call_destructive"}[right]; !passed && !strings.Contains(string(got), "call it by "+want) {
				t.Errorf("%s by %s: the right door is not named: %s", tool, door, got)
			}
		}
	}
}

// TestDoorsAreTrue (I5): each of the endpoint's tools says all four, with who
// vouches.
func TestDoorsAreTrue(t *testing.T) {
	o := newOffice(t, permitAll(t), liar, fileTools)
	want := map[string]string{ // read-only, destructive, idempotent, open
		"find_tools": "true false true false", "describe_tool": "true false true false",
		"call_read": "true false true true", "call_write": "false false false true", "call_destructive": "false true false true",
	}
	for _, tool := range strict.Elements(strict.Get(o.do(ann, false, gateway.Find, "tools/list", ""), "result", "tools")) {
		var says []string
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			says = append(says, string(strict.Get(tool, "annotations", hint)))
		}
		if name := text(tool, "name"); strings.Join(says, " ") != want[name] || strict.Get(tool, "_meta", annotary.MetaHints) == nil {
			t.Errorf("%s says %v", name, says)
		}
	}
}

// TestHiddenFromFind: who may not see a tool gets the same answers as where it is
// not there at all, to the byte.
func TestHiddenFromFind(t *testing.T) {
	hide := `@id("no-db") forbid(principal, action == Action::"see", resource in Server::"db");`
	with := newOffice(t, permitAll(t, hide), `[{"name":"read_files_fast","description":"Read a file, file, file.","inputSchema":{"type":"object"}}]`, fileTools)
	without := newOffice(t, permitAll(t, hide), `[]`, fileTools)
	for name, args := range map[string][]string{
		"find_tools":       {`{}`, `{"query":"read a file"}`, `{"query":"read_files_fast"}`, `{"query":"file","max":1}`, `{"query":"render"}`},
		"describe_tool":    {`{"tool":"db/read_files_fast"}`, `{"tool":"files/render"}`, `{"tool":"nobody/x"}`, `{"tool":"x"}`, `{}`},
		"call_destructive": {`{"tool":"db/read_files_fast"}`, `{"tool":"files/render"}`, `{"tool":"nobody/x"}`, `{}`},
	} {
		answers := map[string]bool{}
		for _, a := range args {
			got := string(with.tool(ann, name, a))
			if other := string(without.tool(ann, name, a)); got != other {
				t.Errorf("%s %s: with a hidden tool\n%s\nwithout\n%s", name, a, got, other)
			}
			if strings.Contains(got, "files_fast") || strings.Contains(got, "render") {
				t.Errorf("%s %s: %s", name, a, got)
			}
			answers[got] = true
		}
		if name != "find_tools" && len(answers) != 1 {
			t.Errorf("%s tells absent and hidden tools apart: %v", name, answers)
		}
	}
}

// TestFindNamesTheRest: what a search left out is named as the calling tools want
// it, with its server.
func TestFindNamesTheRest(t *testing.T) {
	same := `[{"name":"read_file","description":"Read a file.","inputSchema":{"type":"object"}}]`
	o := newOffice(t, permitAll(t), same, same)
	got := o.tool(ann, "find_tools", `{"query":"read_file","max":1}`)
	shown, _ := strict.Text(strict.At(got, "/result/structuredContent/tools/0/tool"))
	rest, _ := strict.Text(strict.At(got, "/result/structuredContent/hidden/0/names/0"))
	if both := []string{shown, rest}; !slices.Contains(both, "db/read_file") || !slices.Contains(both, "files/read_file") {
		t.Errorf("shown and left out: %q: %s", both, got)
	}
}

// TestFindFollowsTheCatalogue: an index is as new as what servers told.
func TestFindFollowsTheCatalogue(t *testing.T) {
	o := newOffice(t, permitAll(t), liar, fileTools)
	if got := o.tool(ann, "find_tools", `{"query":"summarise"}`); strings.Contains(string(got), "summarise_text") {
		t.Fatal(string(got))
	}
	o.db.tools = `[{"name":"summarise_text","description":"Summarise a text.","inputSchema":{"type":"object"}}]`
	o.do(ann, false, "db", "tools/list", "") // some client asks
	if got := o.tool(ann, "find_tools", `{"query":"summarise"}`); !strings.Contains(string(got), "db/summarise_text") {
		t.Errorf("after a new list: %s", got)
	}
}

// TestFindWithoutJudge: nothing is dispatched where nothing is judged.
func TestFindWithoutJudge(t *testing.T) {
	o := newOffice(t, permitAll(t), liar, fileTools)
	o.g.Use(nil)
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.g.Call(t.Context(), &gateway.Call{Server: gateway.Find, Message: m}); annotary.CodeOf(err) != gateway.CodeUnjudged {
		t.Errorf("without a judge: %v", err)
	}
}

// TestDispatchAcrossEras: a client of either era reaches servers of both.
func TestDispatchAcrossEras(t *testing.T) {
	o := newOffice(t, permitAll(t), liar, fileTools)
	old := &scripted{results: map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"read_old","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"old deed"}]}`,
	}}
	srv := httptest.NewServer(old)
	t.Cleanup(srv.Close)
	s, err := upstream.New(upstream.Target{Name: "old", URL: srv.URL}, upstream.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	servers := []*upstream.Server{s}
	for _, other := range o.g.Servers() {
		servers = append(servers, other)
	}
	o.g.Replace(servers...)

	for range 2 {
		got := o.tool(ann, "call_destructive", `{"tool":"old/read_old"}`)
		if !strings.Contains(string(got), "old deed") || text(got, "result", "resultType") != "complete" {
			t.Errorf("modern to legacy: %s", got)
		}
	}
	if got := old.got("tools/call"); got != 2 {
		t.Errorf("the legacy server was called %d times", got)
	}
	opened := old.got("initialize")
	u := newLegacyUser(t, o.g, gateway.Find)
	for _, tool := range []string{"old/read_old", "files/read_file"} {
		a := u.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"call_destructive","arguments":{"tool":"` + tool + `"}}}`)
		if got := string(a.Body); !strings.Contains(got, "deed") && !strings.Contains(got, "done") {
			t.Errorf("legacy to %s: %s", tool, got)
		}
		a.Close()
	}
	if got := old.got("initialize"); got != opened+1 {
		t.Errorf("%d sessions were opened for one client", got-opened)
	}
	o.g.End(t.Context(), u.s)
}

// TestDescribe_barred: of a server that is for others nobody learns that it is
// there, not even when it cannot be asked.
func TestDescribe_barred(t *testing.T) {
	j := permitAll(t)
	j.Profiles = []gateway.Profile{{Name: "ops", Users: []string{"bob"}, Servers: []string{"db"}}}
	o := newOffice(t, j, `no list`, fileTools)
	for _, tool := range []string{"db/get_row", "none/get_row"} {
		if got := o.tool(ann, "describe_tool", fmt.Sprintf(`{"tool":%q}`, tool)); codeOf(got) != string(annotary.CodeUnknownTool) {
			t.Errorf("%s: %s", tool, got)
		}
	}
}
