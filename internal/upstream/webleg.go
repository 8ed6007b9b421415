package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// newTransport is tuned for many calls to one host. Connections are given up
// before common servers do (Node: 5 s), since a call written to a connection
// that is just being closed has an unknown outcome.
func newTransport(o ServerOptions) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    o.Connect,
		ResponseHeaderTimeout:  o.Silence,
		IdleConnTimeout:        4 * time.Second,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    512,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // bytes pass as they are
		ForceAttemptHTTP2:      true,
	}
}

func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%q is not an HTTP address", raw)
	}
	return u, nil
}

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
	a, err := l.server.answer(res)
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
			h[rpc.HeaderVersion] = []string{l.version}
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
	a, err := l.server.answer(res)
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

// roundTrip sends one HTTP request. Redirects are followed within the host and
// remembered.
func (s *Server) roundTrip(ctx context.Context, method string, h http.Header, body []byte) (*http.Response, error) {
	for range 3 {
		u := s.url.Load()
		var res *http.Response
		var err error
		if s.direct != nil && method == http.MethodPost && len(body) <= directBody {
			res, err = s.direct.post(ctx, u, h, body)
		} else {
			res, err = s.transport.RoundTrip(newRequest(ctx, method, u, h, body))
		}
		if err != nil {
			return nil, transportError(ctx, err)
		}
		if res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusPermanentRedirect {
			return res, nil
		}
		to, err := u.Parse(res.Header.Get("Location"))
		_ = res.Body.Close()
		if err != nil || to.Host != u.Host || to.Scheme != u.Scheme {
			return nil, fmt.Errorf("%w: it redirects elsewhere", ErrBroken)
		}
		s.url.Store(to)
	}
	return nil, fmt.Errorf("%w: it redirects in a circle", ErrBroken)
}

func newRequest(ctx context.Context, method string, u *url.URL, h http.Header, body []byte) *http.Request {
	req := (&http.Request{
		Method: method, URL: u, Host: u.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body != nil {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req
}

// checkHeader refuses configured headers that would break a request apart.
func checkHeader(header map[string]string) error {
	for name, value := range header {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Accept", rpc.HeaderSession:
			return fmt.Errorf("the header %q is set by the protocol", name)
		}
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) ||
			strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the header %q cannot be sent", name)
		}
	}
	return nil
}

// transportError says what a failed round trip means for the call.
func transportError(ctx context.Context, err error) error {
	var op *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: %w", ErrSilent, err)
	default:
		return fmt.Errorf("%w: %w", ErrStopped, err)
	}
}

// answer turns an HTTP answer into ours. Errors that are messages pass as they
// are; others say nothing to an MCP client and become errors of ours.
func (s *Server) answer(res *http.Response) (*Answer, error) {
	a := &Answer{Status: res.StatusCode, Session: res.Header.Get(rpc.HeaderSession) != ""}
	switch contentType(res.Header) {
	case "text/event-stream":
		if res.StatusCode == http.StatusOK {
			a.Stream, a.Events = newEventStream(s, res.Body), true
			return a, nil
		}
	case "application/json":
		buf, err := rpc.ReadBody(res.Body, res.ContentLength, s.opts.MaxBytes)
		_ = res.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if looksLikeMessage(*buf, res.StatusCode) {
			a.buf, a.Body = buf, *buf
			return a, nil
		}
		rpc.PutBuffer(buf)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again
	_ = res.Body.Close()
	return a, statusErr(res.StatusCode)
}

// looksLikeMessage spares an error that is JSON but no message, such as
// {"error":"not found"}, from reaching a client that expects JSON-RPC.
func looksLikeMessage(body []byte, status int) bool {
	return len(body) > 0 && (status < 300 || strict.Get(body, "jsonrpc") != nil)
}

// statusErr says what an HTTP status without a message means; nil if all is
// well.
func statusErr(status int) error {
	switch status {
	case http.StatusAccepted, http.StatusNoContent, http.StatusOK, http.StatusMethodNotAllowed:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrLogin
	case http.StatusNotFound:
		return ErrNoSession
	default:
		return fmt.Errorf("%w: HTTP status %d", ErrBroken, status)
	}
}

func contentType(h http.Header) string {
	v := h["Content-Type"]
	if len(v) == 0 {
		return ""
	}
	media, _, _ := strings.Cut(v[0], ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// eventStream reads a server's event stream. A watchdog closes it when the
// server is silent for too long or was retired.
type eventStream struct {
	body    io.ReadCloser
	events  *rpc.Events
	silence time.Duration
	watch   *time.Timer
	unhook  func() bool
	endless bool // waits for events, belongs to no call
	once    sync.Once
	why     error
}

func newEventStream(s *Server, body io.ReadCloser) *eventStream {
	e := &eventStream{body: body, events: rpc.NewEvents(body, s.opts.MaxBytes), silence: s.opts.Silence}
	e.watch = time.AfterFunc(e.silence, func() {
		if !e.endless {
			e.end(ErrSilent)
		}
	})
	e.unhook = context.AfterFunc(s.retired, func() {
		if e.endless {
			e.end(io.EOF)
		}
	})
	return e
}

func (e *eventStream) end(why error) {
	e.once.Do(func() {
		e.why = why
		_ = e.body.Close()
	})
}

// Next returns the next event, whole.
func (e *eventStream) Next(ctx context.Context) (Item, error) {
	ev, err := e.events.Next()
	e.watch.Reset(e.silence)
	if err == nil {
		return Item{Msg: ev.Data, Event: ev.Raw, ID: ev.ID}, nil
	}
	e.end(io.EOF)
	switch {
	case !errors.Is(e.why, io.EOF):
		return Item{}, e.why
	case ctx.Err() != nil:
		return Item{}, ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), e.endless:
		return Item{}, io.EOF
	default:
		return Item{}, fmt.Errorf("%w: %w", ErrStopped, err)
	}
}

// Close gives the stream up. To a modern server that is the cancellation.
func (e *eventStream) Close() {
	e.watch.Stop()
	e.unhook()
	e.end(io.EOF)
}
