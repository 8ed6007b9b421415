// Package wire is the gateway's edge to clients: MCP over streamable HTTP at
// /mcp/s/{server} and, reads only, /mcp/s/{server}/readonly, and lines on a unix socket for `annotary stdio`.
//
// Both eras are served on one endpoint, decided per request: a request that
// names a version without a handshake, in its header or its _meta, is modern;
// all else is legacy. A message is read once, strictly, before anything looks
// at it; header and body that disagree are refused. What is let in becomes a
// [gateway.Call]; what comes back is written as it came.
//
// The old HTTP+SSE transport and JSON-RPC batches are not served.
package wire

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/strict"
)

// Options bound what clients may cost. The zero value means the defaults.
type Options struct {
	// Identity says who sent a request. If nil, everybody is the local user.
	Identity Identity
	// Hosts are the names the gateway answers to besides loopback ones. A "*"
	// switches the check off.
	Hosts []string
	// Origins are the web origins that may call besides loopback ones.
	Origins []string
	// MaxBody is the longest message. If zero, 4 MiB.
	MaxBody int
	// MaxDepth is the deepest nesting of a message. If zero, 128.
	MaxDepth int
	// MaxHeader is the size of all headers of a request. If zero, 32 KiB.
	MaxHeader int
	// MaxInFlight is how many calls one principal may have open. If zero, 1024.
	MaxInFlight int
	// MaxStreams is how many streams that wait for events may be open: legacy
	// GET streams and subscriptions. If zero, 20,000.
	MaxStreams int
	// Sessions bound those of the legacy era.
	Sessions session.Limits
	// ReadHeader is how long a client may take to send its headers. If zero, 10 s.
	ReadHeader time.Duration
	// ReadBody is how long a client may take to send a whole request. If zero, 30 s.
	ReadBody time.Duration
	// Write is how long a client may take to accept one message. If zero, 30 s.
	Write time.Duration
	// IdleConnection is how long a connection without a request is kept. If zero, 2 minutes.
	IdleConnection time.Duration
	// KeepAlive is after how much silence a stream carries a comment. If zero, 15 s.
	KeepAlive time.Duration
	// Log receives what an operator should know. If nil, nothing is logged.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxDepth, 128)
	setDefault(&o.MaxHeader, 32<<10)
	setDefault(&o.MaxInFlight, 1024)
	setDefault(&o.MaxStreams, 20_000)
	setDefault(&o.ReadHeader, 10*time.Second)
	setDefault(&o.ReadBody, 30*time.Second)
	setDefault(&o.Write, 30*time.Second)
	setDefault(&o.IdleConnection, 2*time.Minute)
	setDefault(&o.KeepAlive, 15*time.Second)
	if o.Identity == nil {
		o.Identity = (*identity.Identity)(nil)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// A Handler serves MCP over HTTP.
type Handler struct {
	gateway  *gateway.Gateway
	opts     Options
	identity atomic.Pointer[Identity]
	guard    guard
	sessions *session.Table[string, *legacySession]
	flight   inFlight
	streams  chan struct{} // one token for each stream that waits for events
	pipes    atomic.Int64  // that are open

	life context.Context //nolint:containedctx // of calls that outlive their requests
	end  context.CancelFunc
}

// New makes the handler of a gateway.
func New(g *gateway.Gateway, opts Options) *Handler {
	opts = opts.withDefaults()
	h := &Handler{gateway: g, opts: opts, guard: newGuard(opts), flight: inFlight{max: opts.MaxInFlight}}
	h.Trust(opts.Identity)
	h.streams = make(chan struct{}, opts.MaxStreams)
	h.life, h.end = context.WithCancel(context.Background())
	h.sessions = session.NewTable[string](opts.Sessions, h.endSession)
	return h
}

// Server returns an HTTP server with the handler's time-outs set.
func (h *Handler) Server() *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: h.opts.ReadHeader,
		ReadTimeout:       h.opts.ReadBody,
		IdleTimeout:       h.opts.IdleConnection,
		MaxHeaderBytes:    h.opts.MaxHeader,
		ErrorLog:          slog.NewLogLogger(h.opts.Log.Handler(), slog.LevelDebug),
	}
}

