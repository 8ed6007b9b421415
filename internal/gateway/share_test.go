package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// held is a server whose calls wait until they are released.
func held(t *testing.T) (*worker, *desk, func()) {
	t.Helper()
	gate := make(chan struct{})
	release := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	s := &worker{do: func(r *http.Request, tool string, n int) string {
		if tool != "read" {
			return done
		}
		select {
		case <-gate:
			return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":"answer %d"}]}`, n)
		case <-r.Context().Done():
			return ""
		}
	}}
	return s, open(t, s, catalog.Stance{Overrides: words}, upstream.ServerOptions{}), release
}

// asking is a read under way.
type asking struct {
	cancel context.CancelFunc
	answer chan string
}

func (d *desk) begin(t *testing.T, who string, id int, args string) *asking {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	a := &asking{cancel, make(chan string, 1)}
	go func() {
		got, err := d.do(ctx, who, id, "read", args)
		switch {
		case errors.Is(err, context.Canceled):
			a.answer <- "cancelled"
		case err != nil:
			a.answer <- err.Error()
		default:
			text, _ := strict.Text(strict.At(got, "/result/content/0/text"))
			a.answer <- fmt.Sprintf("%s: %s", strict.Get(got, "id"), text)
		}
	}()
	return a
}

// TestShare: equal reads at once are one; each has its own id and entries, and
// a later one is a new one.
func TestShare(t *testing.T) {
	s, d, release := held(t)
	var all []*asking
	for i := range 10 {
		all = append(all, d.begin(t, "ann", i, `{"x": 1.0}`))
		until(t, "it has joined", func() bool { return d.Sharing() == i+1 })
	}
	until(t, "the server was reached", func() bool { return s.did("read") == 1 })
	release()
	for i, a := range all {
		if got, want := <-a.answer, fmt.Sprintf("%d: answer 1", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := <-d.begin(t, "ann", 11, `{"x": 1.0}`).answer; got != "11: answer 2" {
		t.Errorf("the next got %q: nothing is to be kept", got)
	}
	d.judge.Wait()
	decided, shared, first := 0, 0, ""
	for _, e := range entries(t, d.log) {
		switch {
		case e.Kind == audit.Decided:
			decided++
		case e.Shared != "":
			shared++
			first = e.Shared
		case e.Result != audit.OK:
			t.Errorf("outcome %+v", e)
		}
	}
	if decided != 11 || shared != 9 || first == "" || d.Sharing() != 0 {
		t.Errorf("%d decided, %d shared with %q, %d waiting", decided, shared, first, d.Sharing())
	}
}

// TestShareApart: reads that differ in anything their server can tell apart, or
// in who asks, do not share.
func TestShareApart(t *testing.T) {
	s, d, release := held(t)
	all := []*asking{
		d.begin(t, "ann", 1, `{"x":1}`), d.begin(t, "bob", 1, `{"x":1}`), d.begin(t, "ann", 1, `{"x":2}`), d.begin(t, "ann", 1, `{"x":"1"}`),
	}
	until(t, "all reached the server", func() bool { return s.did("read") == len(all) })
	release()
	for _, a := range all {
		<-a.answer
	}
}

// TestShareLeft: who leaves takes nobody along. Where it was the one whose call
// was sent, one call of another takes its place for all who are left.
func TestShareLeft(t *testing.T) {
	s, d, release := held(t)
	leader := d.begin(t, "ann", 1, `{}`)
	until(t, "the server was reached", func() bool { return s.did("read") == 1 })
	var others []*asking
	for i := range 4 {
		others = append(others, d.begin(t, "ann", i+2, `{}`))
		until(t, "it has joined", func() bool { return d.Sharing() == i+2 })
	}
	others[0].cancel()
	if got := <-others[0].answer; got != "cancelled" {
		t.Errorf("who left got %q", got)
	}
	if now, _ := s.busy(); now != 1 || s.did("read") != 1 {
		t.Errorf("%d calls at work of %d after one of many left", now, s.did("read"))
	}
	leader.cancel()
	<-leader.answer
	until(t, "the others share again", func() bool { return d.Sharing() == 3 && s.did("read") == 2 })
	until(t, "the server gave the first up", func() bool { now, _ := s.busy(); return now == 1 })
	release()
	for i, a := range others[1:] {
		if got, want := <-a.answer, fmt.Sprintf("%d: answer 2", i+3); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestShareEmpty: when all have left, the server is told.
func TestShareEmpty(t *testing.T) {
	s, d, _ := held(t)
	a := d.begin(t, "ann", 1, `{}`)
	until(t, "the server was reached", func() bool { return s.did("read") == 1 })
	b := d.begin(t, "ann", 2, `{}`)
	until(t, "both wait", func() bool { return d.Sharing() == 2 })
	a.cancel()
	b.cancel()
	<-a.answer
	<-b.answer
	until(t, "the server gave up", func() bool { now, _ := s.busy(); return now == 0 && d.Sharing() == 0 })
}

// TestShareAfterWrite: a read that begins after a write has ended must not get
// an answer from before it.
func TestShareAfterWrite(t *testing.T) {
	s, d, release := held(t)
	before := d.begin(t, "ann", 1, `{}`)
	until(t, "the server was reached", func() bool { return s.did("read") == 1 })
	if got, err := d.do(t.Context(), "ann", 2, "write", `{}`); err != nil || codeOf(got) != "" {
		t.Fatalf("the write: %s, %v", got, err)
	}
	after := d.begin(t, "ann", 3, `{}`)
	until(t, "it has joined, or reached the server", func() bool { return d.Sharing() == 2 || s.did("read") == 2 })
	release()
	<-before.answer
	if got := <-after.answer; got != "3: answer 2" {
		t.Errorf("after the write: %q", got)
	}
}

// TestShareAlone: an answer that asks for more is for its caller alone.
func TestShareAlone(t *testing.T) {
	gate := make(chan struct{})
	s := &worker{do: func(_ *http.Request, _ string, n int) string {
		<-gate
		if n == 1 {
			return `{"resultType":"input_required","inputRequests":{},"requestState":"x"}`
		}
		return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":"answer %d"}]}`, n)
	}}
	d := open(t, s, catalog.Stance{Overrides: words}, upstream.ServerOptions{})
	first := d.begin(t, "ann", 1, `{}`)
	until(t, "the server was reached", func() bool { return s.did("read") == 1 })
	second := d.begin(t, "ann", 2, `{}`)
	until(t, "both wait", func() bool { return d.Sharing() == 2 })
	close(gate)
	if a, b := <-first.answer, <-second.answer; a != "1: " || b != "2: answer 2" {
		t.Errorf("got %q and %q", a, b)
	}
}
