package upstream

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Sharing says who may share one running command.
type Sharing uint8

// Who shares a command. A browser or a memory must not serve two people, so the
// zero value keeps principals and working directories apart.
const (
	PerPrincipal Sharing = iota
	Shared
	PerSession
)

// ServerOptions bound what one server may cost and how long it may take. The
// zero value means the defaults.
type ServerOptions struct {
	// Sharing says who may share a command.
	Sharing Sharing
	// Connect is how long opening a connection may take. If zero, 10 s.
	Connect time.Duration
	// Start is how long a command may take until it has answered the first
	// question. If zero, 60 s.
	Start time.Duration
	// Probe is how long a command may be silent to server/discover before it
	// is offered initialize as well. If zero, 2 s.
	Probe time.Duration
	// Silence is how long a server may say nothing while it handles a call.
	// If zero, 5 minutes.
	Silence time.Duration
	// Idle is how long a command runs that nobody uses. If zero, 10 minutes.
	Idle time.Duration
	// Stop is how long a command may take to end after its input was closed,
	// before it is killed. If zero, 3 s.
	Stop time.Duration
	// MaxBytes is the longest message accepted. If zero, 16 MiB.
	MaxBytes int
	// Log receives what an operator should know. If nil, nothing is logged.
	Log *slog.Logger
}

func (o ServerOptions) withDefaults() ServerOptions {
	setDefault(&o.Connect, 10*time.Second)
	setDefault(&o.Start, time.Minute)
	setDefault(&o.Probe, 2*time.Second)
	setDefault(&o.Stop, 3*time.Second)
	setDefault(&o.Silence, 5*time.Minute)
	setDefault(&o.Idle, 10*time.Minute)
	setDefault(&o.MaxBytes, 16<<20)
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

// A Server is one upstream the gateway forwards to: its connections, or its
// running children.
type Server struct {
	Target
	opts ServerOptions
	log  *slog.Logger

	transport *http.Transport
	direct    *direct                 // nil where only the transport will do
	url       atomic.Pointer[url.URL] // moves when the server redirects within its host
	params    paramHeaders
	lanes     lanes

	mu        sync.Mutex
	era       Era // once it was probed or listed
	instances map[key]*instance
	inUse     int
	ended     chan struct{}
	children  sync.WaitGroup
	retired   context.Context //nolint:containedctx // done when the server was taken out of service
	retire    context.CancelFunc
}

// New makes a server. Nothing is started or dialled until the first call.
func New(t Target, opts ServerOptions) (*Server, error) {
	s := &Server{Target: t, opts: opts.withDefaults(), instances: map[key]*instance{}, ended: make(chan struct{})}
	s.log = s.opts.Log.With("server", t.Name)
	s.retired, s.retire = context.WithCancel(context.Background())
	if t.Command == "" {
		u, err := parseURL(t.URL)
		if err != nil {
			return nil, err
		}
		if err := checkHeader(t.Header); err != nil {
			return nil, err
		}
		s.url.Store(u)
		s.transport, s.direct = newTransport(s.opts), newDirect(u, s.opts)
	}
	return s, nil
}

// Who says on whose behalf a leg is opened. It decides which child serves it.
type Who struct {
	Principal string
	Dir       string // the working directory of the client's process, if known
	Session   string // unique per session; empty if there is none
}

// Leg opens the way of one client to the server. It starts nothing yet.
func (s *Server) Leg(who Who, era Era) Leg {
	if s.Command == "" {
		return &webLeg{server: s, who: who, era: era}
	}
	return &pipeLeg{server: s, who: who, era: era}
}

// Patience is how long the server may say nothing while it handles a call.
func (s *Server) Patience() time.Duration { return s.opts.Silence }

// Acquire keeps the server in service until Release. It reports false if the
// server was retired: then a newer one has taken its place.
func (s *Server) Acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired.Err() != nil {
		return false
	}
	s.inUse++
	return true
}

// Release undoes one Acquire. The last one ends a retired server.
func (s *Server) Release() {
	s.mu.Lock()
	s.inUse--
	end := s.inUse == 0 && s.retired.Err() != nil
	s.mu.Unlock()
	if end {
		s.end()
	}
}

// Retire takes the server out of service: streams that wait for events end at
// once, calls in flight finish, then its children are ended.
func (s *Server) Retire() {
	s.mu.Lock()
	s.retire()
	end := s.inUse == 0
	s.mu.Unlock()
	if end {
		s.end()
	}
}

// Wait returns when a retired server has ended and its children are gone.
func (s *Server) Wait() {
	<-s.ended
	s.children.Wait()
}

// end stops what still runs.
func (s *Server) end() {
	s.mu.Lock()
	select {
	case <-s.ended: // twice, by two who saw the last call go
		s.mu.Unlock()
		return
	default:
		close(s.ended)
	}
	instances := s.instances
	s.instances = map[key]*instance{}
	s.mu.Unlock()
	for _, in := range instances {
		in.mu.Lock()
		in.stop()
		in.mu.Unlock()
	}
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if s.direct != nil {
		s.direct.close()
	}
}