// Close ends all sessions, and what still goes on in them.
func (h *Handler) Close() {
	h.end()
	h.sessions.Close()
}

// A server is at prefix + name, the gateway's own endpoint at findPath; with the
// suffix only reads are served.
const (
	prefix         = "/mcp/s/"
	findPath       = "/mcp/find"
	readOnlySuffix = "/readonly"
)

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, identity.MetadataPath); ok {
		h.metadata(w, r, path)
		return
	}
	if !h.guard.allows(r) {
		http.Error(w, "this host or origin is not served; the configuration may allow it under hosts or origins", http.StatusForbidden)
		return
	}
	if r.URL.Path == decidePath {
		h.decide(w, r)
		return
	}
	path, reads := strings.CutSuffix(r.URL.Path, readOnlySuffix)
	server, ok := strings.CutPrefix(path, prefix)
	if path == findPath {
		server = gateway.Find
	} else if !ok || server == "" || strings.Contains(server, "/") {
		http.Error(w, "nothing is served here: servers are at "+prefix+"NAME, the tools of all at "+findPath, http.StatusNotFound)
		return
	}
	who, err := h.trusted().Identify(r, r.URL.Path)
	if err != nil {
		h.refuse(w, err)
		return
	}
	x := &exchange{Handler: h, w: w, r: r, who: who, owner: gateway.Owner(&who), server: server, reads: reads}
	switch r.Method {
	case http.MethodPost:
		x.post()
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	default:
		x.notAllowed("POST")
	}
}

// exchange is one HTTP request and its answer.
type exchange struct {
	*Handler
	w      http.ResponseWriter
	r      *http.Request
	who    annotary.Principal
	owner  string // the principal and its client, as a key
	server string
	reads  bool   // only reads are served
	id     []byte // of the message, once read

	waits  bool               // it counts as a stream that waits for events, not as a call
	kept   bool               // the call goes on without this request
	stop   context.CancelFunc // ends the call of a session
	unhook func() bool        // has the call not end with this request; nil if it does not anyway
}

func (x *exchange) notAllowed(allowed string) {
	x.w.Header().Set("Allow", allowed)
	http.Error(x.w, "method not allowed", http.StatusMethodNotAllowed)
}

// post reads one message and takes it to its era.
func (x *exchange) post() {
	if !isJSON(x.r.Header) {
		http.Error(x.w, "the body is to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := rpc.ReadAll(x.r.Body, x.r.ContentLength, x.opts.MaxBody)
	if err != nil {
		x.fail(err)
		return
	}
	// The whole request was read in time; its answer may take longer.
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
	m, err := rpc.Parse(body, strict.Limits{Bytes: x.opts.MaxBody, Depth: x.opts.MaxDepth})
	if err != nil {
		x.fail(err)
		return
	}
	x.id = m.ID()
	if !x.begin(m.Method == "subscriptions/listen") {
		return
	}
	defer x.leave()
	switch modern, err := isModern(x.r.Header, &m); {
	case err != nil:
		x.fail(err)
	case modern:
		x.modern(m)
	default:
		x.legacy(m)
	}
}

func isJSON(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// write sends bytes to a client that must not take for ever to accept them.
func (x *exchange) write(rc *http.ResponseController, p []byte) error {
	_ = rc.SetWriteDeadline(time.Now().Add(x.opts.Write))
	if _, err := x.w.Write(p); err != nil {
		return err
	}
	return rc.Flush()
}

// Shutdown ends a server: no new requests, those in flight get the given time.
func Shutdown(s *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		return s.Close()
	}
	return nil
}
