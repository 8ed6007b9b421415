package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/upstream"
)

// judged puts a judge that permits everything before a server.
func judged(t *testing.T, url string) *desk {
	t.Helper()
	s, err := upstream.New(upstream.Target{Name: "db", URL: url}, upstream.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{gateway.New(s), &gateway.Judge{Policies: only(t, permissive), Log: &memory.Log{}}, nil}
	d.Use(d.judge)
	t.Cleanup(func() { d.Replace(); d.Wait(); d.judge.Wait() })
	return d
}

// TestShelf_unreachable: of a server that could not be asked for its tools nobody
// says that it has none, however often it is called.
func TestShelf_unreachable(t *testing.T) {
	d := judged(t, "http://127.0.0.1:1")
	for range 3 {
		if got, err := d.do(t.Context(), "ann", 1, "read", `{}`); annotary.CodeOf(err) != annotary.CodeConnect {
			t.Errorf("got %s, %v, want %s", got, err, annotary.CodeConnect)
		}
	}
}

// TestShelf_leaves: who gives up while a server is asked says nothing of it.
func TestShelf_leaves(t *testing.T) {
	d := open(t, &worker{do: func(*http.Request, string, int) string { return done }}, catalog.Stance{Overrides: words}, upstream.ServerOptions{})
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := d.do(left, "ann", 1, "read", `{}`); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got, err := d.do(t.Context(), "bob", 2, "read", `{}`); err != nil || codeOf(got) != "" {
		t.Errorf("bob hears %s, %v", got, err)
	}
}

// TestShelf_broken: a server one of whose tools cannot be judged is not called,
// and breaks nothing.
func TestShelf_broken(t *testing.T) {
	both := catalog.Stance{Overrides: []catalog.Override{{Tools: "read", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true, annotary.Destructive: true}}}}
	d := open(t, &worker{do: func(*http.Request, string, int) string { return done }}, both, upstream.ServerOptions{})
	who := annotary.Principal{Tenant: "default", Subject: "ann"}
	for range 3 {
		if _, err := d.Tools(t.Context(), "db", &who); err == nil {
			t.Error("a contradiction was taken")
		}
	}
}

// TestShelf_twice: of two definitions of one name the first is judged and shown,
// as it is the first that the operator is asked to accept.
func TestShelf_twice(t *testing.T) {
	works := &worker{tools: `[{"name":"read","title":"first"},{"name":"write"},{"name":"read","title":"second"}]`}
	d := open(t, works, catalog.Stance{}, upstream.ServerOptions{})
	who := annotary.Principal{Tenant: "default", Subject: "ann"}
	for range 2 {
		list := string(ask(t, d.Gateway, "tools/list", `"x":1`))
		if strings.Count(list, `"name":"read"`) != 1 || !strings.Contains(list, "first") {
			t.Errorf("listed: %s", list)
		}
		sights, err := d.Tools(t.Context(), "db", &who)
		if err != nil {
			t.Fatal(err)
		}
		if len(sights) != 2 || sights[0].Title != "first" {
			t.Errorf("%d tools are judged, %q among them", len(sights), sights[0].Title)
		}
	}
}

// TestShelf_waits: while a server is asked for a tool that nobody knows, calls of
// its other tools go on.
func TestShelf_waits(t *testing.T) {
	works := &worker{tools: workshop, do: func(*http.Request, string, int) string { return done }}
	asked, free := make(chan struct{}), make(chan struct{})
	lists := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(rpc.HeaderMethod) == "tools/list" {
			if lists++; lists == 2 {
				close(asked)
				<-free
			}
		}
		works.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	d := judged(t, srv.URL)
	ask(t, d.Gateway, "tools/list", `"x":1`)
	bogus := make(chan error, 1)
	go func() {
		_, err := d.do(t.Context(), "eve", 2, "bogus", `{}`)
		bogus <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	known := make(chan error, 1)
	go func() {
		_, err := d.do(ctx, "ann", 3, "read", `{}`)
		known <- err
	}()
	select {
	case err := <-known:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("the call of a tool that is known waits for the list")
	}
	close(free)
	if err := <-bogus; err != nil {
		t.Error(err)
	}
}
