package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/tool"
)

// The protocol generations a server must serve.
var eras = []string{"2026-07-28", "2025-11-25"}

// connect returns a client session over HTTP, the way users come.
func connect(t *testing.T, h http.Handler, era string, header http.Header) *mcp.ClientSession {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	transport := &mcp.StreamableClientTransport{
		Endpoint:             srv.URL,
		DisableStandaloneSSE: true,
		HTTPClient:           &http.Client{Transport: headers{header}},
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type headers struct{ http.Header }

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, h.Header)
	return http.DefaultTransport.RoundTrip(r)
}

func call(t *testing.T, s *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: protocol error: %v", name, err)
	}
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			all = append(all, tc.Text)
		}
	}
	return strings.Join(all, "\n")
}

type nameIn struct {
	Name string `json:"name"`
}

type greeting struct {
	Greeting string `json:"greeting"`
}

func greet(_ context.Context, _ *tool.Call, in nameIn) (greeting, error) {
	return greeting{"Hello, " + in.Name + "."}, nil
}

var greetSpec = tool.Spec{Name: "greet", Title: "Greet", Description: "Greets a person."}

func TestIntent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		intent tool.Intent
		want   annotary.Annotations
	}{
		{"read", tool.Read(tool.Closed), annotary.PresetReadOnly},
		{"read-open", tool.Read(tool.Open), annotary.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}},
		{"write", tool.Write(tool.Closed, tool.Idempotent), annotary.PresetWrite},
		{"create", tool.Write(tool.Closed, tool.NotIdempotent), annotary.Annotations{}},
		{"delete", tool.Destroy(tool.Closed, tool.NotIdempotent), annotary.PresetDestructive},
		{"send", tool.Destroy(tool.Open, tool.NotIdempotent), annotary.Annotations{Destructive: true, OpenWorld: true}},
		{"raw", tool.Raw(annotary.PresetWrite), annotary.PresetWrite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.intent.Annotations(); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestIntent_archetypes: every archetype can be said by intent.
func TestIntent_archetypes(t *testing.T) {
	var all []annotary.Annotations
	for _, w := range []tool.World{tool.Closed, tool.Open} {
		all = append(all, tool.Read(w).Annotations())
		for _, r := range []tool.Repeat{tool.Idempotent, tool.NotIdempotent} {
			all = append(all, tool.Write(w, r).Annotations(), tool.Destroy(w, r).Annotations())
		}
	}
	for _, a := range annotary.Archetypes {
		if !slices.Contains(all, a.Annotations) {
			t.Errorf("no intent says %q: %+v", a.Name, a.Annotations)
		}
	}
}

// TestAdd_refuses: what Add does not take it refuses where it stands in the
// program, and says of which tool and why.
func TestAdd_refuses(t *testing.T) {
	type unspeakable struct{ F func() }
	type keyAside struct {
		Key tool.Keyed `json:"key"`
	}
	type rehearsalAside struct {
		Plan *tool.Rehearsal `json:"plan"`
	}
	read := tool.Read(tool.Closed)
	named := func(name string) tool.Spec {
		return tool.Spec{Name: name, Title: "Greet", Description: "Greets a person."}
	}
	for name, tt := range map[string]struct {
		add func(s *tool.Server)
		why string
	}{
		"undecided": {func(s *tool.Server) { tool.Add(s, tool.Intent{}, greetSpec, greet) }, "its hints are not decided"},
		"no-world":  {func(s *tool.Server) { tool.Add(s, tool.Read(tool.World{}), greetSpec, greet) }, "its hints are not decided"},
		"no-repeat": {func(s *tool.Server) { tool.Add(s, tool.Write(tool.Closed, tool.Repeat{}), greetSpec, greet) }, "its hints are not decided"},
		"contradicted": {func(s *tool.Server) {
			tool.Add(s, tool.Raw(annotary.Annotations{ReadOnly: true, Destructive: true}), greetSpec, greet)
		}, "contradict each other"},
		"no-title":   {func(s *tool.Server) { tool.Add(s, read, tool.Spec{Name: "greet", Description: "x"}, greet) }, "title and description are needed"},
		"no-name":    {func(s *tool.Server) { tool.Add(s, read, named(""), greet) }, "a name has 1 to 128"},
		"space":      {func(s *tool.Server) { tool.Add(s, read, named("greet me"), greet) }, `a name has 1 to 128 of A-Z a-z 0-9 _ - and dot, not ' '`},
		"slash":      {func(s *tool.Server) { tool.Add(s, read, named("greet/me"), greet) }, "not '/'"},
		"umlaut":     {func(s *tool.Server) { tool.Add(s, read, named("grüßen"), greet) }, "not 'ü'"},
		"long":       {func(s *tool.Server) { tool.Add(s, read, named(strings.Repeat("x", 129)), greet) }, "it has 129"},
		"no-handler": {func(s *tool.Server) { tool.Add[nameIn, greeting](s, read, greetSpec, nil) }, "it has no handler"},
		"no-commit":  {func(s *tool.Server) { tool.AddTwoStep[nameIn, nameIn, greeting](s, read, greetSpec, nil, greet) }, "it has no handler"},
		"web-view": {func(s *tool.Server) {
			sp := greetSpec
			sp.View = &tool.View{URI: "https://example.test/view.html", HTML: "<p>"}
			tool.Add(s, read, sp, greet)
		}, "ui://"},
		"twice": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, greet)
			tool.Add(s, read, greetSpec, greet)
		}, "there is one of that name"},
		"late": {func(s *tool.Server) {
			s.All()
			tool.Add(s, read, greetSpec, greet)
		}, "serving has begun"},
		"no-schema": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, func(context.Context, *tool.Call, unspeakable) (greeting, error) { return greeting{}, nil })
		}, "arguments: "},
		"pointer-as-arguments": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, func(context.Context, *tool.Call, *nameIn) (greeting, error) { return greeting{}, nil })
		}, "arguments: take tool_test.nameIn, not a pointer to it"},
		"anything-as-arguments": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, func(context.Context, *tool.Call, any) (greeting, error) { return greeting{}, nil })
		}, "arguments: interface {} is no JSON object"},
		"list-as-result": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, func(context.Context, *tool.Call, nameIn) ([]string, error) { return nil, nil })
		}, "result: []string is no JSON object: wrap it in a struct, or in a tool.Page"},
		"key-as-member": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, func(context.Context, *tool.Call, keyAside) (greeting, error) { return greeting{}, nil })
		}, "embed tool.Keyed"},
		"rehearsal-as-member": {func(s *tool.Server) {
			tool.Add(s, read, greetSpec, func(context.Context, *tool.Call, rehearsalAside) (greeting, error) { return greeting{}, nil })
		}, "embed tool.Rehearsal"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				p := fmt.Sprint(recover())
				if !strings.Contains(p, tt.why) || !strings.Contains(p, "tool_test.go:") || !strings.Contains(p, `tool "`) {
					t.Errorf("panicked with %q, want %q", p, tt.why)
				}
			}()
			tt.add(tool.New("x", "1", nil))
			t.Error("it was accepted")
		})
	}
}

