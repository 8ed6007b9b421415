package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// pipeLeg is one client of a command.
type pipeLeg struct {
	server *Server
	who    Who
	era    Era

	once sync.Once // attach
	in   *instance

	// Guarded by the instance's lock.
	inflight   map[string]int64 // the client's id to the child's number
	subscribed map[string]bool  // resources, by URI
	outbox     *queue           // what belongs to no call
}

const outboxBytes = 1 << 20

// join finds the instance that serves the leg. A leg with a session stays
// attached until it is closed.
func (l *pipeLeg) join(hello *rpc.Message) {
	l.once.Do(func() {
		k := key{era: l.era}
		var raw []byte
		if hello != nil {
			raw = append(raw, hello.Raw...)
			k.hello = string(strict.Get(hello.Params(), "protocolVersion")) + string(strict.Get(hello.Params(), "capabilities"))
		}
		sharing := l.server.opts.Sharing
		if l.server.Command == "" {
			sharing = PerSession // the old transport has one stream for each client
		}
		switch sharing {
		case PerPrincipal:
			k.principal, k.dir = l.who.Principal, l.who.Dir
		case PerSession:
			k.principal, k.dir, k.session = l.who.Principal, l.who.Dir, l.who.Session
		case Shared:
		}
		l.inflight, l.subscribed = map[string]int64{}, map[string]bool{}
		l.outbox = newQueue(outboxBytes, 0)
		l.outbox.lossy = true
		l.in = l.server.instance(k, raw, l)
	})
}

// Send forwards one message to the child.
func (l *pipeLeg) Send(ctx context.Context, m *rpc.Message, _ http.Header) (*Answer, error) {
	if l.era == EraModern {
		l.join(nil)
	} else if m.Method == "initialize" {
		return l.open(ctx, m)
	}
	switch {
	case l.in == nil:
		return nil, fmt.Errorf("%w: initialize comes first", ErrNoSession)
	case m.Kind == rpc.Response:
		return l.reply(ctx, m)
	case m.Kind == rpc.Notification:
		return l.notify(ctx, m)
	}
	return l.call(ctx, m)
}

// open answers initialize. The child hears it once; those who come later and
// say the same get the same answer.
func (l *pipeLeg) open(ctx context.Context, m *rpc.Message) (*Answer, error) {
	l.join(m)
	if _, err := l.in.running(ctx); err != nil {
		return refused(m, err)
	}
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	return &Answer{Status: http.StatusOK, Session: true, Body: l.in.welcome.Splice(rpc.Splice{ID: m.ID()})}, nil
}

// refused makes an answer of a child's refusal.
func refused(m *rpc.Message, err error) (*Answer, error) {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return nil, err
	}
	status := http.StatusOK
	if r.fault.Code == rpc.CodeUnsupportedVersion {
		status = http.StatusBadRequest
	}
	return &Answer{Status: status, Body: r.fault.Answer(m.ID())}, nil
}

func (l *pipeLeg) call(ctx context.Context, m *rpc.Message) (*Answer, error) {
	if answer := l.note(m); answer != nil {
		return &Answer{Status: http.StatusOK, Body: answer}, nil
	}
	q, err := l.forward(ctx, m)
	if err != nil {
		return refused(m, err)
	}
	if m.Method == "subscriptions/listen" {
		unhook := context.AfterFunc(l.server.retired, func() { q.fail(errRetired) })
		return &Answer{Status: http.StatusOK, Stream: q, done: func() { unhook() }}, nil
	}
	return &Answer{Status: http.StatusOK, Stream: q}, nil
}

// forward puts the call on the pipe of the child that runs. One that ended before
// it could be written went nowhere, and is tried once more: by the next instance,
// if this one was stopped because nobody seemed to use it.
func (l *pipeLeg) forward(ctx context.Context, m *rpc.Message) (*queue, error) {
	for last := false; ; last = true {
		q, err := l.try(ctx, m)
		if err == nil || last || !errors.Is(err, errGone) && !errors.Is(err, errStopped) {
			return q, err
		}
		if l.who.Session == "" {
			l.in = l.server.instance(l.in.key, nil, l)
		}
	}
}

func (l *pipeLeg) try(ctx context.Context, m *rpc.Message) (*queue, error) {
	c, err := l.in.running(ctx)
	if err != nil {
		return nil, err
	}
	return c.forward(ctx, m, &call{leg: l})
}

