package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// TestRefusals sends what must not pass. The upstream asserts that it did not.
func TestRefusals(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("the upstream got %s %s", r.Method, body)
	}))
	defer up.Close()
	g := start(t, wire.Options{MaxBody: 4096, MaxDepth: 16},
		server(t, upstream.Target{Name: "web", URL: up.URL}, upstream.ServerOptions{}),
		command(t, "pipe", upstream.ServerOptions{}))
	call := modernCall("echo")
	for _, tt := range []struct {
		name   string
		body   string
		header []string
		status int
		want   string
	}{
		{"batch", "[" + call + "]", nil, 400, "-32600"},
		{"not json", "{", nil, 400, "-32700"},
		{"trailing", call + "{}", nil, 400, "-32700"},
		{"invalid UTF-8", strings.Replace(call, "c-1", "\xff", 1), nil, 400, "-32700"},
		{"duplicate key", strings.Replace(call, `"id"`, `"id":1,"id"`, 1), nil, 400, "same key"},
		{"duplicate key by escape", strings.Replace(call, `"id"`, `"i\u0064":1,"id"`, 1), nil, 400, "same key"},
		{"another case", strings.Replace(call, `"id"`, `"Method":"x","id"`, 1), nil, 400, "only in case"},
		{"another case inside", strings.Replace(call, `"name"`, `"Name":"x","name"`, 1), nil, 400, "only in case"},
		{"too deep", strings.Replace(call, `"c-1"`, strings.Repeat("[", 20)+strings.Repeat("]", 20), 1), nil, 400, "nested too deeply"},
		{"too large", strings.Replace(call, "c-1", strings.Repeat("x", 5000), 1), nil, 413, "too_large"},
		{"no version", strings.Replace(call, `"2.0"`, `"1.0"`, 1), nil, 400, "-32600"},
		{"header names another method", call, []string{rpc.HeaderMethod, "tools/list"}, 400, "-32020"},
		{"header names no method", call, []string{rpc.HeaderMethod, ""}, 400, "-32020"},
		{"header names another tool", call, []string{rpc.HeaderName, "echo2"}, 400, "-32020"},
		{"header is not base64", call, []string{rpc.HeaderName, "=?base64?%%?="}, 400, "-32020"},
		{"header of another era", call, []string{rpc.HeaderVersion, "2025-11-25"}, 400, "-32020"},
		{"header without version", call, []string{rpc.HeaderVersion, ""}, 400, "-32020"},
		{"body of another era", legacyCall("echo"), []string{rpc.HeaderVersion, "2026-07-28", rpc.HeaderMethod, "tools/call", rpc.HeaderName, "echo"}, 400, "-32602"},
		{"no capabilities", strings.Replace(call, "clientCapabilities", "other", 1), nil, 400, "-32602"},
		{"version of the future", strings.ReplaceAll(call, "2026-07-28", "2030-01-01"), nil, 400, "-32022"},
		{"response of the modern era", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{rpc.HeaderVersion, "2026-07-28"}, 400, "-32600"},
		{"response without a session", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, "session_required"},
		{"unknown session", legacyCall("echo"), []string{rpc.HeaderSession, "nobody"}, 404, "unknown_session"},
		{"foreign origin", call, []string{"Origin", "https://evil.example"}, 403, "origin"},
		{"not application/json", call, []string{"Content-Type", "text/plain"}, 415, "application/json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := g.post("web", tt.body, tt.header...)
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s, want %d %s", status, body, tt.status, tt.want)
			}
		})
	}
	t.Run("unknown server", func(t *testing.T) {
		if status, body := g.post("nobody", call); status != 404 || !strings.Contains(body, "unknown_server") {
			t.Errorf("got %d %s", status, body)
		}
	})
	t.Run("command without a session", func(t *testing.T) {
		if status, body := g.post("pipe", legacyCall("echo")); status != 400 || !strings.Contains(body, "session_required") {
			t.Errorf("got %d %s", status, body)
		}
	})
	t.Run("host", func(t *testing.T) {
		req := g.request(t.Context(), "web", call)
		req.Host = "rebound.example"
		if status := g.status(req); status != 403 {
			t.Errorf("got %d, want 403", status)
		}
	})
}