// TestGroup_refuses: an empty scope, such as a variable nobody set, would let
// everybody in.
func TestGroup_refuses(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "scope") {
			t.Errorf("panicked with %q", p)
		}
	}()
	tool.New("x", "1", nil).Group("")
	t.Error("it was accepted")
}

// TestPointer: handlers may return a pointer, so that they can return nil beside
// an error.
func TestPointer(t *testing.T) {
	s := tool.New("x", "1", &tool.Options{Logger: slog.New(slog.DiscardHandler)})
	tool.Add(s, tool.Read(tool.Closed), greetSpec, func(_ context.Context, _ *tool.Call, in nameIn) (*greeting, error) {
		switch in.Name {
		case "":
			return nil, tool.Errorf("nobody is there")
		case "nil":
			return nil, nil
		}
		return &greeting{"Hello, " + in.Name + "."}, nil
	})
	session := connect(t, s.HTTP(), eras[0], nil)
	for name, want := range map[string]string{
		"Ada": `{"greeting":"Hello, Ada."}`, "": "nobody is there", "nil": `"Greet" was done, but its result cannot be shown`,
	} {
		if got := textOf(call(t, session, "greet", map[string]any{"name": name})); !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
	for tl, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if kind := tl.OutputSchema.(map[string]any)["type"]; kind != "object" {
			t.Errorf("the output schema is of type %v", kind)
		}
	}
}

// TestCall_zero: a handler can be tested with a Call of one's own.
func TestCall_zero(t *testing.T) {
	c := &tool.Call{}
	c.Say("Hello.")
	c.MarkUntrusted()
	if err := c.Progress(t.Context(), 1, 2, "half"); err != nil {
		t.Error(err)
	}
}

