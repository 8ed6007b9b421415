package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// TestLimits fills what may be filled.
func TestLimits(t *testing.T) {
	g := start(t, wire.Options{MaxInFlight: 2, MaxStreams: 1, Sessions: session.Limits{PerOwner: 2}}, command(t, "pipe", upstream.ServerOptions{}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 { // each answers with a stream after a while
		res, err := g.client.Do(g.request(ctx, "pipe", modernCall("sleep")))
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		defer res.Body.Close()
	}
	if status, body := g.post("pipe", modernCall("pid")); status != http.StatusTooManyRequests {
		t.Errorf("a third call: %d %s", status, body)
	}
	if status, body := g.post("pipe", modernCall("pid"), "X-User", "bob"); status != 200 {
		t.Errorf("another principal: %d %s", status, body)
	}
	cancel()
	eventually(t, "calls fit again", func() bool {
		status, _ := g.post("pipe", modernCall("pid"))
		return status == 200
	})
	id := g.open("pipe")
	g.open("pipe")
	if status, body := g.post("pipe", initialize); status != http.StatusServiceUnavailable {
		t.Errorf("a third session: %d %s", status, body)
	}
	stream := func() int {
		req, _ := http.NewRequest("GET", g.url+"/mcp/s/pipe", nil)
		req.Header.Set(rpc.HeaderSession, id)
		res, err := g.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res.StatusCode
	}
	if first, second := stream(), stream(); first != 200 || second != http.StatusTooManyRequests {
		t.Errorf("streams: %d, %d", first, second)
	}
}

// unread is a body that says whether somebody read it.
type unread struct{ touched bool }

func (u *unread) Read([]byte) (int, error) {
	u.touched = true
	return 0, io.EOF
}

// TestStrangersBody: who proves nothing is refused before a byte of what they
// sent is read, on every path.
func TestStrangersBody(t *testing.T) {
	key, hash := identity.NewKey()
	other, _ := identity.NewKey()
	h := wire.New(gateway.New(), wire.Options{Identity: identity.New(identity.Options{Keys: []identity.Key{{Name: "ci", Hash: hash}}})})
	t.Cleanup(h.Close)
	for _, path := range []string{"/v1/decide", "/mcp/s/web", "/mcp/find"} {
		for name, tt := range map[string]struct {
			proof string
			reads bool
		}{
			"nothing":        {"", false},
			"no key of ours": {"Bearer " + other, false},
			"a key":          {"Bearer " + key, true},
		} {
			body := &unread{}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
			r.Host, r.Header = "localhost", http.Header{"Content-Type": {"application/json"}}
			if tt.proof != "" {
				r.Header.Set("Authorization", tt.proof)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if refused := w.Code == http.StatusUnauthorized; body.touched != tt.reads || refused == tt.reads {
				t.Errorf("%s with %s: read %v, want %v; %d %s", path, name, body.touched, tt.reads, w.Code, w.Body)
			}
		}
	}
}

// TestLimits_left: in the legacy era a call goes on when its client hangs up, at
// once or later, and counts until it ends.
func TestLimits_left(t *testing.T) {
	g := start(t, wire.Options{MaxInFlight: 2}, command(t, "pipe", upstream.ServerOptions{Sharing: upstream.Shared}))
	var serving atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Add(-1)
		g.handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	g.url = front.URL
	id, bob := g.open("pipe"), g.open("pipe", "X-User", "bob")
	for i, leaveAt := range []string{"once", "the first event"} {
		ctx, leave := context.WithCancel(t.Context())
		streamed := make(chan *http.Response, 1)
		go func() {
			res, _ := g.client.Do(g.request(ctx, "pipe", strings.Replace(legacyCall("sleep"), "c-1", leaveAt, 1), rpc.HeaderSession, id))
			streamed <- res
		}()
		eventually(t, "the call is under way", func() bool {
			_, body := g.post("pipe", legacyCall("begun"), "X-User", "bob", rpc.HeaderSession, bob)
			return textOf(t, body) == strconv.Itoa(i+1)
		})
		if leaveAt != "once" {
			if res := <-streamed; res == nil || res.StatusCode != http.StatusOK {
				t.Fatal("the call was refused")
			}
		}
		leave()
		eventually(t, "the request has ended", func() bool { return serving.Load() == 0 })
	}
	if status, body := g.post("pipe", legacyCall("pid"), rpc.HeaderSession, id); status != http.StatusTooManyRequests {
		t.Errorf("who hung up twice may call a third time: %d %s", status, body)
	}
	req, _ := http.NewRequest(http.MethodDelete, g.url+"/mcp/s/pipe", nil)
	req.Header.Set(rpc.HeaderSession, id)
	if got := g.status(req); got != http.StatusOK {
		t.Errorf("ending the session: %d", got)
	}
	eventually(t, "what has ended no longer counts", func() bool {
		status, _ := g.post("pipe", modernCall("pid"))
		return status == http.StatusOK
	})
}

// TestSlowClients checks the deadlines: headers and bodies that trickle in, and
// a reader that does not read.
func TestSlowClients(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	cut := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := fmt.Fprintf(w, "data: {\"x\":%q}\n\n", big); err != nil {
				close(cut)
				return
			}
		}
	}))
	defer up.Close()
	g := start(t, wire.Options{ReadHeader: 200 * time.Millisecond, ReadBody: 400 * time.Millisecond, Write: 300 * time.Millisecond},
		server(t, upstream.Target{Name: "web", URL: up.URL}, upstream.ServerOptions{}))
	call := modernCall("x")
	head := "POST /mcp/s/web HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n" +
		"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: x\r\n"
	for name, sent := range map[string]string{
		"headers": head[:40],
		"body":    head + fmt.Sprintf("Content-Length: %d\r\n\r\n{", len(call)),
		"reader":  head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call), call),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, sent)
			if name == "reader" { // it reads nothing
				select {
				case <-cut:
				case <-time.After(10 * time.Second):
					t.Error("the stream goes on")
				}
				return
			}
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection is still open: %v", err)
			}
		})
	}
}

