package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// A call whose connection was lost is tried so often in all, with pauses between
// that grow and differ, as long as the server's patience lasts.
const (
	maxTries   = 3
	firstPause = 100 * time.Millisecond
)

// act carries a call out as its hints allow. A read shares the answer of
// an equal one. A call that may change something waits for its turn. What somebody
// vouches is a read, or does the same when done twice, is tried again when the
// connection was lost; everything else is sent at most once.
func (g *Gateway) act(ctx context.Context, m *matter) (*upstream.Answer, error) {
	leg, err := m.call.leg(ctx, m.server)
	if err != nil {
		return nil, err
	}
	t := &trial{gateway: g, matter: m, leg: leg}
	m.course = &t.course
	if m.hints.Vouched(annotary.ReadOnly) {
		return g.shares.take(ctx, t)
	}
	g.shares.change()
	m.ended = g.shares.change
	if m.tool == nil || m.judge.Stances[m.server.Name].Unordered {
		return t.run(ctx)
	}
	return t.inTurn(ctx)
}

// A course is what became of a call on its way, for the log.
type course struct {
	mu     sync.Mutex
	tries  int
	waited time.Duration
	shared string // the call whose answer it got
}

func (c *course) waitedFor(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited = d
}

func (c *course) sharedWith(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared = call
}

// try counts one more.
func (c *course) try() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
}

func (c *course) tried() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries
}

// tell puts the course into an entry.
func (c *course) tell(e *audit.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Waited, e.Shared = float64(c.waited.Microseconds())/1000, c.shared
	if c.tries > 1 {
		e.Attempt = c.tries
	}
}

// A trial is one call and how often it was tried.
type trial struct {
	gateway *Gateway
	matter  *matter
	leg     upstream.Leg
	course  course
	until   time.Time // no try begins later
}

// inTurn waits until no other call that may change something is before the same
// child. Waiting holds up nobody else: the answer is then a stream.
func (t *trial) inTurn(ctx context.Context) (*upstream.Answer, error) {
	turn := t.leg.Turn()
	if turn == nil {
		return t.run(ctx)
	}
	t.matter.ended = func() { t.gateway.shares.change(); turn.Leave() }
	if turn.Come() {
		return t.run(ctx)
	}
	since := time.Now()
	return &upstream.Answer{Status: http.StatusOK, Stream: comeLater(ctx, func(ctx context.Context) (*upstream.Answer, error) {
		err := turn.Wait(ctx)
		t.course.waitedFor(time.Since(since))
		if err != nil {
			return nil, err
		}
		return t.run(ctx)
	})}, nil
}

// run sends the call, and again where that may help and may be done.
func (t *trial) run(ctx context.Context) (*upstream.Answer, error) {
	t.until = time.Now().Add(t.matter.server.Patience())
	a, err := t.send(ctx)
	switch {
	case err != nil && ctx.Err() == nil && t.mayTryAgain(err):
		again := comeLater(ctx, func(ctx context.Context) (*upstream.Answer, error) { return t.again(ctx, err) })
		return &upstream.Answer{Status: http.StatusOK, Stream: &tried{Stream: again, trial: t, call: ctx}}, nil
	case err == nil && a.Stream != nil:
		a.Stream = &tried{Stream: a.Stream, trial: t, call: ctx, events: a.Events}
	}
	return a, err
}

func (t *trial) send(ctx context.Context) (*upstream.Answer, error) {
	t.course.try()
	return t.gateway.send(ctx, t.matter.server, t.matter.call, t.leg)
}

// mayTryAgain reports whether a call that failed like this may be sent once more.
func (t *trial) mayTryAgain(err error) bool {
	m := t.matter
	lost := errors.Is(err, upstream.ErrStopped) || errors.Is(err, upstream.ErrUnreachable)
	return lost && !errors.Is(err, upstream.ErrClosed) && m.tool != nil &&
		(m.hints.Vouched(annotary.ReadOnly) || m.hints.Vouched(annotary.Idempotent)) &&
		t.course.tried() < maxTries && time.Now().Before(t.until)
}

// again sends the call once more, until it gets an answer or may not. Each try
// is recorded first; one that cannot be is not made.
func (t *trial) again(ctx context.Context, cause error) (*upstream.Answer, error) {
	for t.mayTryAgain(cause) {
		n := t.course.tried() + 1
		if err := pause(ctx, firstPause<<(2*(n-2))); err != nil {
			return nil, err
		}
		if t.matter.recordAttempt(ctx, n) != nil {
			return nil, cause
		}
		a, err := t.send(ctx)
		if err == nil {
			return a, nil
		}
		cause = err
	}
	return nil, cause
}

// pause waits for about as long as d: many who lost the same server must not
// come back all at once.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recordAttempt writes that the call is tried once more, durably.
func (m *matter) recordAttempt(ctx context.Context, n int) error {
	e := m.entry
	e.Kind, e.Time, e.Attempt = audit.Attempt, m.judge.now(), n
	e.Brief()
	return m.write(ctx, &e)()
}

// tried is the answer of a call that may be tried again: as long as nothing of
// it was passed on, the next try can take its place.
type tried struct {
	upstream.Stream
	trial  *trial
	call   context.Context //nolint:containedctx // of the call, which outlives those of Next
	events bool            // what is passed on are events
	passed bool            // something was
	over   bool            // the response was
	lasts  bool            // the client can take it up elsewhere: it has an id, or was told when to come back
}

// Next returns the next item.
func (s *tried) Next(ctx context.Context) (upstream.Item, error) {
	for {
		it, err := s.Stream.Next(ctx)
		if err == nil {
			return s.pass(it), nil
		}
		if errors.Is(err, io.EOF) && !s.over && (!s.lasts || s.trial.matter.call.Era == upstream.EraModern) {
			err = upstream.ErrStopped
		}
		if s.passed || ctx.Err() != nil || !s.trial.mayTryAgain(err) {
			return it, err
		}
		s.Close()
		s.Stream = comeLater(s.call, func(ctx context.Context) (*upstream.Answer, error) { return s.trial.again(ctx, err) })
	}
}

func (s *tried) pass(it upstream.Item) upstream.Item {
	if it.ID != "" || bytes.HasPrefix(it.Event, []byte("retry:")) || bytes.Contains(it.Event, []byte("\nretry:")) {
		s.lasts = true
	}
	if len(it.Msg) == 0 {
		return it
	}
	s.passed = true
	it.Final = it.Final || isResponse(it.Msg)
	s.over = s.over || it.Final
	if s.events && it.Event == nil {
		it.Event = rpc.AppendEvent(nil, "", it.Msg)
	}
	return it
}

func isResponse(msg []byte) bool {
	return strict.Get(msg, "method") == nil && (strict.Get(msg, "result") != nil || strict.Get(msg, "error") != nil)
}
