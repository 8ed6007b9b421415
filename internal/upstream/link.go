package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errGone is what is left to say to a caller whose server ended.
var errGone = errors.New("the server stopped")

// link is a way to a server on which messages go both ways: the pipe of a child,
// or the old HTTP+SSE transport. Messages to it are queued, so that a server
// that does not read never holds up more than its own callers.
type link struct {
	in     chan []byte
	quit   chan struct{} // closed to end it
	once   sync.Once
	done   chan struct{} // closed when it is gone and all it said was read
	exit   error         // why it ended; read after done
	stderr *tail         // what it said beside messages
}

func newLink() *link {
	return &link{
		in: make(chan []byte, 64), quit: make(chan struct{}), done: make(chan struct{}), stderr: &tail{max: stderrKept},
	}
}

// send queues one message.
func (l *link) send(ctx context.Context, msg []byte) error {
	if err := l.ended(); err != nil {
		return err
	}
	select {
	case l.in <- msg:
		return nil
	case <-l.done:
		return l.gone()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended returns an error if nothing that is sent now would be read.
func (l *link) ended() error {
	select {
	case <-l.done:
		return l.gone()
	case <-l.quit:
		return errGone
	default:
		return nil
	}
}

// gone says how it ended.
func (l *link) gone() error {
	if l.exit != nil {
		return fmt.Errorf("%w: %w", errGone, l.exit)
	}
	return errGone
}

// stop asks the server to end and does not wait.
func (l *link) stop() { l.once.Do(func() { close(l.quit) }) }

// asked reports whether the server was asked to end.
func (l *link) asked() bool {
	select {
	case <-l.quit:
		return true
	default:
		return false
	}
}
