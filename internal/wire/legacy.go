package wire

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/upstream"
)

// legacySession is a session and what its client may ask for again.
type legacySession struct {
	*gateway.Session
	reads bool // it was opened where only reads are served

	mu      sync.Mutex
	log     *session.Log    // nil until a stream needs it
	general *session.Events // what belongs to no call
}

// logBytes is how much of its streams a session keeps for a client that lost
// its connection.
const logBytes = 1 << 20

func (s *legacySession) events() *session.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		s.log = session.NewLog(logBytes)
	}
	return s.log
}

// endSession ends what a session held upstream.
func (h *Handler) endSession(s *legacySession) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	h.gateway.End(ctx, s.Session)
}

// legacy serves a message of the legacy era.
func (x *exchange) legacy(m rpc.Message) {
	id := x.r.Header.Get(rpc.HeaderSession)
	switch {
	case m.Kind == rpc.Request && m.Method == "initialize":
		x.open(m)
	case id != "":
		s, ok := x.session(id)
		if !ok {
			x.fail(upstream.ErrNoSession)
			return
		}
		defer x.sessions.Release(id)
		x.send(m, s)
	case m.Kind == rpc.Response:
		x.fail(errNeedsSession)
	default: // the server may do without sessions; a command does not
		x.send(m, nil)
	}
}

// session finds a session of this caller at this address.
func (x *exchange) session(id string) (*legacySession, bool) {
	s, ok := x.sessions.Acquire(id, x.owner)
	if ok && (s.Server != x.server || s.reads != x.reads) {
		x.sessions.Release(id)
		return nil, false
	}
	return s, ok
}