// TestWire reads what actually goes out: every hint explicit, ours under _meta,
// views in both forms.
func TestWire(t *testing.T) {
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Destroy(tool.Closed, tool.Idempotent), tool.Spec{
		Name: "cancel", Title: "Cancel", Description: "Cancels.",
		Sensitive: annotary.No, Egress: annotary.Yes,
		View: &tool.View{URI: "ui://x/cancel.html", HTML: "<p>hi</p>"},
	}, greet)
	tool.Add(s, tool.Write(tool.Open, tool.NotIdempotent), tool.Spec{
		Name: "note", Title: "Note", Description: "Notes.", AppOnly: true,
	}, greet)
	list := rawList(t, s.HTTP())
	want := []string{
		`{"destructiveHint":true,"idempotentHint":true,"openWorldHint":false,"readOnlyHint":false,"title":"Cancel"}`,
		`{"destructiveHint":false,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false,"title":"Note"}`,
	}
	wantMeta := []string{
		`{"dev.annotary/hints":{"egress":true,"sensitive":false},"ui":{"resourceUri":"ui://x/cancel.html","visibility":["model","app"]},"ui/resourceUri":"ui://x/cancel.html"}`,
		`{"ui":{"visibility":["app"]}}`,
	}
	for i, raw := range strict.Elements(list) {
		if got := string(strict.Get(raw, "annotations")); got != want[i] {
			t.Errorf("annotations %s, want %s", got, want[i])
		}
		if got := string(strict.Get(raw, "_meta")); got != wantMeta[i] {
			t.Errorf("_meta %s, want %s", got, wantMeta[i])
		}
		if got := string(strict.Get(raw, "inputSchema", "additionalProperties")); got != "false" {
			t.Errorf("unknown arguments: %s, want false", got)
		}
		parsed, err := annotary.ParseTool(raw)
		if err != nil || parsed.ModelVisible() != (i == 0) {
			t.Errorf("%s: visible %v (%v)", parsed.Name, parsed.ModelVisible(), err)
		}
		for n, stated := range parsed.Stated[:annotary.Sensitive] {
			if stated.Value() == annotary.Unknown {
				t.Errorf("%s says nothing about %s", parsed.Name, annotary.HintName(n))
			}
		}
	}
}

// rawList asks for the tools with a bare HTTP request.
func rawList(t *testing.T, h http.Handler) []byte {
	t.Helper()
	tools := strict.Get(rawAsk(t, h, "tools/list", "", nil), "tools")
	if tools == nil {
		t.Fatal("no tools")
	}
	return tools
}

// rawAsk sends a modern request without an SDK and returns its result.
func rawAsk(t *testing.T, h http.Handler, method, name string, params map[string]any) []byte {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	all := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	maps.Copy(all, params)
	body := must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all}))
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, bytes.NewReader(body)))
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw := must(io.ReadAll(res.Body))
	if _, data, ok := bytes.Cut(raw, []byte("data: ")); ok {
		raw, _, _ = bytes.Cut(data, []byte("\n"))
	}
	result := strict.Get(raw, "result")
	if result == nil {
		t.Fatalf("no result in %s", raw)
	}
	return result
}

