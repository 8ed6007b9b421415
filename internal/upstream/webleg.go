package upstream

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// webLeg forwards over streamable HTTP. A modern leg has no state; a legacy one
// is a session of the server.
type webLeg struct {
	server *Server
	who    Who
	era    Era

	mu      sync.Mutex
	session string   // the server's own id
	version string   // what was negotiated
	old     *pipeLeg // set if the server speaks only the old transport
}

// Send posts the message as it is.
func (l *webLeg) Send(ctx context.Context, m *rpc.Message, header http.Header) (*Answer, error) {
	if old := l.oldTransport(); old != nil {
		return old.Send(ctx, m, header)
	}
	h := l.header(header)
	h["Content-Type"] = typeJSON
	if h["Accept"] == nil {
		h["Accept"] = typeBoth
	}
	if header == nil && l.era == EraModern {
		if err := l.server.describe(h, m); err != nil {
			return nil, err
		}
	}
	res, err := l.server.roundTrip(ctx, http.MethodPost, h, m.Raw)
	if err != nil {
		return nil, err
	}
	if m.Method == "initialize" && res.StatusCode < 300 {
		l.opened(res)
	}
	a, err := l.server.answer(ctx, res)
	if m.Method == "initialize" && a != nil && a.Body == nil &&
		(a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed) {
		return l.tryOld(ctx, m, a, err)
	}
	if err == nil {
		l.learn(m, header, a)
	}
	return a, err
}

func (l *webLeg) oldTransport() *pipeLeg {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.old
}

// tryOld offers the old transport to a server that does not know this one. If
// that fails too, its first answer stands.
func (l *webLeg) tryOld(ctx context.Context, m *rpc.Message, first *Answer, firstErr error) (*Answer, error) {
	old := &pipeLeg{server: l.server, who: l.who, era: EraLegacy}
	a, err := old.Send(ctx, m, nil)
	if err != nil {
		old.Close(ctx)
		return first, firstErr
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.old = old
	return a, nil
}

// learn reads what later requests need from answers that say it: the version
// negotiated and, for clients without headers, which arguments are repeated in
// headers.
func (l *webLeg) learn(m *rpc.Message, header http.Header, a *Answer) {
	var read func(msg []byte)
	switch {
	case m.Method == "initialize":
		read = func(msg []byte) {
			v, _ := strict.Text(strict.Get(msg, "result", "protocolVersion"))
			l.mu.Lock()
			defer l.mu.Unlock()
			l.version = v
		}
	case m.Method == "tools/list" && header == nil && l.era == EraModern:
		read = func(msg []byte) { l.server.params.learn(strict.Get(msg, "result")) }
	default:
		return
	}
	if a.Stream != nil {
		a.Stream = &overheard{a.Stream, read}
	} else {
		read(a.Body)
	}
}

// overheard is a stream whose messages are read on their way.
type overheard struct {
	Stream
	read func(msg []byte)
}

// Next returns the next item.
func (o *overheard) Next(ctx context.Context) (Item, error) {
	it, err := o.Stream.Next(ctx)
	if err == nil && strict.Get(it.Msg, "result") != nil {
		o.read(it.Msg)
	}
	return it, err
}

var (
	typeJSON   = []string{"application/json"}
	typeBoth   = []string{"application/json, text/event-stream"}
	typeEvents = []string{"text/event-stream"}
)

// passed are the headers of a client that go on to the server. Everything else,
// its credentials first of all, ends here.
var passed = []string{"Accept", rpc.HeaderVersion, rpc.HeaderMethod, rpc.HeaderName, "Traceparent", "Tracestate"}

// header makes the header of a request: what was configured, what the client
// may add, and the session.
func (l *webLeg) header(from http.Header) http.Header {
	h := l.server.ownHeader()
	for _, name := range passed {
		if v := from[name]; v != nil && h[name] == nil {
			h[name] = v
		}
	}
	for name, v := range from {
		if strings.HasPrefix(name, rpc.HeaderParam) && h[name] == nil {
			h[name] = v
		}
	}
	if l.era == EraLegacy {
		l.mu.Lock()
		if l.session != "" {
			h[rpc.HeaderSession] = []string{l.session}
		}
		if l.version != "" && h[rpc.HeaderVersion] == nil {
			h[rpc.HeaderVersion] = []string{rpc.EncodeHeader(l.version)}
		}
		l.mu.Unlock()
	}
	return h
}

// opened remembers the session a server gave to initialize.
func (l *webLeg) opened(res *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = res.Header.Get(rpc.HeaderSession)
}

// Listen opens the server's GET stream.
func (l *webLeg) Listen(ctx context.Context, lastEvent string) (*Answer, error) {
	if old := l.oldTransport(); old != nil {
		return old.Listen(ctx, lastEvent)
	}
	h := l.header(nil)
	h["Accept"] = typeEvents
	if lastEvent != "" {
		h[rpc.HeaderLastEvent] = []string{lastEvent}
	}
	res, err := l.server.roundTrip(ctx, http.MethodGet, h, nil)
	if err != nil {
		return nil, err
	}
	a, err := l.server.answer(ctx, res)
	if a != nil && a.Stream != nil {
		a.Stream.(*eventStream).endless = true
	}
	return a, err
}

// Close deletes the session.
func (l *webLeg) Close(ctx context.Context) int {
	if old := l.oldTransport(); old != nil {
		return old.Close(ctx)
	}
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session == "" {
		return http.StatusOK
	}
	res, err := l.server.roundTrip(ctx, http.MethodDelete, l.header(nil), nil)
	if err != nil {
		return http.StatusBadGateway
	}
	_ = res.Body.Close()
	return res.StatusCode
}
