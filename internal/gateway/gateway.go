// Package gateway is the line: the way of a call from a client to a server and
// back.
//
// [Gateway.Call] is one straight function; each stage gets values and returns
// values:
//
//	wire: receive ─▶ resolve ─▶ decide ─▶ approve ─▶ record ─▶ forward ─▶ record ─▶ wire: deliver
//
// A [Judge] does the middle. Without one, messages are resolved and forwarded.
//
// The package speaks no HTTP to clients (internal/wire does) and none to
// servers (internal/upstream does).
package gateway

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/upstream"
)

// CodeUnknownServer is said of a name nobody configured.
const CodeUnknownServer annotary.Code = "unknown_server"

// A Call is one message of a client on its way to a server.
type Call struct {
	Principal annotary.Principal
	Server    string
	Era       upstream.Era
	Dir       string // the working directory of the client's process, if known
	Message   rpc.Message
	Header    http.Header // what the client sent along; nil if it speaks without
	Session   *Session    // of the legacy era; nil for a call that stands alone
	ReadOnly  bool        // it came in where only reads are served

	matter  *matter         // while it is before a judge
	asked   bool            // a person was asked about it within the client
	refused error           // why what that person said does not count
	door    *annotary.Class // the worst it may do; nil if it was not dispatched
}

// A Gateway takes calls from clients to servers.
type Gateway struct {
	// Servers are those in service, by name. They are replaced as one.
	servers atomic.Pointer[map[string]*upstream.Server]
	// Judge decides about calls. Without one, everything passes.
	judge atomic.Pointer[Judge]

	branches branches // sessions of dispatched calls
	shares   shares   // reads under way
	drafts   drafts   // calls that wait for a person and can be tried

	mu       sync.Mutex // one reload at a time
	leaving  sync.WaitGroup
	audience audience
}

// New makes a gateway in front of these servers.
func New(servers ...*upstream.Server) *Gateway {
	g := &Gateway{}
	g.servers.Store(byName(servers))
	return g
}

func byName(servers []*upstream.Server) *map[string]*upstream.Server {
	m := make(map[string]*upstream.Server, len(servers))
	for _, s := range servers {
		m[s.Name] = s
	}
	return &m
}

// Call takes one message through the line. The answer must be closed.
func (g *Gateway) Call(ctx context.Context, call *Call) (*upstream.Answer, error) {
	if call.Server == Find {
		return g.find(ctx, call)
	}
	server, err := g.resolve(call.Server)
	if err != nil {
		return nil, err
	}
	held := true
	defer func() { // also when something panicked
		if held {
			server.Release()
		}
	}()
	answer, err := g.through(ctx, server, call)
	switch {
	case err != nil:
		return nil, err
	case call.Message.Method == "subscriptions/listen":
		g.announce(call.Server, &call.Message, answer)
	case !waits(answer): // what waits, for events or a person, must not hold up a reload
		held = false
		answer.OnClose(server.Release)
	}
	return answer, nil
}

// Use puts a judge over the calls that come from now on; nil lets everything
// pass.
func (g *Gateway) Use(j *Judge) { g.judge.Store(j) }

// through takes a message past the judge, where there is one, to the server.
func (g *Gateway) through(ctx context.Context, s *upstream.Server, call *Call) (*upstream.Answer, error) {
	judge := g.judge.Load()
	if judge == nil && call.ReadOnly {
		return nil, errUnjudged()
	}
	if judge == nil {
		return g.forward(ctx, s, call)
	}
	if judge.bars(&call.Principal, s.Name) {
		return nil, judge.open(s, call).absent(ctx)
	}
	if call.Message.Kind == rpc.Response {
		return g.reply(ctx, judge, s, call)
	}
	if answer := judge.own(ctx, s, call); answer != nil {
		return answer, nil
	}
	if show := judge.shows(ctx, s, call); show != nil {
		answer, err := g.forward(ctx, s, call)
		return onFinal(answer, err, show)
	}
	call.Session.cancelled(&call.Message)
	if m := judge.open(s, call); m != nil {
		return g.judged(ctx, m)
	}
	return g.forward(ctx, s, call)
}

