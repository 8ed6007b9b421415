package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// FuzzHTTP sends any body with any headers. Nothing panics or hangs, and what
// reaches the upstream is a message that says what its headers say.
func FuzzHTTP(f *testing.F) {
	call := modernCall("echo")
	f.Add([]byte(call), "2026-07-28", "tools/call", "echo", "", "localhost", "")
	f.Add([]byte(strings.Replace(call, `"id"`, `"id":1,"id"`, 1)), "2026-07-28", "tools/call", "echo", "", "localhost", "")
	f.Add([]byte(call), "2026-07-28", "tools/list", "echo", "", "localhost", "")
	f.Add([]byte(call), "2025-11-25", "tools/call", "echo", "", "localhost", "")
	f.Add([]byte(legacyCall("echo")), "2025-11-25", "", "", "session", "[::1]:80", "http://localhost")
	f.Add([]byte(initialize), "", "", "", "", "127.0.0.1", "null")
	f.Add([]byte("[]"), "x", "=?base64?eA==?=", "\x00", "é", "evil.example", "https://evil.example")
	up := newMirror(f)
	up.reply(`{"jsonrpc":"2.0","id":1,"result":{}}`, true)
	h := wire.New(gateway.New(server(f, upstream.Target{Name: "web", URL: up.url}, upstream.ServerOptions{})), wire.Options{MaxBody: 1 << 16, MaxDepth: 32})
	f.Cleanup(h.Close)
	f.Fuzz(func(t *testing.T, body []byte, version, method, name, session, host, origin string) {
		up.forget()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp/s/web", strings.NewReader(string(body)))
		r.Host = host
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for key, value := range map[string]string{
			rpc.HeaderVersion: version, rpc.HeaderMethod: method, rpc.HeaderName: name, rpc.HeaderSession: session, "Origin": origin,
		} {
			if value != "" {
				r.Header[key] = []string{value}
			}
		}
		began := time.Now()
		h.ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("it took %s", took)
		}
		checkForwarded(t, up.seen(), version, method, name)
	})
}

// checkForwarded checks what reached the upstream, if anything did.
func checkForwarded(t *testing.T, seen, version, method, name string) {
	t.Helper()
	if seen == "" {
		return
	}
	m, err := rpc.Parse([]byte(seen), strict.Limits{})
	if err != nil {
		t.Fatalf("the upstream got %q: %v", seen, err)
	}
	named, _ := m.Version()
	if !rpc.IsModern(version) && !rpc.IsModern(named) {
		return
	}
	if named != version || m.Method != decoded(method) {
		t.Fatalf("headers %q %q, but the upstream got %q", version, method, seen)
	}
	if target, ok := m.Target(); ok && target != decoded(name) {
		t.Fatalf("header %q, but the upstream got %q", name, seen)
	}
}

func decoded(header string) string {
	v, _ := rpc.DecodeHeader(header)
	return v
}

func (m *mirror) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.body = ""
}

// FuzzDecide sends any question. Each gets an answer in JSON that says what is
// wrong with it, or that nothing is judged here; that only where the question can
// be read in one way.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(`{"server":"web","tool":"x","arguments":{"a":[1,{"b":null}]}}`))
	f.Add([]byte(`{"server":"web","tool":"x","tool":"y"}`))
	f.Add([]byte(`{"server":"web","tool":"x","arguments":[]}`))
	f.Add([]byte(`{"server":"\ud800","tool":1}`))
	f.Add([]byte(`[`))
	up := newMirror(f)
	h := wire.New(gateway.New(server(f, upstream.Target{Name: "web", URL: up.url}, upstream.ServerOptions{})), wire.Options{MaxBody: 1 << 12, MaxDepth: 32})
	f.Cleanup(h.Close)
	f.Fuzz(func(t *testing.T, body []byte) {
		up.forget()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/decide", strings.NewReader(string(body)))
		r.Host, r.Header = "localhost", http.Header{"Content-Type": {"application/json"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		case http.StatusConflict:
			if err := strict.Check(body, strict.Limits{Depth: 32}); err != nil {
				t.Fatalf("understood %q: %v", body, err)
			}
		default:
			t.Fatalf("status %d", w.Code)
		}
		if err := strict.Check(w.Body.Bytes(), strict.Limits{}); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if seen := up.seen(); seen != "" {
			t.Fatalf("the server was asked %s", seen)
		}
	})
}