// TestBigNumbers: a number beyond 2^53 goes out as it is.
func TestBigNumbers(t *testing.T) {
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Read(tool.Closed), greetSpec, func(context.Context, *tool.Call, nameIn) (created, error) {
		return created{1<<53 + 1}, nil
	})
	res := rawAsk(t, s.HTTP(), "tools/call", "greet", map[string]any{"name": "greet", "arguments": map[string]any{"name": "x"}})
	if got, want := string(strict.Get(res, "structuredContent")), `{"id":9007199254740993}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCall(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := tool.New("x", "1", nil)
			tool.Add(s, tool.Read(tool.Closed), greetSpec, greet)
			session := connect(t, s.HTTP(), era, nil)
			res := call(t, session, "greet", map[string]any{"name": "Ada & <co>"})
			want := `{"greeting":"Hello, Ada & <co>."}`
			structured := map[string]any{"greeting": "Hello, Ada & <co>."}
			if diff := cmp.Diff(structured, res.StructuredContent); diff != "" || textOf(res) != want || res.IsError {
				t.Errorf("got %q, want %s\n%s", textOf(res), want, diff)
			}
			for _, bad := range []any{map[string]any{}, map[string]any{"name": 1}, map[string]any{"name": "a", "Name": "b"}, map[string]any{"name": "a", "x": 1}} {
				if res := call(t, session, "greet", bad); !res.IsError || !strings.Contains(textOf(res), "schema") {
					t.Errorf("%v was accepted: %s", bad, textOf(res))
				}
			}
		})
	}
}

func TestSpec_Input(t *testing.T) {
	sp := greetSpec
	sp.Input = func(s *jsonschema.Schema) { s.Properties["name"].Enum = []any{"Ada", "Alan"} }
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Read(tool.Closed), sp, greet)
	session := connect(t, s.HTTP(), eras[0], nil)
	if res := call(t, session, "greet", map[string]any{"name": "Eve"}); !res.IsError {
		t.Error("a value outside the enumeration was accepted")
	}
	if res := call(t, session, "greet", map[string]any{"name": "Ada"}); res.IsError {
		t.Error(textOf(res))
	}
}

const secretText = "postgres://root:hunter2@db/prod"

// TestFailure: a handler that panics, one that returns a secret, one that is
// too slow. The model is told that it failed and the id under which the log has
// the rest; the server lives on.
func TestFailure(t *testing.T) {
	var log lockedBuffer
	s := tool.New("x", "1", &tool.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Timeout: 100 * time.Millisecond})
	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	for name, h := range map[string]tool.Handler[nameIn, greeting]{
		"panics":   func(context.Context, *tool.Call, nameIn) (greeting, error) { panic(secretText) },
		"errs":     func(context.Context, *tool.Call, nameIn) (greeting, error) { return greeting{}, errors.New(secretText) },
		"wire-err": func(context.Context, *tool.Call, nameIn) (greeting, error) { return greeting{}, &wireError{} },
		"slow": func(context.Context, *tool.Call, nameIn) (greeting, error) {
			<-block
			return greeting{}, nil
		},
		"wrapped": func(context.Context, *tool.Call, nameIn) (greeting, error) {
			return greeting{}, annotary.E(tool.CodeFailed, "the order is shipped", errors.New(secretText)).WithHint("return it instead")
		},
	} {
		sp := greetSpec
		sp.Name = name
		tool.Add(s, tool.Read(tool.Closed), sp, h)
	}
	tool.Add(s, tool.Read(tool.Closed), greetSpec, greet)
	for _, era := range eras {
		session := connect(t, s.HTTP(), era, nil)
		for name, want := range map[string]string{
			"panics": `"Greet" crashed`, "errs": `"Greet" failed`, "wire-err": `"Greet" failed`,
			"slow": `"Greet" took too long`, "wrapped": "the order is shipped (return it instead)",
		} {
			res := call(t, session, name, map[string]any{"name": "x"})
			text, id := textOf(res), fmt.Sprint(res.Meta[tool.MetaCall])
			if !res.IsError || !strings.HasPrefix(text, want) {
				t.Errorf("%s: %v %q, want %q", name, res.IsError, text, want)
			}
			raw, _ := json.Marshal(res)
			if strings.Contains(string(raw), "hunter2") {
				t.Errorf("%s: the secret leaked: %s", name, raw)
			}
			if name != "wrapped" && !strings.Contains(text, id) {
				t.Errorf("%s: the text has no id %s: %s", name, id, text)
			}
			if len(id) != 16 || !strings.Contains(log.String(), id) {
				t.Errorf("%s: the log does not have %q", name, id)
			}
		}
		if res := call(t, session, "greet", map[string]any{"name": "x"}); res.IsError {
			t.Error("the server did not live on")
		}
	}
	if !strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "stack") {
		t.Error("the log lacks what the operator needs")
	}
}

// TestDestructiveLog: destructive calls are logged with who made them, others
// are not.
func TestDestructiveLog(t *testing.T) {
	var log lockedBuffer
	s := tool.New("x", "1", &tool.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	drop := greetSpec
	drop.Name = "drop"
	tool.Add(s, tool.Destroy(tool.Closed, tool.Idempotent), drop, greet)
	tool.Add(s, tool.Read(tool.Closed), greetSpec, greet)
	session := connect(t, scoped(s), eras[0], http.Header{"Authorization": {"Bearer a"}})
	call(t, session, "greet", map[string]any{"name": "x"})
	if got := log.String(); got != "" {
		t.Errorf("a read was logged: %s", got)
	}
	call(t, session, "drop", map[string]any{"name": "x"})
	for _, want := range []string{`"msg":"destructive call"`, `"tool":"drop"`, `"user":"ada"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
}