// open begins a session. It lasts if the server opened one of its own.
func (x *exchange) open(m rpc.Message) {
	s := &legacySession{reads: x.reads, Session: &gateway.Session{
		ID: session.NewID(), Era: upstream.EraLegacy, Principal: x.who, Server: x.server,
	}}
	if err := x.sessions.Add(s.ID, x.owner, s); err != nil {
		x.fail(err)
		return
	}
	defer x.sessions.Release(s.ID)
	answer, err := x.call(x.r.Context(), m, s)
	if err != nil || !answer.Session || answer.Status >= http.StatusBadRequest {
		defer x.sessions.Remove(s.ID)
	} else {
		x.w.Header()[rpc.HeaderSession] = []string{s.ID}
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.deliver(answer, nil)
}

func (x *exchange) call(ctx context.Context, m rpc.Message, s *legacySession) (*upstream.Answer, error) {
	call := &gateway.Call{Principal: x.who, Server: x.server, Era: upstream.EraLegacy, Message: m, Header: x.r.Header, ReadOnly: x.reads}
	if s != nil {
		call.Session = s.Session
	}
	return x.gateway.Call(ctx, call)
}

// send forwards a message and delivers what comes back.
func (x *exchange) send(m rpc.Message, s *legacySession) {
	ctx := x.r.Context()
	if s != nil {
		ctx = x.outlive()
		defer func() {
			if !x.kept {
				x.stop()
			}
		}()
	}
	answer, err := x.call(ctx, m, s)
	switch {
	case errors.Is(err, upstream.ErrNoSession) && s == nil:
		x.fail(errNeedsSession)
	case errors.Is(err, upstream.ErrNoSession):
		x.sessions.Remove(s.ID)
		x.fail(err)
	case err != nil:
		x.fail(err)
	default:
		x.deliver(answer, s)
	}
}

// outlive returns the context of a call that goes on when its client hangs up: in
// the legacy era that cancels nothing. A command is at work from the start; a URL
// is called for the client until the call is carried on.
func (x *exchange) outlive() context.Context {
	ctx, stop := context.WithCancel(x.life)
	x.stop = stop
	if s := x.gateway.Servers()[x.server]; s == nil || s.Command == "" {
		x.unhook = context.AfterFunc(x.r.Context(), stop)
	}
	return ctx
}

// resumable turns an answer into a stream that goes on without its reader.
func (x *exchange) resumable(a *upstream.Answer, s *legacySession, first upstream.Item) {
	x.follow(x.beginEvents(), x.carryOn(a, s, first), 0)
}

// carryOn has an answer go on in its session. Until it ends it counts as a call of
// its caller: hanging up makes no room for more.
func (x *exchange) carryOn(a *upstream.Answer, s *legacySession, first upstream.Item) *session.Events {
	if x.kept = true; x.unhook != nil {
		x.unhook()
	}
	events := s.events().Open()
	if first.Msg != nil {
		events.Append(first.Msg)
	}
	id := append([]byte(nil), x.id...)
	x.sessions.Acquire(s.ID, x.owner)
	go func() {
		defer x.sessions.Release(s.ID)
		defer x.free()
		defer x.stop()
		defer a.Close()
		defer events.Finish()
		for {
			it, err := a.Stream.Next(x.life)
			if err != nil {
				_, f := faultOf(err)
				events.Append(f.Answer(id))
				return
			}
			if events.Append(it.Msg); it.Final {
				return
			}
		}
	}()
	return events
}

// follow writes a session's stream from after the event with the given number.
func (x *exchange) follow(rc *http.ResponseController, events *session.Events, seq int) {
	for {
		ctx, cancel := context.WithTimeout(x.r.Context(), x.opts.KeepAlive)
		msg, number, id, err := events.Next(ctx, seq)
		cancel()
		switch {
		case err == nil:
			seq = number
			err = x.write(rc, rpc.AppendEvent(nil, id, msg))
		case errors.Is(err, context.DeadlineExceeded) && x.r.Context().Err() == nil:
			err = x.write(rc, keepAlive)
		}
		if err != nil {
			return
		}
	}
}

// get opens the stream of what belongs to no call, or takes up a lost one.
func (x *exchange) get() {
	s, ok := x.owned()
	if !ok {
		return
	}
	defer x.sessions.Release(s.ID)
	if !x.begin(true) {
		return
	}
	defer x.leave()
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
	last := x.r.Header.Get(rpc.HeaderLastEvent)
	answer, err := x.gateway.Listen(x.r.Context(), s.Session, last)
	if err != nil {
		x.fail(err)
		return
	}
	if answer.Stream == nil || answer.Events {
		x.deliver(answer, s)
		return
	}
	defer answer.Close()
	x.listen(answer.Stream, s, last)
}

// owned finds the session a GET or DELETE names; without one these methods do
// not exist.
func (x *exchange) owned() (*legacySession, bool) {
	id := x.r.Header.Get(rpc.HeaderSession)
	if id == "" || rpc.IsModern(x.r.Header.Get(rpc.HeaderVersion)) {
		x.notAllowed("POST")
		return nil, false
	}
	s, ok := x.session(id)
	if !ok {
		x.fail(upstream.ErrNoSession)
	}
	return s, ok
}

// listen writes what a command says outside of calls; before that, what a
// client missed.
func (x *exchange) listen(stream upstream.Stream, s *legacySession, last string) {
	kept := s.events()
	s.mu.Lock()
	if s.general == nil {
		s.general = kept.Open()
	}
	general := s.general
	s.mu.Unlock()
	rc := x.beginEvents()
	events, seq, ok := kept.Find(last)
	if ok && events != general {
		x.follow(rc, events, seq)
		return
	}
	if !ok {
		seq = general.Last()
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	go func() {
		for {
			it, err := stream.Next(ctx)
			if err != nil {
				cancel() // the stream was left, or the server replaced
				return
			}
			general.Append(it.Msg)
		}
	}()
	x.r = x.r.WithContext(ctx)
	x.follow(rc, general, seq)
}

// delete ends a session.
func (x *exchange) delete() {
	s, ok := x.owned()
	if !ok {
		return
	}
	defer x.sessions.Release(s.ID)
	if s, ok = x.sessions.Take(s.ID, x.owner); !ok {
		x.fail(upstream.ErrNoSession)
		return
	}
	x.w.WriteHeader(x.gateway.End(x.r.Context(), s.Session))
}
