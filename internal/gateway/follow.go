package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// onFinal has f change the response of an answer, whenever it comes.
func onFinal(a *upstream.Answer, err error, f func([]byte) ([]byte, error)) (*upstream.Answer, error) {
	switch {
	case err != nil:
		return nil, err
	case a.Stream != nil:
		a.Stream = &changed{a.Stream, f}
	case a.Body != nil:
		if a.Body, err = f(a.Body); err != nil {
			a.Close()
			return nil, err
		}
		if a.Status >= http.StatusBadRequest && strict.Get(a.Body, "result") != nil {
			a.Status = http.StatusOK // what the server does not have, we do
		}
	}
	return a, nil
}

// changed is a stream whose last message is changed.
type changed struct {
	upstream.Stream
	change func([]byte) ([]byte, error)
}

// Next returns the next item.
func (c *changed) Next(ctx context.Context) (upstream.Item, error) {
	it, err := c.Stream.Next(ctx)
	if err != nil || len(it.Msg) == 0 || (!it.Final && strict.Get(it.Msg, "method") != nil) {
		return it, err
	}
	was := it.Msg
	if it.Msg, err = c.change(was); err != nil {
		return upstream.Item{}, err
	}
	if it.Event != nil && !bytes.Equal(it.Msg, was) {
		it.Event = rpc.AppendEvent(nil, it.ID, it.Msg)
	}
	return it, nil
}

// follow records how the call ends, when it does.
func (m *matter) follow(a *upstream.Answer, err error) (*upstream.Answer, error) {
	switch {
	case err != nil:
		m.fail(err)
		if msg := m.unknown(err); msg != nil {
			return &upstream.Answer{Status: http.StatusOK, Body: msg}, nil
		}
		return nil, err
	case a.Stream != nil:
		a.Stream = &followed{Stream: a.Stream, m: m, events: a.Events}
	default:
		m.end(a.Body)
	}
	return a, nil
}

// unknown answers a call that may have changed something and of which nobody
// can say whether it did: the model must hear that, so it is an error of the
// tool. It is nil for all other failures, which are the edge's to tell.
func (m *matter) unknown(err error) []byte {
	if m.tool == nil || m.hints.Vouched(annotary.ReadOnly) || resultOf(err) != audit.Unknown {
		return nil
	}
	u := *m // what was decided stays as it was
	u.refuse(annotary.CodeUnknown, refusing(annotary.CodeUnknown, "the connection to the server was lost, or it did not answer in time"))
	u.fault = nil
	return u.answer(sentences[annotary.CodeUnknown])
}

// fail records a failure.
func (m *matter) fail(err error) {
	result := resultOf(err)
	code := annotary.CodeOf(err)
	switch {
	case result == audit.Unknown:
		code = annotary.CodeUnknown
	case errors.Is(err, upstream.ErrUnreachable):
		code = annotary.CodeConnect
	}
	m.finish(result, code, 0)
}

// end records a response.
func (m *matter) end(msg []byte) {
	result := audit.OK
	switch {
	case strict.Get(msg, "error") != nil:
		result = audit.Failed
	case strict.KindOf(strict.Get(msg, "result", "isError")) == strict.True:
		result = audit.ToolError
	}
	m.finish(result, "", len(msg))
}

// resultOf says how a call ended that got no answer. Where it may have reached
// the server, what it did is unknown.
func resultOf(err error) audit.Result {
	switch {
	case errors.Is(err, context.Canceled):
		return audit.Cancelled
	case errors.Is(err, upstream.ErrRejected):
		return audit.Failed
	case errors.Is(err, upstream.ErrStopped), errors.Is(err, upstream.ErrSilent), errors.Is(err, upstream.ErrBroken),
		errors.Is(err, upstream.ErrOverrun), errors.Is(err, context.DeadlineExceeded):
		return audit.Unknown
	default:
		return audit.Failed
	}
}

// followed is a stream that tells the matter how it ended.
type followed struct {
	upstream.Stream
	m      *matter
	events bool // what is passed on are events
	once   sync.Once
	told   bool // the last word was ours
}

// Next returns the next item.
func (f *followed) Next(ctx context.Context) (upstream.Item, error) {
	if f.told {
		return upstream.Item{}, io.EOF
	}
	it, err := f.Stream.Next(ctx)
	switch {
	case err == nil && (it.Final || isResponse(it.Msg)):
		f.once.Do(func() { f.m.end(it.Msg) })
	case errors.Is(err, io.EOF): // the response, if any, comes on another stream
		f.once.Do(func() { f.m.finish(audit.Unknown, "", 0) })
	case err != nil && ctx.Err() == nil:
		f.once.Do(func() { f.m.fail(err) })
		if msg := f.m.unknown(err); msg != nil {
			f.told = true
			it = upstream.Item{Msg: msg, Final: true}
			if f.events {
				it.Event = rpc.AppendEvent(nil, "", msg)
			}
			return it, nil
		}
	}
	return it, err
}

// Close gives the stream up. A call without a response was cancelled.
func (f *followed) Close() {
	f.Stream.Close()
	f.once.Do(func() { f.m.finish(audit.Cancelled, "", 0) })
}