// wireError looks like an error that the SDK would pass on as a protocol error.
type wireError struct{}

func (*wireError) Error() string { return secretText }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type tagged struct {
	Tags []string `json:"tags"`
}

// TestNil: what is nil in Go goes out as the empty thing its schema promises,
// wherever it stands.
func TestNil(t *testing.T) {
	s := tool.New("x", "1", nil)
	want := map[string]string{}
	shared := []tagged{{}}
	answer(s, want, "list", tagged{}, `{"tags":[]}`)
	answer(s, want, "embedded", struct{ tagged }{}, `{"tags":[]}`)
	answer(s, want, "shared", tool.Page[tagged]{Data: shared}, `{"data":[{"tags":[]}],"meta":{"hasNextPage":false,"hasPreviousPage":false}}`)
	answer(s, want, "map", struct{ M map[string]int }{}, `{"M":{}}`)
	answer(s, want, "in-map", struct{ M map[string][]string }{map[string][]string{"a": nil}}, `{"M":{"a":[]}}`)
	answer(s, want, "in-array", struct{ A [2][]string }{}, `{"A":[[],[]]}`)
	answer(s, want, "pointer", struct{ P *tagged }{}, `{"P":null}`)
	answer(s, want, "raw", struct{ R json.RawMessage }{}, `{"R":null}`)
	answer(s, want, "raw-list", struct{ R json.RawMessage }{json.RawMessage(`[null]`)}, `{"R":[null]}`)
	answer(s, want, "no-bytes", struct{ B []byte }{}, `{"B":""}`)
	answer(s, want, "bytes", struct{ B []byte }{[]byte("null")}, `{"B":"bnVsbA=="}`)
	session := connect(t, s.HTTP(), eras[0], nil)
	for name, w := range want {
		if got := textOf(call(t, session, name, map[string]any{})); got != w {
			t.Errorf("%s: got %s, want %s", name, got, w)
		}
	}
	if shared[0].Tags != nil {
		t.Error("the data that a handler returned was written to")
	}
}

// answer adds a tool that answers with out.
func answer[Out any](s *tool.Server, want map[string]string, name string, out Out, text string) {
	want[name] = text
	spec := tool.Spec{Name: name, Title: "Answer", Description: "Answers."}
	tool.Add(s, tool.Read(tool.Closed), spec, func(context.Context, *tool.Call, struct{}) (Out, error) { return out, nil })
}

func TestErrorf(t *testing.T) {
	err := tool.Errorf("order %d is shipped: %w", 7, io.EOF)
	if err.Error() != "order 7 is shipped: EOF" || !errors.Is(err, io.EOF) || annotary.CodeOf(err) != tool.CodeFailed {
		t.Errorf("got %v", err)
	}
}

// grantToken grants the scopes named in the Authorization header.
func grantToken(_ context.Context, bearer string, _ *http.Request) (*auth.TokenInfo, error) {
	return &auth.TokenInfo{Scopes: strings.FieldsFunc(bearer, func(r rune) bool { return r == '+' }), UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
}

func scoped(s *tool.Server) http.Handler {
	return auth.RequireBearerToken(grantToken, nil)(s.HTTP())
}

// TestScopes: without a scope its tools are absent, with one they are there; and
// for every set of scopes exactly what is listed can be called.
func TestScopes(t *testing.T) {
	s := tool.New("x", "1", nil)
	scopes := []string{"", "customers.read", "customers.write", "orders.read"}
	want := map[string][]string{}
	for i, scope := range scopes {
		var r tool.Registry = s
		if scope != "" {
			r = s.Group(scope)
		}
		for j := range 2 {
			sp := greetSpec
			sp.Name = fmt.Sprintf("t%d_%d", i, j)
			tool.Add(r, tool.Read(tool.Closed), sp, greet)
			want[scope] = append(want[scope], sp.Name)
		}
	}
	for mask := range 1 << (len(scopes) - 1) {
		granted := []string{"other"}
		expect := slices.Clone(want[""])
		for i, scope := range scopes[1:] {
			if mask&(1<<i) != 0 {
				granted = append(granted, scope)
				expect = append(expect, want[scope]...)
			}
		}
		header := http.Header{"Authorization": {"Bearer " + strings.Join(granted, "+")}}
		for _, era := range eras {
			session := connect(t, scoped(s), era, header)
			listed := names(t, session)
			if diff := cmp.Diff(expect, listed); diff != "" {
				t.Errorf("%v: listed (-want +got)\n%s", granted, diff)
			}
			for _, list := range want {
				for _, name := range list {
					_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"name": "x"}})
					if callable := err == nil; callable != slices.Contains(listed, name) {
						t.Errorf("%v: %s listed %v, callable %v", granted, name, slices.Contains(listed, name), callable)
					}
				}
			}
		}
	}
}

