package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
)

// whisperer is a server whose tool write answers the first call when it is let go
// and begins a stream for the second, on which it says nothing.
type whisperer struct {
	worker
	calls   atomic.Int32
	first   chan struct{} // closed to answer the first
	begun   chan struct{} // closed when the stream has begun
	dropped chan struct{} // closed when its reader is gone
	over    chan struct{} // closed when the test is
}

func newWhisperer() *whisperer {
	return &whisperer{
		worker: worker{tools: workshop, do: func(*http.Request, string, int) string { return done }},
		first:  make(chan struct{}), begun: make(chan struct{}), dropped: make(chan struct{}), over: make(chan struct{}),
	}
}

// stopped waits until the caller was told why nothing comes, and the server that
// nobody listens.
func (s *whisperer) stopped(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if !strings.Contains(got, want) {
			t.Errorf("the caller was told %s, want %s", got, want)
		}
	case <-time.After(patience):
		t.Fatal("the caller was not told")
	}
	select {
	case <-s.dropped:
	case <-time.After(patience):
		t.Fatal("the server heard nothing of it")
	}
}

func (s *whisperer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(rpc.HeaderMethod) != "tools/call" {
		s.worker.ServeHTTP(w, r)
		return
	}
	if s.calls.Add(1) == 1 {
		<-s.first
		s.worker.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": begun\n\n")
	_ = http.NewResponseController(w).Flush()
	close(s.begun)
	select {
	case <-r.Context().Done():
		close(s.dropped)
	case <-s.over:
	}
}

// TestLater: a call that waited for its turn and then hears nothing is stopped by
// a kill, and given up by a caller who leaves, as soon as any other.
func TestLater(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(t *testing.T, g *gateway.Gateway, leave func())
		told string
	}{
		{"killed", func(t *testing.T, g *gateway.Gateway, _ func()) {
			if _, err := g.Kill(t.Context(), gateway.Kill{Server: "db", Note: "incident 12"}, &ann); err != nil {
				t.Fatal(err)
			}
		}, "incident 12"},
		{"left", func(_ *testing.T, _ *gateway.Gateway, leave func()) { leave() }, context.Canceled.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newWhisperer()
			defer close(s.over)
			j := &gateway.Judge{Policies: only(t, permissive), Log: &memory.Log{}, Kills: gateway.NewKills(memory.NewBucket())}
			d := &desk{start(t, s, j), j, nil}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			told := make(chan string, 2)
			for i := range 2 {
				go func() {
					got, err := d.do(ctx, "ann", i, "write", `{}`)
					told <- fmt.Sprint(string(got), err)
				}()
				until(t, "it is under way", func() bool { return j.Kills.Flying() == i+1 && s.calls.Load() == 1 })
			}
			time.Sleep(20 * time.Millisecond) // for the second to queue
			close(s.first)
			if got := <-told; !strings.Contains(got, "done") {
				t.Fatal(got)
			}
			<-s.begun
			time.Sleep(50 * time.Millisecond) // for who waits to hear of it
			tt.stop(t, d.Gateway, leave)
			s.stopped(t, told, tt.told)
		})
	}
}

// TestLater_joined: so is a read that joined an equal one, was left by who led it,
// and then hears nothing on a stream of its own.
func TestLater_joined(t *testing.T) {
	for name, told := range map[string]string{"killed": "incident 12", "left": context.Canceled.Error()} {
		t.Run(name, func(t *testing.T) {
			s := newWhisperer()
			defer close(s.over)
			defer close(s.first)
			j := &gateway.Judge{
				Policies: only(t, permissive), Log: &memory.Log{}, Kills: gateway.NewKills(memory.NewBucket()),
				Stances: map[string]catalog.Stance{"db": {Overrides: words}},
			}
			d := &desk{start(t, s, j), j, nil}
			leader := d.begin(t, "ann", 1, `{}`)
			until(t, "the server was reached", func() bool { return s.calls.Load() == 1 })
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			answer := make(chan string, 1)
			go func() {
				got, err := d.do(ctx, "ann", 2, "read", `{}`)
				answer <- fmt.Sprint(string(got), err)
			}()
			until(t, "it has joined", func() bool { return d.Sharing() == 2 })
			leader.cancel()
			<-leader.answer
			<-s.begun
			time.Sleep(50 * time.Millisecond) // for who waits to hear of it
			if name == "left" {
				leave()
			} else if _, err := d.Kill(t.Context(), gateway.Kill{Server: "db", Note: "incident 12"}, &ann); err != nil {
				t.Fatal(err)
			}
			s.stopped(t, answer, told)
		})
	}
}