func (g *gate) status(req *http.Request) int {
	g.t.Helper()
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestMethods checks GET and DELETE: they exist for legacy sessions only.
func TestMethods(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	id := g.open("pipe")
	for _, tt := range []struct {
		method  string
		session string
		version string
		user    string
		want    int
	}{
		{"GET", "", "", "", 405}, {"DELETE", "", "", "", 405}, {"PUT", id, "", "", 405},
		{"GET", id, "2026-07-28", "", 405}, {"DELETE", id, "2026-07-28", "", 405},
		{"GET", "wrong", "", "", 404}, {"DELETE", id, "", "somebody else", 404},
		{"DELETE", id, "", "", 200}, {"DELETE", id, "", "", 404}, {"GET", id, "", "", 404},
	} {
		req, _ := http.NewRequest(tt.method, g.url+"/mcp/s/pipe", nil)
		for name, value := range map[string]string{rpc.HeaderSession: tt.session, rpc.HeaderVersion: tt.version, "X-User": tt.user} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if got := g.status(req); got != tt.want {
			t.Errorf("%s, session %q, version %q: got %d, want %d", tt.method, tt.session, tt.version, got, tt.want)
		}
	}
}

// TestSession_owner checks that a session is worth nothing to anybody else, nor
// at another server.
func TestSession_owner(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}), command(t, "other", upstream.ServerOptions{}))
	id := g.open("pipe", "X-User", "ann")
	for _, tt := range []struct {
		server, user string
		want         int
	}{{"pipe", "ann", 200}, {"pipe", "bob", 404}, {"other", "ann", 404}} {
		if got, body := g.post(tt.server, legacyCall("pid"), "X-User", tt.user, rpc.HeaderSession, id); got != tt.want {
			t.Errorf("%s at %s: got %d %s, want %d", tt.user, tt.server, got, body, tt.want)
		}
	}
}

// TestTokens checks that a client's credentials end at the gateway and that the
// configured ones go on.
func TestTokens(t *testing.T) {
	var mu sync.Mutex
	var seen http.Header
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = r.Header.Clone()
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":"c-1","result":{}}`)
	}))
	defer up.Close()
	g := start(t, wire.Options{}, server(t, upstream.Target{Name: "web", URL: up.URL, Header: map[string]string{"X-Key": "ours"}}, upstream.ServerOptions{}))
	g.post("web", modernCall("echo"), "Authorization", "Bearer client", "Cookie", "a=b", "X-Forwarded-For", "1.2.3.4",
		"X-Key", "theirs", "Mcp-Param-Region", "eu", "Mcp-Session-Id", "s")
	mu.Lock()
	defer mu.Unlock()
	for name, want := range map[string]string{
		"Authorization": "", "Cookie": "", "X-Forwarded-For": "", "Mcp-Session-Id": "",
		"X-Key": "ours", "Mcp-Param-Region": "eu", "Mcp-Method": "tools/call", "Mcp-Name": "echo", "Mcp-Protocol-Version": "2026-07-28",
	} {
		if got := seen.Get(name); got != want {
			t.Errorf("%s: the upstream saw %q, want %q", name, got, want)
		}
	}
}

// TestCancel checks that closing a modern stream cancels upstream, over HTTP
// and on a pipe, and that a legacy cancellation finds its call.
func TestCancel(t *testing.T) {
	asleep, gone := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		close(asleep)
		<-r.Context().Done()
		close(gone)
	}))
	defer up.Close()
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}),
		server(t, upstream.Target{Name: "web", URL: up.URL}, upstream.ServerOptions{}))
	for _, name := range []string{"web", "pipe"} {
		ctx, cancel := context.WithCancel(t.Context())
		req := g.request(ctx, name, modernCall("sleep"))
		go func() {
			<-asleep
			time.Sleep(1500 * time.Millisecond) // by then the answer is a stream
			cancel()
		}()
		if res, err := g.client.Do(req); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the HTTP server was not told")
	}
	eventually(t, "the command hears of the cancellation", func() bool {
		_, body := g.post("pipe", modernCall("heard"))
		return strings.Contains(textOf(t, body), "notifications/cancelled|")
	})
	id := g.open("pipe")
	go g.client.Do(g.request(t.Context(), "pipe", strings.Replace(legacyCall("sleep"), "c-1", "sleepy", 1), rpc.HeaderSession, id))
	eventually(t, "the legacy cancellation arrives", func() bool {
		g.post("pipe", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sleepy"}}`, rpc.HeaderSession, id)
		_, body := g.post("pipe", legacyCall("heard"), rpc.HeaderSession, id)
		return strings.Contains(textOf(t, body), "notifications/cancelled|")
	})
}

