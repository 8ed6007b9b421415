package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// listening is a modern server that acknowledges whoever listens, says one thing
// when told to, and then holds the stream.
func listening(t *testing.T, speak <-chan string) *gateway.Gateway {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case msg := <-speak:
				fmt.Fprintf(w, "data: %s\n\n", msg)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	s, err := upstream.New(upstream.Target{Name: "db", URL: srv.URL}, upstream.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.New(s)
	t.Cleanup(func() { g.Replace(); g.Wait() })
	return g
}

func listen(t *testing.T, g *gateway.Gateway, filter string) *upstream.Answer {
	t.Helper()
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":"sub-7","method":"subscriptions/listen","params":{"notifications":`+filter+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.Call(t.Context(), &gateway.Call{
		Server: "db", Era: upstream.EraModern, Message: m,
		Header: http.Header{"Mcp-Method": {"subscriptions/listen"}, "Mcp-Protocol-Version": {"2026-07-28"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func next(t *testing.T, a *upstream.Answer) upstream.Item {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	it, err := a.Stream.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// TestAnnounce: who listens hears that tools changed, once, after the server's
// acknowledgement, and misses nothing that the server says.
func TestAnnounce(t *testing.T) {
	speak := make(chan string)
	g := listening(t, speak)
	a := listen(t, g, `{"toolsListChanged":true}`)
	g.Announce("other")
	g.Announce("db", "other")
	g.Announce("db")
	if it := next(t, a); !strings.Contains(string(it.Msg), "acknowledged") {
		t.Errorf("first came %s", it.Msg)
	}
	it := next(t, a)
	want := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub-7"}}}`
	if string(it.Msg) != want || !strings.Contains(string(it.Event), want) {
		t.Errorf("told %s as %q", it.Msg, it.Event)
	}
	speak <- `{"jsonrpc":"2.0","method":"notifications/x"}`
	if it := next(t, a); !strings.Contains(string(it.Msg), "notifications/x") {
		t.Errorf("then came %s", it.Msg)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if it, err := a.Stream.Next(ctx); err == nil {
		t.Errorf("without a reason came %s", it.Msg)
	}
	speak <- `{"jsonrpc":"2.0","method":"notifications/y"}`
	if it := next(t, a); !strings.Contains(string(it.Msg), "notifications/y") {
		t.Errorf("after a pause came %s", it.Msg)
	}
}

// TestAnnounce_unwanted: a client that asked for other news is not told.
func TestAnnounce_unwanted(t *testing.T) {
	speak := make(chan string)
	g := listening(t, speak)
	a := listen(t, g, `{"promptsListChanged":true}`)
	next(t, a)
	g.Announce("db")
	speak <- `{"jsonrpc":"2.0","method":"notifications/x"}`
	if it := next(t, a); !strings.Contains(string(it.Msg), "notifications/x") {
		t.Errorf("told %s", it.Msg)
	}
}
