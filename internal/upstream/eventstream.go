package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
)

// eventStream reads a server's event stream. A watchdog closes it when the
// server is silent for too long or was retired.
type eventStream struct {
	body    io.ReadCloser
	events  *rpc.Events
	silence time.Duration
	watch   *time.Timer
	unhook  func() bool
	endless bool // waits for events, belongs to no call
	once    sync.Once
	why     error
}

func newEventStream(s *Server, body io.ReadCloser) *eventStream {
	e := &eventStream{body: body, events: rpc.NewEvents(body, s.opts.MaxBytes), silence: s.opts.Silence}
	e.watch = time.AfterFunc(e.silence, func() {
		if !e.endless {
			e.end(ErrSilent)
		}
	})
	e.unhook = context.AfterFunc(s.retired, func() {
		if e.endless {
			e.end(io.EOF)
		}
	})
	return e
}

func (e *eventStream) end(why error) {
	e.once.Do(func() {
		e.why = why
		_ = e.body.Close()
	})
}

// Next returns the next event, whole.
func (e *eventStream) Next(ctx context.Context) (Item, error) {
	ev, err := e.events.Next()
	e.watch.Reset(e.silence)
	if err == nil {
		return Item{Msg: ev.Data, Event: ev.Raw, ID: ev.ID}, nil
	}
	e.end(io.EOF)
	switch {
	case !errors.Is(e.why, io.EOF):
		return Item{}, e.why
	case ctx.Err() != nil:
		return Item{}, ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), e.endless:
		return Item{}, io.EOF
	default:
		return Item{}, fmt.Errorf("%w: %w", ErrStopped, err)
	}
}

// Close gives the stream up. To a modern server that is the cancellation.
func (e *eventStream) Close() {
	e.watch.Stop()
	e.unhook()
	e.end(io.EOF)
}

// Cancel gives the stream up. A server of the legacy era is told by a
// notification of its own.
func (e *eventStream) Cancel() { e.Close() }
