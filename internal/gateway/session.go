package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// A Session is what lasts longer than a call: what a client of the legacy era
// opened with initialize, or the pipe of a client without HTTP. Its leg leads to
// the server in service under its name: when that one is replaced, the
// handshake is repeated with the next as the client spoke it.
type Session struct {
	ID        string
	Era       upstream.Era
	Principal annotary.Principal
	Server    string
	Dir       string

	mute bool // it is ours: the handshake is, and nobody could answer a question

	mu        sync.Mutex
	server    *upstream.Server
	leg       upstream.Leg
	hello     []byte               // initialize as the client sent it
	ready     []byte               // notifications/initialized as the client sent it
	questions map[string]*question // that wait for the client's answer
	without   []string             // capabilities the server does not have
	own       map[string]pending   // questions of ours that do
}

// leg returns the way this call takes.
func (c *Call) leg(ctx context.Context, s *upstream.Server) (upstream.Leg, error) {
	if c.Session == nil {
		return s.Leg(upstream.Who{Principal: Owner(&c.Principal), Dir: c.Dir}, c.Era), nil
	}
	c.Session.note(&c.Message)
	return c.Session.on(ctx, s)
}

// Owner names a principal and its client so that no two share a name: what
// belongs to one is kept from all others.
func Owner(p *annotary.Principal) string { return p.ID() + "/" + p.Client }

// note keeps the client's side of the handshake.
func (s *Session) note(m *rpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "initialize":
		s.hello = bytes.Clone(m.Raw)
	case "notifications/initialized":
		s.ready = bytes.Clone(m.Raw)
	}
}

// on returns the session's leg to this server.
func (s *Session) on(ctx context.Context, server *upstream.Server) (upstream.Leg, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == server {
		return s.leg, nil
	}
	old := s.leg
	s.server = server
	s.leg = server.Leg(upstream.Who{Principal: Owner(&s.Principal), Dir: s.Dir, Session: s.ID}, s.Era)
	switch {
	case old != nil:
		go leave(old)
	case !s.mute: // the client's own handshake follows
		return s.leg, nil
	}
	if err := s.greet(ctx); err != nil {
		s.server = nil // the next call tries again
		return nil, err
	}
	return s.leg, nil
}

// greet repeats the handshake on a new leg.
func (s *Session) greet(ctx context.Context) error {
	for _, raw := range [][]byte{s.hello, s.ready} {
		if raw == nil {
			continue
		}
		m, err := rpc.Parse(raw, strict.Limits{})
		if err != nil {
			return err
		}
		a, err := s.leg.Send(ctx, &m, nil)
		if err != nil {
			return err
		}
		err = settled(ctx, a)
		a.Close()
		if err != nil {
			return fmt.Errorf("repeating the handshake: %w", err)
		}
	}
	return nil
}

// settled reads an answer to its end and reports whether it is good.
func settled(ctx context.Context, a *upstream.Answer) error {
	body := a.Body
	for a.Stream != nil && strict.Get(body, "result") == nil {
		it, err := a.Stream.Next(ctx)
		if err != nil {
			return err
		}
		body = it.Msg
	}
	if a.Status >= http.StatusBadRequest || strict.Get(body, "error") != nil {
		return upstream.ErrNoSession
	}
	return nil
}

// leave ends the session on a server that was replaced.
func leave(leg upstream.Leg) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	leg.Close(ctx)
}

const leaveTimeout = 5 * time.Second

func (s *Session) end(ctx context.Context) int {
	s.mu.Lock()
	leg := s.leg
	s.mu.Unlock()
	if leg == nil {
		return http.StatusOK
	}
	return leg.Close(ctx)
}
