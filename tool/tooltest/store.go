package tooltest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary/tool"
)

// Store holds a [tool.Store] to its contract. Every store of this project
// passes it; one of your own should. Each call of open returns the same store
// as another process would open it.
func Store(t *testing.T, open func(t *testing.T) tool.Store) {
	t.Run("one-claim", func(t *testing.T) { testOneClaim(t, open) })
	t.Run("settle", func(t *testing.T) { testSettle(t, open(t), open(t)) })
	t.Run("unknown-outcome", func(t *testing.T) { testUnknown(t, open(t)) })
	t.Run("release", func(t *testing.T) { testRelease(t, open(t)) })
	t.Run("lease", func(t *testing.T) { testLease(t, open(t)) })
	t.Run("keys-apart", func(t *testing.T) { testKeysApart(t, open(t)) })
}

var keys atomic.Int64

// newKey returns a key nobody has used, so that suites can share a database.
func newKey(t *testing.T) tool.Key {
	return tool.Key{Name: fmt.Sprintf("%s-%d-%d", t.Name(), time.Now().UnixNano(), keys.Add(1)), Request: "r"}
}

func claim(t *testing.T, s tool.Store, k tool.Key, want tool.State) tool.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), k, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if c.State != want {
		t.Fatalf("the key is %s, want %s", c.State, want)
	}
	return c
}

// testOneClaim: of two hundred claims at once, one is given.
func testOneClaim(t *testing.T, open func(t *testing.T) tool.Store) {
	k := newKey(t)
	stores := []tool.Store{open(t), open(t)}
	var given atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			c, err := stores[i%len(stores)].Claim(t.Context(), k, time.Minute)
			switch {
			case err != nil:
				t.Error(err)
			case c.State == tool.Claimed:
				given.Add(1)
			case c.State != tool.Running:
				t.Errorf("the key is %s", c.State)
			}
		})
	}
	wg.Wait()
	if n := given.Load(); n != 1 {
		t.Errorf("%d of 200 claims were given, want 1", n)
	}
}

func testSettle(t *testing.T, s, other tool.Store) {
	k := newKey(t)
	claim(t, s, k, tool.Claimed)
	if err := s.Settle(t.Context(), k, []byte("answer")); err != nil {
		t.Fatal(err)
	}
	if c := claim(t, other, k, tool.Settled); !bytes.Equal(c.Answer, []byte("answer")) || c.Request != "r" {
		t.Errorf("got %q for %q", c.Answer, c.Request)
	}
	if err := s.Settle(t.Context(), k, []byte("another")); err == nil {
		t.Error("an answer was replaced")
	}
	if err := s.Release(t.Context(), k); err == nil {
		t.Error("a settled key was released")
	}
	if c := claim(t, s, tool.Key{Name: k.Name, Request: "another"}, tool.Settled); c.Request != "r" {
		t.Errorf("the first request became %q", c.Request)
	}
}

func testUnknown(t *testing.T, s tool.Store) {
	k := newKey(t)
	claim(t, s, k, tool.Claimed)
	if err := s.Settle(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	claim(t, s, k, tool.Lost)
}

func testRelease(t *testing.T, s tool.Store) {
	k := newKey(t)
	claim(t, s, k, tool.Claimed)
	if err := s.Release(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	claim(t, s, k, tool.Claimed)
}

// testLease: a claim whose holder died is lost, and is never given again.
func testLease(t *testing.T, s tool.Store) {
	k := newKey(t)
	if c, err := s.Claim(t.Context(), k, time.Millisecond); err != nil || c.State != tool.Claimed {
		t.Fatal(c, err)
	}
	time.Sleep(50 * time.Millisecond)
	claim(t, s, k, tool.Lost)
	claim(t, s, k, tool.Lost)
	// The holder was only slow: what it knows is better than nothing.
	if err := s.Settle(t.Context(), k, []byte("late")); err != nil {
		t.Fatal(err)
	}
	claim(t, s, k, tool.Settled)
}

func testKeysApart(t *testing.T, s tool.Store) {
	claim(t, s, newKey(t), tool.Claimed)
	claim(t, s, newKey(t), tool.Claimed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Settle(ctx, newKey(t), []byte("x")); err == nil {
		t.Error("a key nobody claimed was settled")
	}
}
