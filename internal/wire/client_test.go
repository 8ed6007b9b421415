package wire_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// command is the fixture server as an upstream.
func command(t testing.TB, name string, opts upstream.ServerOptions) *upstream.Server {
	t.Helper()
	return fixtureOf(t, "yes", name, opts)
}

// fixtureOf is the fixture server, in one of its modes.
func fixtureOf(t testing.TB, mode, name string, opts upstream.ServerOptions) *upstream.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return server(t, upstream.Target{Name: name, Command: exe, Env: map[string]string{"FIXTURE": mode}}, opts)
}

func server(t testing.TB, target upstream.Target, opts upstream.ServerOptions) *upstream.Server {
	t.Helper()
	s, err := upstream.New(target, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gate is a gateway on loopback.
type gate struct {
	t       testing.TB
	url     string
	gateway *gateway.Gateway
	handler *wire.Handler
	client  *http.Client
}

// byHeader believes what a client calls itself.
type byHeader struct{ *identity.Identity }

func (byHeader) Identify(r *http.Request, _ string) (annotary.Principal, error) {
	return annotary.Principal{Tenant: "t", Subject: r.Header.Get("X-User")}, nil
}

// start serves the servers until the test ends, then checks that no child is
// left.
func start(t testing.TB, opts wire.Options, servers ...*upstream.Server) *gate {
	t.Helper()
	g := gateway.New(servers...)
	if opts.Identity == nil {
		opts.Identity = byHeader{}
	}
	h := wire.New(g, opts)
	s := httptest.NewUnstartedServer(h)
	s.Config = h.Server()
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		h.Close()
		g.Replace()
		g.Wait()
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return &gate{t, s.URL, g, h, &http.Client{Transport: transport}}
}

// request makes a POST with the headers its era asks for.
func (g *gate) request(ctx context.Context, server, body string, header ...string) *http.Request {
	g.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/mcp/s/"+server, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if m, err := rpc.Parse([]byte(body), strict.Limits{}); err == nil {
		if v, ok := m.Version(); ok {
			req.Header.Set(rpc.HeaderVersion, v)
			req.Header.Set(rpc.HeaderMethod, m.Method)
			if name, ok := m.Target(); ok {
				req.Header.Set(rpc.HeaderName, rpc.EncodeHeader(name))
			}
		}
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	return req
}

// post sends a message and returns status and body.
func (g *gate) post(server, body string, header ...string) (int, string) {
	g.t.Helper()
	res, err := g.client.Do(g.request(g.t.Context(), server, body, header...))
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res.StatusCode, string(got)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`

// open begins a legacy session and returns its id.
func (g *gate) open(server string, header ...string) string {
	g.t.Helper()
	res, err := g.client.Do(g.request(g.t.Context(), server, initialize, header...))
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	id := res.Header.Get(rpc.HeaderSession)
	if res.StatusCode != http.StatusOK || id == "" {
		g.t.Fatalf("initialize: %d, session %q: %s", res.StatusCode, id, body)
	}
	if status, body := g.post(server, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, append(header, rpc.HeaderSession, id)...); status != http.StatusAccepted {
		g.t.Fatalf("initialized: %d %s", status, body)
	}
	return id
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modernCall is a tools/call that stands alone.
func modernCall(tool string) string {
	return `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"` + tool + `",` + meta + `}}`
}

// legacyCall is a tools/call of a session.
func legacyCall(tool string) string {
	return `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"` + tool + `"}}`
}

// textOf returns the text of a tool's answer.
func textOf(t testing.TB, body string) string {
	t.Helper()
	for _, block := range strict.Elements(strict.Get([]byte(body), "result", "content")) {
		if text, ok := strict.Text(strict.Get(block, "text")); ok {
			return text
		}
	}
	t.Fatalf("no text in %s", body)
	return ""
}

// eventually waits for something that takes a moment.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 1500 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// events splits a body of server-sent events into their data.
func events(body string) []string {
	var out []string
	r := rpc.NewEvents(bytes.NewReader([]byte(body)), 1<<20)
	for {
		ev, err := r.Next()
		if err != nil {
			return out
		}
		if ev.Data != nil {
			out = append(out, string(ev.Data))
		}
	}
}
