package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

var (
	typeJSON   = []string{"application/json"}
	typeEvents = []string{"text/event-stream"}
	noStore    = []string{"no-cache, no-transform"}
	unbuffered = []string{"no"}
)

// streamAfter is how long a client waits for a plain answer before it gets a
// stream, which can be kept alive.
const streamAfter = time.Second

func deadline(in time.Duration) time.Time { return time.Now().Add(in) }

// modern serves a request that stands alone.
func (x *exchange) modern(m rpc.Message) {
	call := &gateway.Call{Principal: x.who, Server: x.server, Era: upstream.EraModern, Message: m, Header: x.r.Header, ReadOnly: x.reads}
	answer, err := x.gateway.Call(x.r.Context(), call)
	if err != nil {
		x.fail(err)
		return
	}
	x.deliver(answer, nil)
}

// deliver writes an answer and closes it; closing an unfinished modern one
// cancels it upstream. Streams of a command that a legacy client may take up
// again go on in its session.
func (x *exchange) deliver(a *upstream.Answer, s *legacySession) {
	defer func() {
		if !x.kept {
			a.Close()
		}
	}()
	switch {
	case a.Stream == nil && a.Body == nil:
		x.w.WriteHeader(a.Status)
	case a.Scopes != nil:
		challenge(x.w, x.trusted().StepUp(x.r.URL.Path, a.Scopes))
		x.respond(a.Status, a.Body)
	case a.Stream == nil:
		x.respond(a.Status, a.Body)
	case a.Events:
		x.passEvents(a.Stream)
	default:
		x.firstMessage(a, s)
	}
}

func (x *exchange) beginEvents() *http.ResponseController {
	h := x.w.Header()
	h["Content-Type"] = typeEvents
	h["Cache-Control"] = noStore
	h["X-Accel-Buffering"] = unbuffered
	x.w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(x.w)
	_ = rc.Flush()
	return rc
}

// passEvents passes a server's events on as they come.
func (x *exchange) passEvents(s upstream.Stream) {
	rc := x.beginEvents()
	for {
		it, err := s.Next(x.r.Context())
		if err != nil {
			x.lastWord(rc, err)
			return
		}
		if x.write(rc, it.Event) != nil {
			return
		}
	}
}

// lastWord tells the client on its stream why no answer follows.
func (x *exchange) lastWord(rc *http.ResponseController, err error) {
	if errors.Is(err, io.EOF) || x.r.Context().Err() != nil || x.id == nil {
		return
	}
	_, f := faultOf(err)
	_ = x.write(rc, rpc.AppendEvent(nil, "", f.Answer(x.id)))
}

// firstMessage waits for what a command says first. If that is the response, it
// is the whole answer; else the answer becomes a stream.
func (x *exchange) firstMessage(a *upstream.Answer, s *legacySession) {
	ctx, cancel := context.WithTimeout(x.r.Context(), streamAfter)
	it, err := a.Stream.Next(ctx)
	cancel()
	for err == nil && !it.Final && !x.takesEvents() { // nobody wants what comes before
		it, err = a.Stream.Next(x.r.Context())
	}
	switch {
	case err == nil && it.Final:
		x.respond(statusOf(it.Msg, s), it.Msg)
	case s != nil && x.r.Context().Err() != nil:
		x.carryOn(a, s, it)
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		x.fail(err)
	case !x.takesEvents():
		x.waitPlain(a, s)
	case s != nil:
		x.resumable(a, s, it)
	default:
		x.stream(a.Stream, it)
	}
}

// statusOf is the HTTP status that goes with what a command answered. Modern
// clients are owed one with the errors the specification gives a status.
func statusOf(msg []byte, s *legacySession) int {
	if s != nil {
		return http.StatusOK
	}
	switch string(strict.Get(msg, "error", "code")) {
	case strconv.Itoa(rpc.CodeMethodNotFound):
		return http.StatusNotFound
	case strconv.Itoa(rpc.CodeHeaderMismatch), strconv.Itoa(rpc.CodeMissingCapability), strconv.Itoa(rpc.CodeUnsupportedVersion):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (x *exchange) takesEvents() bool {
	accept := strings.Join(x.r.Header["Accept"], ",")
	return strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*")
}

func (x *exchange) waitPlain(a *upstream.Answer, s *legacySession) {
	for {
		it, err := a.Stream.Next(x.r.Context())
		switch {
		case s != nil && x.r.Context().Err() != nil && !it.Final:
			x.carryOn(a, s, it)
			return
		case err != nil:
			x.fail(err)
			return
		case it.Final:
			x.respond(statusOf(it.Msg, s), it.Msg)
			return
		}
	}
}

// stream writes messages as events, the given one first if there is one.
func (x *exchange) stream(s upstream.Stream, first upstream.Item) {
	rc := x.beginEvents()
	it, err := first, error(nil)
	for {
		switch {
		case errors.Is(err, context.DeadlineExceeded) && x.r.Context().Err() == nil:
			if x.write(rc, keepAlive) != nil {
				return
			}
		case err != nil:
			x.lastWord(rc, err)
			return
		case it.Msg != nil:
			if x.write(rc, rpc.AppendEvent(nil, "", it.Msg)) != nil || it.Final {
				return
			}
		}
		it, err = x.nextWithin(s)
	}
}

var keepAlive = []byte(": keep-alive\n\n")

func (x *exchange) nextWithin(s upstream.Stream) (upstream.Item, error) {
	ctx, cancel := context.WithTimeout(x.r.Context(), x.opts.KeepAlive)
	defer cancel()
	return s.Next(ctx)
}
