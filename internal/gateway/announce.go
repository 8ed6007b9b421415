package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// listChanged is what clients are told when their tools are no longer as listed.
var listChanged = []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)

// audience are the streams on which clients hear of what belongs to no call.
type audience struct {
	mu      sync.Mutex
	streams map[*announced]bool
}

// Announce tells clients that the tools of these servers are no longer as
// listed: those who listen to what belongs to no call.
func (g *Gateway) Announce(servers ...string) {
	g.audience.mu.Lock()
	defer g.audience.mu.Unlock()
	for s := range g.audience.streams {
		if slices.Contains(servers, s.server) {
			select {
			case s.changed <- struct{}{}:
			default: // it will be told
			}
		}
	}
}

// announced is a stream with our own announcements between what comes from the
// server.
type announced struct {
	*awaited
	server string
	events bool   // the client gets events as they are
	msg    []byte // the announcement
	leave  func()

	changed chan struct{}
	begun   bool // the server has said something: only Next looks
}

// announce puts announcements on an answer's stream. Of a modern client, only on
// one that wants them.
func (g *Gateway) announce(server string, call *rpc.Message, a *upstream.Answer) {
	if a.Stream == nil {
		return
	}
	msg, modern := listChanged, call != nil
	if modern {
		if strict.KindOf(strict.Get(call.Params(), "notifications", "toolsListChanged")) != strict.True {
			return
		}
		msg = strict.Set(slices.Clone(msg), call.ID(), "params", "_meta", rpc.MetaSubscription)
	}
	s := &announced{
		awaited: newAwaited(a.Stream), server: server, events: a.Events, msg: msg,
		changed: make(chan struct{}, 1),
		begun:   !modern, // a modern stream begins with the server's acknowledgement
	}
	g.audience.mu.Lock()
	defer g.audience.mu.Unlock()
	if g.audience.streams == nil {
		g.audience.streams = map[*announced]bool{}
	}
	g.audience.streams[s] = true
	s.leave = func() {
		g.audience.mu.Lock()
		defer g.audience.mu.Unlock()
		delete(g.audience.streams, s)
	}
	a.Stream = s
}

// Next returns the next item of the server, or an announcement.
func (s *announced) Next(ctx context.Context) (upstream.Item, error) {
	changed := s.changed
	if !s.begun {
		changed = nil
	}
	select {
	case c := <-s.ask(ctx):
		s.begun = true
		return s.got(c)
	case <-changed:
		it := upstream.Item{Msg: s.msg}
		if s.events {
			it.Event = rpc.AppendEvent(nil, "", s.msg)
		}
		return it, nil
	case <-ctx.Done():
		return upstream.Item{}, ctx.Err()
	}
}

// Close leaves the audience and gives the stream up.
func (s *announced) Close() {
	s.leave()
	s.awaited.Close()
}
