package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// errNeedsSession is said of a legacy message that only a session can carry.
var errNeedsSession = errors.New("the header Mcp-Session-Id is missing")

// faults is the one place where errors become HTTP statuses and JSON-RPC codes.
// A server that failed is reported with status 200: to MCP clients any other
// status means that the gateway itself, and with it the session, is broken.
var faults = []struct {
	err    error
	status int
	code   int
	name   string // stable, for machines
}{
	{strict.ErrTooLarge, http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest, "too_large"},
	{rpc.ErrLong, http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest, "too_large"},
	{strict.ErrSyntax, http.StatusBadRequest, rpc.CodeParse, "not_json"},
	{strict.ErrUTF8, http.StatusBadRequest, rpc.CodeParse, "not_json"},
	{strict.ErrTrailing, http.StatusBadRequest, rpc.CodeParse, "not_json"},
	{strict.ErrDuplicateKey, http.StatusBadRequest, rpc.CodeInvalidRequest, "ambiguous_message"},
	{strict.ErrTooDeep, http.StatusBadRequest, rpc.CodeInvalidRequest, "too_deep"},
	{rpc.ErrBatch, http.StatusBadRequest, rpc.CodeInvalidRequest, "batch_refused"},
	{rpc.ErrAmbiguous, http.StatusBadRequest, rpc.CodeInvalidRequest, "ambiguous_message"},
	{rpc.ErrNotMessage, http.StatusBadRequest, rpc.CodeInvalidRequest, "not_a_message"},
	{errNeedsSession, http.StatusBadRequest, rpc.CodeInvalidRequest, "session_required"},
	{session.ErrFull, http.StatusServiceUnavailable, rpc.CodeInternal, "too_many_sessions"},
	{upstream.ErrNoSession, http.StatusNotFound, rpc.CodeInvalidRequest, "unknown_session"},
	{upstream.ErrUnreachable, http.StatusOK, rpc.CodeInternal, "server_unreachable"},
	{upstream.ErrLogin, http.StatusOK, rpc.CodeInternal, "server_login_required"},
	{upstream.ErrStopped, http.StatusOK, rpc.CodeInternal, "server_stopped"},
	{upstream.ErrSilent, http.StatusOK, rpc.CodeInternal, "server_silent"},
	{upstream.ErrBroken, http.StatusOK, rpc.CodeInternal, "server_broken"},
	{upstream.ErrOverrun, http.StatusOK, rpc.CodeInternal, "read_too_slowly"},
	{context.DeadlineExceeded, http.StatusOK, rpc.CodeInternal, "server_silent"},
}

// faultOf says how an error is told to a client. What went wrong inside stays
// inside: only the sentence of the table is told.
func faultOf(err error) (int, *rpc.Fault) {
	f, faulty := errors.AsType[*rpc.Fault](err)
	switch code := annotary.CodeOf(err); {
	case code == annotary.CodeConnect: // it did not list its tools: what it said of that was said to us
		err = unlisted(err, faulty)
	case faulty:
		return http.StatusBadRequest, f
	case code == gateway.CodeUnknownServer, code == gateway.CodeUnjudged:
		return http.StatusNotFound, coded(rpc.CodeInvalidRequest, err.Error(), string(code))
	}
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return f.status, coded(f.code, public(err, f.err), f.name)
		}
	}
	return http.StatusOK, coded(rpc.CodeInternal, "something went wrong inside the gateway", "internal")
}

// unlisted says what it means for a call that the server did not list its tools.
func unlisted(err error, answered bool) error {
	switch {
	case errors.Is(err, upstream.ErrLogin), errors.Is(err, context.DeadlineExceeded):
		return err
	case answered:
		return upstream.ErrBroken
	default:
		return upstream.ErrUnreachable
	}
}

func coded(code int, message, name string) *rpc.Fault {
	return &rpc.Fault{Code: code, Message: message, Data: []byte(`{"code":"` + name + `"}`)}
}

// public is the sentence for an error. What is wrong with the client's own
// message is told in full.
func public(err, known error) string {
	if inside(known) {
		return known.Error()
	}
	return err.Error()
}

// inside reports whether the details of an error are the operator's alone.
func inside(known error) bool {
	for _, e := range []error{
		upstream.ErrUnreachable, upstream.ErrLogin, upstream.ErrStopped, upstream.ErrSilent, upstream.ErrBroken,
		context.DeadlineExceeded, rpc.ErrLong,
	} {
		if errors.Is(known, e) {
			return true
		}
	}
	return false
}

// fail answers with an error.
func (x *exchange) fail(err error) {
	if x.r.Context().Err() != nil {
		return // nobody is there any more
	}
	status, f := faultOf(err)
	if status == http.StatusOK {
		x.opts.Log.Warn("a call failed", "server", x.server, "error", err)
		if x.id == nil {
			status = http.StatusBadGateway // a notification has no answer to carry it
		}
	}
	x.respond(status, f.Answer(x.id))
}

// respond writes a whole message.
func (x *exchange) respond(status int, body []byte) {
	h := x.w.Header()
	h["Content-Type"] = typeJSON
	_ = http.NewResponseController(x.w).SetWriteDeadline(deadline(x.opts.Write))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // a client that left has no use for it
}