func names(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	var list []string
	for tl, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tl.Name)
	}
	slices.Sort(list)
	return list
}

// TestScopes_session: a session of an older client does not outlive the scopes
// it was begun with.
func TestScopes_session(t *testing.T) {
	s := tool.New("x", "1", nil)
	tool.Add(s.Group("a"), tool.Read(tool.Closed), greetSpec, greet)
	header := http.Header{"Authorization": {"Bearer a"}}
	session := connect(t, scoped(s), eras[1], header)
	if got := names(t, session); len(got) != 1 {
		t.Fatalf("listed %v", got)
	}
	header.Set("Authorization", "Bearer b") // the token was narrowed
	if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "x"}}); err == nil {
		t.Errorf("the old session still calls: %s", textOf(res))
	}
}

// TestScopes_private: a list that depends on who asks must not be shared.
func TestScopes_private(t *testing.T) {
	s := tool.New("x", "1", nil)
	tool.Add(s.Group("a"), tool.Read(tool.Closed), greetSpec, greet)
	session := connect(t, scoped(s), eras[0], http.Header{"Authorization": {"Bearer a"}})
	res, err := session.ListTools(t.Context(), nil)
	if err != nil || res.CacheScope != "private" {
		t.Errorf("the scope is %q (%v), want private", res.CacheScope, err)
	}
}

func TestLimit(t *testing.T) {
	type item struct {
		Name string `json:"name"`
	}
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Read(tool.Closed), greetSpec, func(context.Context, *tool.Call, nameIn) (tool.Page[item], error) {
		p := tool.Page[item]{Meta: tool.PageMeta{Cursor: "c", HasNextPage: true}}
		for range 2000 {
			p.Data = append(p.Data, item{"\x1b[31m" + strings.Repeat("x", 30)})
		}
		return p, nil
	})
	res := call(t, connect(t, s.HTTP(), eras[0], nil), "greet", map[string]any{"name": "x"})
	var got tool.Page[item]
	if err := json.Unmarshal([]byte(textOf(res)), &got); err != nil {
		t.Fatal(err)
	}
	want := tool.PageMeta{Cursor: "c", HasNextPage: true, Truncated: true}
	if len(textOf(res)) > 25_000 || len(got.Data) < 400 || got.Meta != want || strings.Contains(got.Data[0].Name, "\x1b") {
		t.Errorf("%d characters, %d items, meta %+v", len(textOf(res)), len(got.Data), got.Meta)
	}
	structured, _ := json.Marshal(res.StructuredContent)
	if a, _ := strict.Sum(structured); fmt.Sprint(a) != fmt.Sprint(must(strict.Sum([]byte(textOf(res))))) {
		t.Error("text and structured content disagree")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestEmptyList(t *testing.T) {
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Read(tool.Closed), greetSpec, func(context.Context, *tool.Call, nameIn) (tool.Page[greeting], error) {
		return tool.Page[greeting]{}, nil
	})
	res := call(t, connect(t, s.HTTP(), eras[0], nil), "greet", map[string]any{"name": "x"})
	if want := `{"data":[],"meta":{"hasNextPage":false,"hasPreviousPage":false}}`; textOf(res) != want {
		t.Errorf("got %s, want %s", textOf(res), want)
	}
}

