package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
)

// What can go wrong between us and a server. The text is for whoever called.
var (
	ErrUnreachable = errors.New("the server could not be reached")
	ErrStopped     = errors.New("the server stopped before it answered: whether the call had an effect is unknown")
	ErrSilent      = errors.New("the server did not answer in time: whether the call had an effect is unknown")
	ErrBroken      = errors.New("the server did not answer as the protocol asks")
	ErrNoSession   = errors.New("the server no longer knows this session")
	ErrOverrun     = errors.New("the answer was read too slowly")
	// ErrRejected goes with ErrBroken where the server turned a call down
	// before it looked at it.
	ErrRejected = errors.New("it turned the request down")
)

// A Leg carries the messages of one client to one server. For the legacy era
// it is the session; its first message is initialize.
type Leg interface {
	// Send forwards one message. The header holds what the client sent along;
	// nil if it speaks without headers. A request's answer must be closed.
	Send(ctx context.Context, m *rpc.Message, header http.Header) (*Answer, error)
	// Turn queues a call that must not run beside another of its kind. It is
	// nil where nothing serves the leg yet.
	Turn() *Turn
	// Listen opens the stream of what belongs to no call, from after the event
	// with the given id where that is not empty. Legacy only.
	Listen(ctx context.Context, lastEvent string) (*Answer, error)
	// Close ends the session and says how the server took it: an HTTP status.
	Close(ctx context.Context) int
}

// An Answer is what comes back for one message: a whole message in Body, a
// stream of them, or nothing but a status.
type Answer struct {
	Status int    // as HTTP says it
	Body   []byte // valid until Close
	Stream Stream // nil unless messages arrive one by one
	Events bool   // the stream is one of events, and they pass as they are
	// Session is set where the server opened a session of its own.
	Session bool
	// Scopes are those a caller is to ask its issuer for, who was refused for
	// want of them.
	Scopes []string

	buf  *[]byte
	done func()
}

// Close gives back what the answer holds. An unfinished modern call is
// cancelled upstream by it.
func (a *Answer) Close() {
	if a.Stream != nil {
		a.Stream.Close()
	}
	if a.buf != nil {
		rpc.PutBuffer(a.buf)
		a.buf, a.Body = nil, nil
	}
	if a.done != nil {
		a.done()
		a.done = nil
	}
}

// OnClose has f called after the answer is closed.
func (a *Answer) OnClose(f func()) { a.done = f }

// A Stream is messages that arrive one by one. Next returns io.EOF after the
// last; it is called from one goroutine at a time.
type Stream interface {
	Next(ctx context.Context) (Item, error)
	// Close gives the stream up. In the modern era that cancels the call.
	Close()
	// Cancel gives the stream up and has a command told so in either era.
	Cancel()
}

// An Item is one element of a stream.
type Item struct {
	Msg   []byte // the message; nil for an event that carries none
	Event []byte // the event as the server sent it, nil if it sends no events
	ID    string // the event's id, by which a lost stream can be taken up
	Final bool   // the response: nothing follows
}

// queue is a stream that is fed from elsewhere. What it holds is bounded: a
// reader that is too slow loses the stream, never the feeder its time.
type queue struct {
	mu    sync.Mutex
	items []Item
	bytes int
	err   error // why nothing more comes
	wake  chan struct{}
	limit int
	lossy bool          // forgets the oldest when full, instead of ending
	quiet time.Duration // how long nothing may come; zero is for ever
	last  time.Time     // when something came

	onClose func()
	given   bool // given up: nothing came for too long, or it was cancelled
}

func newQueue(limit int, quiet time.Duration) *queue {
	return &queue{wake: make(chan struct{}, 1), limit: limit, quiet: quiet, last: time.Now()}
}

// put adds an item and reports whether anybody will read it.
func (q *queue) put(it Item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return false
	}
	q.last = time.Now()
	for q.lossy && len(q.items) > 0 && q.bytes+len(it.Msg) > q.limit {
		q.bytes -= len(q.items[0].Msg)
		q.items = q.items[1:]
	}
	if q.bytes+len(it.Msg) > q.limit && !it.Final {
		q.err = ErrOverrun
	} else {
		q.items = append(q.items, it)
		q.bytes += len(it.Msg)
		if it.Final {
			q.err = io.EOF
		}
	}
	q.signal()
	return true
}

// fail ends the stream after what it holds.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.signal()
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() (Item, error, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) > 0 {
		it := q.items[0]
		q.items = q.items[1:]
		q.bytes -= len(it.Msg)
		return it, nil, true
	}
	return Item{}, q.err, q.err != nil
}

// Next returns the next item.
func (q *queue) Next(ctx context.Context) (Item, error) {
	var quiet <-chan time.Time
	for {
		if it, err, ok := q.take(); ok {
			return it, err
		}
		if quiet == nil && q.quiet > 0 {
			t := time.NewTimer(q.patience())
			defer t.Stop()
			quiet = t.C
		}
		select {
		case <-q.wake:
		case <-quiet:
			q.mu.Lock()
			q.given = true
			q.mu.Unlock()
			return Item{}, ErrSilent
		case <-ctx.Done():
			return Item{}, ctx.Err()
		}
	}
}

// patience is how long nothing may come from now on.
func (q *queue) patience() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.quiet - time.Since(q.last)
}

// Close gives the stream up.
func (q *queue) Close() {
	q.mu.Lock()
	first := q.onClose
	q.onClose = nil
	if q.err == nil {
		q.err = io.EOF
	}
	q.mu.Unlock()
	if first != nil {
		first()
	}
}

// Cancel gives the stream up for good.
func (q *queue) Cancel() {
	q.mu.Lock()
	q.given = true
	q.mu.Unlock()
	q.Close()
}

// givenUp reports whether the call is no longer wanted, whatever its era says
// about a stream that was closed.
func (q *queue) givenUp() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.given
}
