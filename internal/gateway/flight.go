package gateway

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// A flight is a call under way, as far as a kill needs to know it.
type flight struct {
	kills              *Kills
	server, tool, user string
	ctx                context.Context //nolint:containedctx // done when the call was killed or has ended
	cancel             context.CancelFunc
	killer             atomic.Pointer[Kill]
	once               sync.Once
}

// enter has the call stopped when a kill comes that is meant for it. It is
// entered before kills are looked at, so that none falls in between.
func (m *matter) enter(ctx context.Context) context.Context {
	f := &flight{kills: m.judge.Kills, server: m.server.Name, tool: m.toolName(), user: m.call.Principal.Subject}
	f.ctx, f.cancel = context.WithCancel(ctx)
	m.flight = f
	if k := f.kills; k != nil {
		k.mu.Lock()
		k.flights[f] = struct{}{}
		k.mu.Unlock()
	}
	return f.ctx
}

// toolName is the tool the call is of; empty for what is no tool.
func (m *matter) toolName() string {
	if m.action != policy.Call {
		return ""
	}
	return m.entry.Tool
}

func (f *flight) kill(k *Kill) {
	f.killer.CompareAndSwap(nil, k)
	f.cancel()
}

// killed returns the kill that stopped the call, nil if none did.
func (f *flight) killed() *Kill {
	if f == nil {
		return nil
	}
	return f.killer.Load()
}

// leave ends the flight.
func (f *flight) leave() {
	f.once.Do(func() {
		f.cancel()
		if k := f.kills; k != nil {
			k.mu.Lock()
			delete(k.flights, f)
			k.mu.Unlock()
		}
	})
}

// land brings the answer of a call home. What a kill stopped is cancelled at the
// server, and whatever came back of it is withheld.
func (m *matter) land(a *upstream.Answer, err error) (*upstream.Answer, error) {
	f := m.flight
	if a == nil && err == nil { // something panicked
		f.leave()
		return nil, nil
	}
	if waits(a) { // nothing is under way yet; it comes through the line again
		f.leave()
		return a, err
	}
	killed := f.killed() != nil && (m.told == "" || err != nil || m.told == annotary.CodeStore)
	if !killed && err == nil && a.Stream != nil {
		a.Stream = &stoppable{Stream: a.Stream, m: m}
		return a, nil
	}
	defer f.leave()
	if !killed {
		return a, err
	}
	if a != nil {
		if a.Stream != nil {
			a.Stream.Cancel()
		}
		a.Close()
	}
	m.recall()
	return m.stopped(), nil
}

// stopped is the answer to a call that was killed under way.
func (m *matter) stopped() *upstream.Answer {
	d := m.flight.killed().decision()
	if m.told == "" {
		d.Reasons[0].Hint = "It was stopped while it ran: whether it had an effect is unknown."
	}
	m.refuse(annotary.CodeKilled, d)
	m.fault, m.wants = nil, nil
	return m.refusal()
}

// recallWithin is how long a server may take to hear that a call is cancelled.
const recallWithin = 5 * time.Second

// recall tells a URL of the legacy era that the call is cancelled. To one of the
// modern era closing the answer says it, and a command was told by Cancel.
func (m *matter) recall() {
	if m.call.Era != upstream.EraLegacy || m.server.Command != "" {
		return
	}
	raw := rpc.NewNotification("notifications/cancelled", append(append([]byte(`{"requestId":`), m.call.Message.ID()...), `,"reason":"stopped by the operator"}`...))
	note, err := rpc.Parse(raw, strict.Limits{})
	if err != nil { // the id was parsed before
		return
	}
	call := *m.call
	call.Message = note
	m.judge.writing.Go(func() {
		ctx, done := context.WithTimeout(context.Background(), recallWithin)
		defer done()
		leg, err := call.leg(ctx, m.server)
		if err != nil {
			return // it is gone, and with it the call
		}
		if a, err := leg.Send(ctx, &note, call.Header); err == nil {
			a.Close()
		}
	})
}

// stoppable is the stream of a call that may be killed: then its last message
// says so.
type stoppable struct {
	upstream.Stream
	m     *matter
	ended bool
}

// Next returns the next item.
func (s *stoppable) Next(ctx context.Context) (upstream.Item, error) {
	if s.ended {
		return upstream.Item{}, io.EOF
	}
	merged, stop := context.WithCancel(ctx)
	defer stop()
	unhook := context.AfterFunc(s.m.flight.ctx, stop)
	defer unhook()
	it, err := s.Stream.Next(merged)
	if s.m.flight.killed() == nil {
		return it, err
	}
	s.ended = true
	s.Cancel()
	s.m.recall()
	msg := s.m.stopped().Body
	return upstream.Item{Msg: msg, Event: rpc.AppendEvent(nil, "", msg), Final: true}, nil
}

// Close gives the stream up.
func (s *stoppable) Close() {
	s.Stream.Close()
	s.m.flight.leave()
}
