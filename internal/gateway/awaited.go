package gateway

import (
	"context"
	"sync"

	"github.com/annotary/annotary/internal/upstream"
)

// awaited is a stream that its reader can leave and come back to. Reading events
// from a server cannot be interrupted without losing them, so that it is done
// aside, one item at a time: the one before is valid until then.
type awaited struct {
	upstream.Stream
	coming chan came // what comes next, once it was asked for
	asked  bool      // only Next looks

	mu     sync.Mutex
	give   context.CancelFunc // ends what was asked
	closed bool
}

type came struct {
	item upstream.Item
	err  error
}

func newAwaited(s upstream.Stream) *awaited {
	return &awaited{Stream: s, coming: make(chan came, 1)}
}

// Next returns the next item.
func (s *awaited) Next(ctx context.Context) (upstream.Item, error) {
	select {
	case c := <-s.ask(ctx):
		return s.got(c)
	case <-ctx.Done():
		return upstream.Item{}, ctx.Err()
	}
}

// ask has the next item come, unless it was asked for.
func (s *awaited) ask(ctx context.Context) <-chan came {
	if !s.asked {
		s.asked = true
		ctx = s.patient(ctx)
		go func() {
			it, err := s.Stream.Next(ctx)
			s.coming <- came{it, err}
		}()
	}
	return s.coming
}

func (s *awaited) got(c came) (upstream.Item, error) {
	s.asked = false
	return c.item, c.err
}

// patient returns a context that ends with the stream, not with who reads it
// now.
func (s *awaited) patient(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel()
	}
	s.give = cancel
	return ctx
}

// Close gives the stream up.
func (s *awaited) Close() {
	s.stop()
	s.Stream.Close()
}

// Cancel gives the stream up and has the server told.
func (s *awaited) Cancel() {
	s.stop()
	s.Stream.Cancel()
}

func (s *awaited) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.give != nil {
		s.give()
	}
}