// note remembers what a restarted child must be told again. It answers an
// unsubscription itself while another session still wants the resource.
func (l *pipeLeg) note(m *rpc.Message) []byte {
	if l.era != EraLegacy {
		return nil
	}
	in := l.in
	switch m.Method {
	case "logging/setLevel":
		in.mu.Lock()
		defer in.mu.Unlock()
		in.replay[m.Method] = append([]byte(nil), m.Raw...)
	case "resources/subscribe":
		uri, _ := strict.Text(strict.Get(m.Params(), "uri"))
		in.mu.Lock()
		defer in.mu.Unlock()
		l.subscribed[uri] = true
		in.replay["subscribe "+uri] = append([]byte(nil), m.Raw...)
	case "resources/unsubscribe":
		uri, _ := strict.Text(strict.Get(m.Params(), "uri"))
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(l.subscribed, uri)
		for other := range in.legs {
			if other.subscribed[uri] {
				return rpc.NewResult(m.ID(), []byte("{}"))
			}
		}
		delete(in.replay, "subscribe "+uri)
	}
	return nil
}

var accepted = Answer{Status: http.StatusAccepted}

// notify forwards a notification. One about a call speaks of it by our number.
func (l *pipeLeg) notify(ctx context.Context, m *rpc.Message) (*Answer, error) {
	raw := m.Raw
	l.in.mu.Lock()
	c := l.in.child
	pass := c != nil
	switch m.Method {
	case "notifications/cancelled":
		n, known := l.inflight[string(m.RequestID())]
		raw, pass = m.Splice(rpc.Splice{RequestID: fmt.Append(nil, n)}), pass && known
	case "notifications/initialized":
		pass = pass && l.in.ready == nil // the child hears it once
		if l.in.ready == nil {
			l.in.ready = append([]byte(nil), m.Raw...)
		}
	}
	l.in.mu.Unlock()
	answer := accepted
	if !pass {
		return &answer, nil
	}
	return &answer, c.send(ctx, append([]byte(nil), raw...))
}

// reply brings the client's answer to the child that asked.
func (l *pipeLeg) reply(ctx context.Context, m *rpc.Message) (*Answer, error) {
	id := string(m.ID())
	l.in.mu.Lock()
	c := l.in.child
	mine := c != nil && c.questions[id] == l
	if mine {
		delete(c.questions, id)
	}
	l.in.mu.Unlock()
	answer := accepted
	if !mine {
		return &answer, nil // too late, or never asked
	}
	return &answer, c.send(ctx, append([]byte(nil), m.Raw...))
}

// deliver brings a message that names no call to the client: on the stream of
// its only call, else with what belongs to no call. The lock is held.
func (l *pipeLeg) deliver(c *child, m *rpc.Message) {
	if len(l.inflight) == 1 {
		for _, n := range l.inflight {
			if cl := c.calls[n]; cl != nil && cl.q.put(Item{Msg: m.Raw}) {
				return
			}
		}
	}
	l.outbox.put(Item{Msg: m.Raw})
}

// Listen returns the stream of what belongs to no call. There is one; it can be
// left and taken up again.
func (l *pipeLeg) Listen(context.Context, string) (*Answer, error) {
	if l.in == nil {
		return nil, ErrNoSession
	}
	return &Answer{Status: http.StatusOK, Stream: kept{l.outbox}}, nil
}

// kept is a stream that outlives its reader.
type kept struct{ *queue }

// Close leaves the stream as it is.
func (kept) Close() {}

// Cancel leaves the stream as it is: it belongs to no call.
func (kept) Cancel() {}

// Close detaches the client: its calls are cancelled, its open questions
// answered with an error.
func (l *pipeLeg) Close(context.Context) int {
	if l.in == nil {
		return http.StatusOK
	}
	in := l.in
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.legs, l)
	l.outbox.fail(errRetired)
	if c := in.child; c != nil {
		for _, n := range l.inflight {
			if cl := c.calls[n]; cl != nil {
				delete(c.calls, n)
				cl.q.fail(ErrClosed)
			}
			c.reply(rpc.NewNotification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d}`, n)))
		}
		for id, asked := range c.questions {
			if asked == l {
				delete(c.questions, id)
				c.reply((&rpc.Fault{Code: rpc.CodeInternal, Message: "the client has left"}).Answer([]byte(id)))
			}
		}
	}
	clear(l.inflight)
	if in.key.session != "" { // nobody else will ever come
		go in.retire()
	}
	in.rest()
	return http.StatusOK
}

// ErrClosed is said of calls whose session was closed under them.
var ErrClosed = fmt.Errorf("%w: its session was closed", ErrStopped)