// judged is the line: resolve, decide, approve, record, forward, record. What cannot be
// recorded does not happen; a read that can neither change nor carry anything is
// forwarded while its entry is being written, and its result waits for it.
func (g *Gateway) judged(ctx context.Context, m *matter) (answer *upstream.Answer, err error) {
	if err := m.resolve(ctx); err != nil {
		return nil, err
	}
	ctx = m.enter(ctx)
	defer func() { answer, err = m.land(answer, err) }()
	m.decide()
	question, err := g.approve(ctx, m)
	if err != nil {
		return m.unrecorded(err)
	}
	durable, overlap := m.record(ctx), m.mayOverlap()
	if m.told != "" || !overlap {
		if err := durable(); err != nil {
			return m.unrecorded(err)
		}
	}
	if m.told != "" {
		m.finish(audit.Refused, m.decision.Reasons[0].Code, 0)
		if question != nil {
			return question, nil
		}
		return m.refusal(), nil
	}
	answer, err = g.act(ctx, m)
	if overlap {
		if lost := durable(); lost != nil {
			if err == nil {
				answer.Close()
			}
			return m.unrecorded(lost)
		}
	}
	return m.follow(m.carryOn(answer, err))
}

// resolve finds the server in service under this name and keeps it in service.
func (g *Gateway) resolve(name string) (*upstream.Server, error) {
	for {
		s := (*g.servers.Load())[name]
		if s == nil {
			return nil, annotary.E(CodeUnknownServer, "there is no server of this name", nil)
		}
		if s.Acquire() {
			return s, nil
		} // it was replaced a moment ago: look again
	}
}

// forward sends the message to the server as it is.
func (g *Gateway) forward(ctx context.Context, s *upstream.Server, call *Call) (*upstream.Answer, error) {
	leg, err := call.leg(ctx, s)
	if err != nil {
		return nil, err
	}
	return g.send(ctx, s, call, leg)
}

// send puts the message on the way to the server.
func (g *Gateway) send(ctx context.Context, s *upstream.Server, call *Call, leg upstream.Leg) (*upstream.Answer, error) {
	answer, err := leg.Send(ctx, &call.Message, call.Header)
	if g.judge.Load() == nil {
		return answer, err
	}
	return inbound{g, s, call, leg}.hear(ctx, answer, err)
}

// Listen opens the stream of what belongs to no call of a session.
func (g *Gateway) Listen(ctx context.Context, session *Session, lastEvent string) (*upstream.Answer, error) {
	if session.Server == Find { // it says nothing unasked
		return &upstream.Answer{Status: http.StatusMethodNotAllowed}, nil
	}
	server, err := g.resolve(session.Server)
	if err != nil {
		return nil, err
	}
	defer server.Release()
	if judge := g.judge.Load(); judge != nil && judge.bars(&session.Principal, server.Name) {
		return nil, errNoServer()
	}
	leg, err := session.on(ctx, server)
	if err != nil {
		return nil, err
	}
	answer, err := leg.Listen(ctx, lastEvent)
	call := &Call{Principal: session.Principal, Server: session.Server, Era: session.Era, Session: session}
	answer, err = inbound{g, server, call, leg}.hear(ctx, answer, err)
	if err == nil {
		g.announce(session.Server, nil, answer)
	}
	return answer, err
}

// End ends a session and says how its server took it, as an HTTP status.
func (g *Gateway) End(ctx context.Context, session *Session) int {
	if session.Server == Find {
		g.branches.end(session.ID)
	}
	return session.end(ctx)
}

// Replace puts other servers in service. Those that are in both sets go on;
// the others finish their calls and end.
func (g *Gateway) Replace(servers ...*upstream.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := byName(servers)
	last := *g.servers.Swap(next)
	for name, s := range last {
		if (*next)[name] != s {
			s.Retire()
			g.leaving.Go(s.Wait)
		}
	}
}

// Wait returns when all servers that were taken out of service have ended.
func (g *Gateway) Wait() { g.leaving.Wait() }

// Servers returns those in service, by name.
func (g *Gateway) Servers() map[string]*upstream.Server { return *g.servers.Load() }