// TestProgress checks progress, log messages and questions on the stream of
// their call, and the client's answer on its way back.
func TestProgress(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	id := g.open("pipe")
	call := `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"progress","_meta":{"progressToken":"tok"}}}`
	_, body := g.post("pipe", call, rpc.HeaderSession, id)
	got := events(body)
	if len(got) != 3 || !strings.Contains(got[0], `"progressToken":"tok","x":1e400`) || !strings.Contains(got[1], "half-way") || !strings.Contains(got[2], `"id":"p"`) {
		t.Errorf("got %q", got)
	}

	res, err := g.client.Do(g.request(t.Context(), "pipe", legacyCall("ask"), rpc.HeaderSession, id))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := rpc.NewEvents(res.Body, 1<<20)
	question, err := stream.Next()
	if err != nil || !strings.Contains(string(question.Data), `"n":9007199254740993`) || question.ID == "" {
		t.Fatalf("question %q %v", question.Data, err)
	}
	answer := `{"jsonrpc":"2.0","id":"q0","result":{"action":"accept","content":{"n":1e400}}}`
	if status, body := g.post("pipe", answer, rpc.HeaderSession, id); status != 202 {
		t.Errorf("answering: %d %s", status, body)
	}
	last, err := stream.Next()
	if err != nil || !strings.Contains(string(last.Data), `1e400`) {
		t.Errorf("got %q, %v", last.Data, err)
	}
}

// TestQuestions_shared checks that a question of a command with two sessions
// goes to nobody.
func TestQuestions_shared(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	one := g.open("pipe")
	g.open("pipe")
	_, body := g.post("pipe", legacyCall("ask"), rpc.HeaderSession, one)
	if got := textOf(t, body); !strings.Contains(got, "-32601") {
		t.Errorf("the command heard %s", got)
	}
}

// TestResume loses the connection in the middle of a call and asks for the rest.
func TestResume(t *testing.T) {
	t.Run("passed", func(t *testing.T) {
		testResume(t, start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{})))
	})
	t.Run("judged", func(t *testing.T) {
		g := start(t, wire.Options{}, fixtureOf(t, "tools", "pipe", upstream.ServerOptions{}))
		judging(t, g, false)
		testResume(t, g)
	})
}