func TestLabels(t *testing.T) {
	s := tool.New("x", "1", nil)
	mail := greetSpec
	mail.Name, mail.Sensitive, mail.Untrusted = "mail", annotary.Yes, annotary.Yes
	tool.Add(s, tool.Read(tool.Closed), mail, greet)
	tool.Add(s, tool.Read(tool.Closed), greetSpec, func(ctx context.Context, c *tool.Call, in nameIn) (greeting, error) {
		if in.Name == "stranger" {
			c.MarkUntrusted()
		}
		return greet(ctx, c, in)
	})
	session := connect(t, s.HTTP(), eras[1], nil)
	for _, tt := range []struct {
		tool, name string
		want       any
	}{
		{"mail", "x", map[string]any{"sensitive": true, "untrusted": true}},
		{"greet", "stranger", map[string]any{"untrusted": true}},
		{"greet", "friend", nil},
	} {
		got := call(t, session, tt.tool, map[string]any{"name": tt.name}).Meta[tool.MetaTrust]
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got)\n%s", tt.tool, tt.name, diff)
		}
	}
}

type steps struct {
	tool.Rehearsal
	Steps int `json:"steps"`
}

// TestProgress: progress reaches who asked, a dry run is marked, and a client
// that cancels stops the work, in both generations.
func TestProgress(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			stopped := make(chan int, 1)
			s := tool.New("x", "1", nil)
			tool.Add(s, tool.Destroy(tool.Closed, tool.NotIdempotent), greetSpec, func(ctx context.Context, c *tool.Call, in steps) (tool.Nothing, error) {
				for i := range in.Steps {
					if err := c.Progress(ctx, i, in.Steps, fmt.Sprint("step ", i)); err != nil {
						stopped <- i
						return tool.Nothing{}, err
					}
					time.Sleep(time.Millisecond)
				}
				c.Say("%d steps", in.Steps)
				return tool.Nothing{}, nil
			})
			srv := httptest.NewServer(s.HTTP())
			defer srv.Close()
			messages := make(chan string, 10_000)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { messages <- r.Params.Message },
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			params := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"steps": 3, "dryRun": true}}
			params.SetProgressToken("p")
			res, err := session.CallTool(t.Context(), params)
			if err != nil || textOf(res) != "[DRY RUN] 3 steps" {
				t.Fatalf("%v, %v", res, err)
			}
			if got := <-messages; got != "[DRY RUN] step 0" {
				t.Errorf("progress %q", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			params = &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"steps": 20_000}}
			params.SetProgressToken("q")
			go func() {
				for m := range messages {
					if m == "step 5" {
						cancel()
						return
					}
				}
			}()
			if _, err := session.CallTool(ctx, params); err == nil {
				t.Error("a cancelled call gave a result")
			}
			select {
			case at := <-stopped:
				if at >= 20_000-1 {
					t.Errorf("stopped at %d", at)
				}
			case <-time.After(60 * time.Second):
				t.Error("the work went on")
			}
		})
	}
}

func TestView(t *testing.T) {
	s := tool.New("x", "1", nil)
	sp := greetSpec
	sp.View = &tool.View{URI: "ui://x/v.html", Title: "V", HTML: "<p>hi</p>", Connect: []string{"https://api.example.test"}}
	tool.Add(s, tool.Read(tool.Closed), sp, greet)
	session := connect(t, s.HTTP(), eras[1], nil)
	res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://x/v.html"})
	if err != nil {
		t.Fatal(err)
	}
	c := res.Contents[0]
	if c.MIMEType != "text/html;profile=mcp-app" || c.Text != "<p>hi</p>" {
		t.Errorf("got %+v", c)
	}
	want := map[string]any{"csp": map[string]any{"connectDomains": []any{"https://api.example.test"}}}
	if diff := cmp.Diff(want, c.Meta["ui"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAttach: pictures pass whole, beside a long text.
func TestAttach(t *testing.T) {
	s := tool.New("x", "1", &tool.Options{Limit: 300})
	picture := bytes.Repeat([]byte{7}, 5000)
	tool.Add(s, tool.Read(tool.Closed), greetSpec, func(_ context.Context, c *tool.Call, in nameIn) (tool.Nothing, error) {
		c.Say("%s", strings.Repeat("x", 1000))
		c.Attach(&mcp.ImageContent{Data: picture, MIMEType: "image/png"})
		return tool.Nothing{}, nil
	})
	res := call(t, connect(t, s.HTTP(), eras[0], nil), "greet", map[string]any{"name": "x"})
	img, ok := res.Content[1].(*mcp.ImageContent)
	if !ok || !bytes.Equal(img.Data, picture) || len(textOf(res)) > 310 {
		t.Errorf("got %d parts, text of %d", len(res.Content), len(textOf(res)))
	}
}
