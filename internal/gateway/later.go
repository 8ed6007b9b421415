package gateway

import (
	"context"
	"io"

	"github.com/annotary/annotary/internal/upstream"
)

// later is an answer that is still to come, as a stream. Whoever waits for it
// may stop waiting and come back: only Close gives it up.
type later struct {
	cancel context.CancelFunc
	done   chan struct{}
	answer *upstream.Answer // after done
	err    error
	said   bool
}

// comeLater has f make the answer. What the context says of the call holds for
// f, its end does not.
func comeLater(ctx context.Context, f func(context.Context) (*upstream.Answer, error)) *later {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &later{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		if l.answer, l.err = f(ctx); l.err == nil && l.answer.Events {
			l.answer.Stream = newAwaited(l.answer.Stream)
		}
	}()
	return l
}

// Next returns the next item; a plain answer is one.
func (l *later) Next(ctx context.Context) (upstream.Item, error) {
	select {
	case <-l.done:
	case <-ctx.Done():
		return upstream.Item{}, ctx.Err()
	}
	switch {
	case l.err != nil:
		return upstream.Item{}, l.err
	case l.answer.Stream != nil:
		return l.answer.Stream.Next(ctx)
	case l.said:
		return upstream.Item{}, io.EOF
	case l.answer.Body == nil:
		return upstream.Item{}, upstream.ErrBroken
	}
	l.said = true
	return upstream.Item{Msg: l.answer.Body, Final: true}, nil
}

// Close gives the answer up.
func (l *later) Close() { l.end((*upstream.Answer).Close) }

// Cancel gives the answer up and has the server told.
func (l *later) Cancel() {
	l.end(func(a *upstream.Answer) {
		if a.Stream != nil {
			a.Stream.Cancel()
		}
		a.Close()
	})
}

func (l *later) end(giveUp func(*upstream.Answer)) {
	l.cancel()
	finish := func() {
		<-l.done
		if l.answer != nil {
			giveUp(l.answer)
		}
	}
	select {
	case <-l.done:
		finish()
	default:
		go finish()
	}
}