// TestDeadUpstream checks that a server that hangs and one that is gone delay
// nobody else.
func TestDeadUpstream(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hangs.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	g := start(t, wire.Options{}, command(t, "good", upstream.ServerOptions{}),
		server(t, upstream.Target{Name: "hangs", URL: hangs.URL}, upstream.ServerOptions{Silence: 700 * time.Millisecond}),
		server(t, upstream.Target{Name: "dead", URL: dead.URL}, upstream.ServerOptions{}),
		server(t, upstream.Target{Name: "none", Command: "/no/such/program"}, upstream.ServerOptions{}))
	g.post("good", modernCall("pid"))
	var waiting sync.WaitGroup
	for range 50 {
		waiting.Go(func() {
			if _, body := g.post("hangs", modernCall("x")); !strings.Contains(body, "server_silent") {
				t.Errorf("got %s", body)
			}
		})
	}
	for range 50 {
		began := time.Now()
		if _, body := g.post("dead", modernCall("x")); !strings.Contains(body, "server_unreachable") {
			t.Errorf("got %s", body)
		}
		if _, body := g.post("none", modernCall("x")); !strings.Contains(body, "server_unreachable") {
			t.Errorf("got %s", body)
		}
		if status, body := g.post("good", modernCall("pid")); status != 200 || time.Since(began) > 2*time.Second {
			t.Errorf("%d %s after %s", status, body, time.Since(began))
		}
	}
	waiting.Wait()
}

// TestUnlisted: where calls are judged, a server is asked for its tools first. One
// that cannot be asked is the server's fault, and what it says of it is not told.
func TestUnlisted(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the password is hunter2"}}`)
	}))
	defer refuses.Close()
	g := start(t, wire.Options{}, server(t, upstream.Target{Name: "dead", URL: dead.URL}, upstream.ServerOptions{}),
		server(t, upstream.Target{Name: "refuses", URL: refuses.URL}, upstream.ServerOptions{}))
	judging(t, g, true)
	for name, want := range map[string]string{"dead": "server_unreachable", "refuses": "server_broken"} {
		for range 2 {
			status, body := g.post(name, modernCall("x"))
			if got := text(body, "error", "data", "code"); status != http.StatusOK || got != want || strings.Contains(body, "hunter2") {
				t.Errorf("%s: got %d %s, want %s", name, status, body, want)
			}
		}
	}
}

func text(body string, names ...string) string {
	text, _ := strict.Text(strict.Get([]byte(body), names...))
	return text
}

// TestBackoff checks that a command that comes to nothing is not started for
// every call.
func TestBackoff(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	g := start(t, wire.Options{}, server(t, upstream.Target{
		Name: "bad", Command: "sh", Args: []string{"-c", "echo started >> '" + starts + "'; exit 1"},
	}, upstream.ServerOptions{}))
	calls := 0
	for until := time.Now().Add(time.Second); time.Now().Before(until); calls++ {
		if _, body := g.post("bad", modernCall("x")); !strings.Contains(body, "server_unreachable") {
			t.Fatalf("got %s", body)
		}
		time.Sleep(2 * time.Millisecond)
	}
	raw, err := os.ReadFile(starts)
	if n := strings.Count(string(raw), "\n"); err != nil || n < 2 || n > 8 {
		t.Errorf("%d calls started it %d times: %v", calls, n, err)
	}
}

// TestNoise checks that lines that are no messages are skipped, with one
// warning.
func TestNoise(t *testing.T) {
	var log bytes.Buffer
	g := start(t, wire.Options{}, fixtureOf(t, "noisy", "loud", upstream.ServerOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	for range 3 {
		_, body := g.post("loud", modernCall("pid"))
		textOf(t, body)
	}
	if got := strings.Count(log.String(), "no message"); got != 1 || !strings.Contains(log.String(), "Listening on stdio") {
		t.Errorf("the log says:\n%s", &log)
	}
}

// TestQuestions_general checks the GET stream: a question outside of any call's
// stream arrives there, and what was missed is sent again.
func TestQuestions_general(t *testing.T) {
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}))
	id := g.open("pipe")
	listen := func(last string) (*rpc.Events, func()) {
		req, _ := http.NewRequest("GET", g.url+"/mcp/s/pipe", nil)
		req.Header.Set(rpc.HeaderSession, id)
		req.Header.Set("Accept", "text/event-stream")
		if last != "" {
			req.Header.Set(rpc.HeaderLastEvent, last)
		}
		res, err := g.client.Do(req)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		return rpc.NewEvents(res.Body, 1<<20), func() { res.Body.Close() }
	}
	stream, leave := listen("")
	for _, call := range []string{legacyCall("sleep"), strings.Replace(legacyCall("ask"), "c-1", "c-2", 1)} {
		// Two calls at once: a question belongs to neither stream. The answers
		// come after a second, as streams.
		res, err := g.client.Do(g.request(t.Context(), "pipe", call, rpc.HeaderSession, id))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
	}
	first, err := stream.Next()
	if err != nil || !strings.Contains(string(first.Data), "elicitation/create") {
		t.Fatalf("got %q %v", first.Data, err)
	}
	leave()
	again, leave := listen("1_0")
	defer leave()
	if ev, err := again.Next(); err != nil || string(ev.Data) != string(first.Data) || ev.ID != first.ID {
		t.Errorf("again: %q %q %v", ev.Data, ev.ID, err)
	}
}