func testResume(t *testing.T, g *gate) {
	id := g.open("pipe")
	ctx, cancel := context.WithCancel(t.Context())
	res, err := g.client.Do(g.request(ctx, "pipe", legacyCall("ask"), rpc.HeaderSession, id))
	if err != nil {
		t.Fatal(err)
	}
	question, err := rpc.NewEvents(res.Body, 1<<20).Next()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	res.Body.Close()
	g.post("pipe", `{"jsonrpc":"2.0","id":"q0","result":{"action":"decline"}}`, rpc.HeaderSession, id)

	req, _ := http.NewRequest("GET", g.url+"/mcp/s/pipe", nil)
	req.Header.Set(rpc.HeaderSession, id)
	req.Header.Set(rpc.HeaderLastEvent, question.ID)
	req.Header.Set("Accept", "text/event-stream")
	res, err = g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if got := events(string(body)); err != nil || len(got) != 1 || !strings.Contains(got[0], "decline") || !strings.Contains(got[0], `"id":"c-1"`) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestSubscription checks that a listener gets its own id back.
func TestSubscription(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := `{"jsonrpc":"2.0","id":"sub-7","method":"subscriptions/listen","params":{` + meta + `}}`
	res, err := g.client.Do(g.request(ctx, "pipe", body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := rpc.NewEvents(res.Body, 1<<20)
	for _, want := range []string{"acknowledged", "list_changed"} {
		ev, err := stream.Next()
		if err != nil || !strings.Contains(string(ev.Data), want) || !strings.Contains(string(ev.Data), `"io.modelcontextprotocol/subscriptionId":"sub-7"`) {
			t.Fatalf("got %q %v", ev.Data, err)
		}
	}
}

// TestPrincipals is S7: two principals never share a child by default, nor do
// two working directories; sharing is what the operator asks for.
func TestPrincipals(t *testing.T) {
	g := start(t, wire.Options{},
		command(t, "own", upstream.ServerOptions{}),
		command(t, "shared", upstream.ServerOptions{Sharing: upstream.Shared}),
		command(t, "each", upstream.ServerOptions{Sharing: upstream.PerSession}))
	pid := func(server, user string) string {
		_, body := g.post(server, legacyCall("pid"), "X-User", user, rpc.HeaderSession, g.open(server, "X-User", user))
		return textOf(t, body)
	}
	modernPid := func(server, user string) string {
		_, body := g.post(server, modernCall("pid"), "X-User", user)
		return textOf(t, body)
	}
	for _, tt := range []struct {
		name string
		same bool
		a, b string
	}{
		{"own: one user", true, pid("own", "ann"), pid("own", "ann")},
		{"own: two users", false, pid("own", "ann"), pid("own", "bob")},
		{"own: two users, modern", false, modernPid("own", "ann"), modernPid("own", "bob")},
		{"own: one user, modern", true, modernPid("own", "ann"), modernPid("own", "ann")},
		{"shared: two users", true, pid("shared", "ann"), pid("shared", "bob")},
		{"each: one user", false, pid("each", "ann"), pid("each", "ann")},
	} {
		if (tt.a == tt.b) != tt.same {
			t.Errorf("%s: children %s and %s", tt.name, tt.a, tt.b)
		}
	}
}

// TestEnvironment checks that a child gets what is configured and little else.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "ours")
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	_, body := g.post("pipe", modernCall("env"))
	for line := range strings.SplitSeq(textOf(t, body), "\n") {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "FIXTURE", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "GOCOVERDIR":
		default:
			t.Errorf("the child has %s", line)
		}
	}
}

// TestProjects is the other half of S7: two pipes of one user from two folders
// have children of their own, each in its folder, and each child's questions
// reach its own client.
func TestProjects(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	socket := servePipes(t, g)
	dirs := []string{t.TempDir(), t.TempDir()}
	clients := make([]*lines, 2)
	for i, dir := range dirs {
		clients[i] = dialPipeFrom(t, socket, "pipe", dir, true)
		if got := textOf(t, clients[i].ask(t, legacyCall("dir"))); got != dir {
			t.Errorf("the child works in %s, want %s", got, dir)
		}
	}
	for i, c := range clients {
		fmt.Fprintln(c.conn, legacyCall("ask"))
		question, err := c.r.ReadString('\n')
		if err != nil || !strings.Contains(question, "elicitation/create") {
			t.Fatalf("client %d: %q %v", i, question, err)
		}
		if got := textOf(t, c.ask(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":"q0","result":{"roots":["%s"]}}`, dirs[i]))); !strings.Contains(got, dirs[i]) {
			t.Errorf("client %d: the child heard %s", i, got)
		}
	}
}

// TestPipe_modern checks a modern client on a pipe: requests stand alone, a
// cancellation reaches the server, HTTP servers get their headers.
func TestPipe_modern(t *testing.T) {
	var mu sync.Mutex
	var seen http.Header
	asleep, gone := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = r.Header.Clone()
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(string(body), "tools/list"):
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"é","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Depth"}}}}}}]}}`)
		case strings.Contains(string(body), "sleep"):
			close(asleep)
			<-r.Context().Done()
			close(gone)
		default:
			io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		}
	}))
	defer up.Close()
	g := start(t, wire.Options{}, server(t, upstream.Target{Name: "web", URL: up.URL}, upstream.ServerOptions{}))
	c := dialPipe(t, servePipes(t, g), "web", false)
	c.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)
	c.ask(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"é","arguments":{"region":" eu ","deep":{"n":7}},`+meta+`}}`)
	mu.Lock()
	for name, want := range map[string]string{
		rpc.HeaderVersion: "2026-07-28", rpc.HeaderMethod: "tools/call", rpc.HeaderName: "=?base64?w6k=?=",
		"Mcp-Param-Region": "=?base64?IGV1IA==?=", "Mcp-Param-Depth": "7",
	} {
		if got := seen.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	mu.Unlock()
	fmt.Fprintln(c.conn, strings.Replace(modernCall("sleep"), "c-1", "z", 1))
	<-asleep
	fmt.Fprintln(c.conn, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"z"}}`)
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the server was not told")
	}
}

// TestPipe_ends checks that a client that closes its end gets the answers it
// waits for, and that a subscription does not keep the pipe open.
func TestPipe_ends(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	c := dialPipe(t, servePipes(t, g), "pipe", false)
	fmt.Fprintln(c.conn, `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{`+meta+`}}`)
	if line, err := c.r.ReadString('\n'); err != nil || !strings.Contains(line, "acknowledged") {
		t.Fatalf("got %q %v", line, err)
	}
	fmt.Fprintln(c.conn, modernCall("pid"))
	if err := c.conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(c.r)
	if err != nil || !strings.Contains(string(rest), `"id":"c-1"`) {
		t.Errorf("got %q %v", rest, err)
	}
}
