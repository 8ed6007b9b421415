package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// key says who shares an instance. What a client said in initialize is part of
// it: a child hears it once and treats everybody alike from then on.
type key struct {
	era                            Era
	principal, dir, session, hello string
}

// instance is one command as some clients see it. The child behind it may stop
// and be started again; the handshake is then repeated as the first client
// spoke it.
type instance struct {
	server *Server
	key    key
	hello  []byte // initialize as the first client sent it; nil if modern

	mu        sync.Mutex
	child     *child
	starting  chan struct{} // closed when the start under way has ended
	startErr  error
	welcome   rpc.Message       // the child's answer to hello
	ready     []byte            // notifications/initialized as the first client sent it
	replay    map[string][]byte // what a new child must be told again
	legs      map[*pipeLeg]struct{}
	failures  int // starts in a row that came to nothing
	notBefore time.Time
	idle      *time.Timer
	stopped   bool

	life context.Context //nolint:containedctx // done when it is stopped: a start must not outlive it
	quit context.CancelFunc
}

// Back-off between starts of a command that keeps failing.
const (
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 30 * time.Second
)

// instance returns the one instance for the key. A leg with a session stays
// attached until it is closed: from here on the instance is not idle.
func (s *Server) instance(k key, hello []byte, l *pipeLeg) *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.instances[k]
	if in == nil {
		in = &instance{server: s, key: k, hello: hello, legs: map[*pipeLeg]struct{}{}, replay: map[string][]byte{}}
		in.life, in.quit = context.WithCancel(context.Background())
		in.idle = time.AfterFunc(s.opts.Idle, in.stopIfIdle)
		s.instances[k] = in
	}
	if l.who.Session != "" {
		in.attach(l)
	}
	return in
}

// running returns the child, started if need be.
func (in *instance) running(ctx context.Context) (*child, error) {
	for {
		in.mu.Lock()
		if in.child != nil {
			c := in.child
			in.mu.Unlock()
			return c, nil
		}
		if err := in.mayStart(); err != nil {
			in.mu.Unlock()
			return nil, err
		}
		if in.starting == nil {
			in.starting = make(chan struct{})
			in.server.children.Go(in.start)
		}
		started := in.starting
		in.mu.Unlock()
		select {
		case <-started:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		in.mu.Lock()
		err := in.startErr
		in.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// errStopped is said of an instance that was stopped for good.
var errStopped = fmt.Errorf("%w: it was taken out of service", ErrUnreachable)

// mayStart holds back a command that keeps failing.
func (in *instance) mayStart() error {
	if in.stopped {
		return errStopped
	}
	if wait := time.Until(in.notBefore); wait > 0 && in.starting == nil {
		return fmt.Errorf("%w: it keeps failing and is started again in %s", ErrUnreachable, wait.Round(100*time.Millisecond))
	}
	return nil
}

// start runs the command and greets it.
func (in *instance) start() {
	ctx, cancel := context.WithTimeout(in.life, in.server.opts.Start)
	defer cancel()
	c, err := newChild(ctx, in)
	if err == nil {
		if err = in.greet(ctx, c); err != nil {
			c.link.stop()
		}
	} else {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.startErr = err
	switch {
	case in.stopped:
		if c != nil {
			c.link.stop()
		}
		in.startErr = errStopped
	case err != nil:
		in.failed(err)
	default:
		in.child = c
	}
	close(in.starting)
	in.starting = nil
}

// failed counts a start that came to nothing. The first is forgiven; after that
// the next start waits, longer each time. A refusal of the handshake is an
// answer, not a failure.
func (in *instance) failed(err error) {
	if _, refused := errors.AsType[*refusal](err); refused {
		return
	}
	in.server.log.Warn("the command came to nothing", "error", err, "times", in.failures+1)
	if in.failures > 0 {
		in.notBefore = time.Now().Add(min(backoffMost, backoffFirst<<min(in.failures-1, 10)))
	}
	in.failures++
}

// refusal is a child's answer that it will not speak to this client.
type refusal struct{ fault *rpc.Fault }

func (r *refusal) Error() string { return r.fault.Error() }

func (in *instance) greet(ctx context.Context, c *child) error {
	if in.key.era == EraModern {
		return in.server.probe(ctx, c)
	}
	hello, err := rpc.Parse(in.hello, strict.Limits{})
	if err != nil {
		return err
	}
	welcome, err := c.ask(ctx, &hello)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if f := welcome.Fault(); f != nil {
		return &refusal{f}
	}
	in.mu.Lock()
	in.welcome = welcome
	again := make([][]byte, 0, 1+len(in.replay))
	if in.ready != nil {
		again = append(again, in.ready)
		for _, m := range in.replay {
			again = append(again, m)
		}
	}
	in.mu.Unlock()
	for _, m := range again {
		if err := c.tell(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// probe finds out whether a command speaks without a handshake, once. A silent
// one is offered initialize too: if it answers that, it is of the old kind.
func (s *Server) probe(ctx context.Context, c *child) error {
	s.mu.Lock()
	era := s.era
	s.mu.Unlock()
	if era == EraUnknown {
		var err error
		if era, err = discover(ctx, c); err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		s.mu.Lock()
		s.era = era
		s.mu.Unlock()
	}
	if era == EraLegacy {
		return &refusal{unsupported()}
	}
	return nil
}

func discover(ctx context.Context, c *child) (Era, error) {
	found, err := c.begin(ctx, "server/discover", discoverParams())
	if err != nil {
		return EraUnknown, err
	}
	short, cancel := context.WithTimeout(ctx, c.in.server.opts.Probe)
	defer cancel()
	it, err := found.Next(short)
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		greeted, err := c.begin(ctx, "initialize", initializeParams())
		if err != nil {
			return EraUnknown, err
		}
		if it, err = first(ctx, found, greeted); err != nil {
			return EraUnknown, err
		}
	} else if err != nil {
		return EraUnknown, err
	}
	if strict.Get(it.Msg, "result", "supportedVersions") != nil {
		return EraModern, nil
	}
	return EraLegacy, nil
}

// first returns what arrives first on either stream.
func first(ctx context.Context, a, b *queue) (Item, error) {
	type got struct {
		it  Item
		err error
	}
	ch := make(chan got, 2)
	for _, q := range []*queue{a, b} {
		go func() { it, err := q.Next(ctx); ch <- got{it, err} }()
	}
	g := <-ch
	return g.it, g.err
}

// unsupported tells a modern client that this server is of the legacy era.
func unsupported() *rpc.Fault {
	data := []byte(`{"supported":[`)
	for i, v := range rpc.LegacyVersions {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, strict.Quote(v)...)
	}
	data = append(data, `],"requested":"`+rpc.Modern+`"}`...)
	return &rpc.Fault{Code: rpc.CodeUnsupportedVersion, Message: "the server does not speak this protocol version", Data: data}
}

// attach counts a leg among those the child serves.
func (in *instance) attach(l *pipeLeg) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.legs[l] = struct{}{}
	in.idle.Stop()
}

// rest is called, with the lock held, when the instance may have become idle.
func (in *instance) rest() {
	if len(in.legs) == 0 && !in.stopped {
		in.idle.Reset(in.server.opts.Idle)
	}
}

// stopIfIdle ends an instance that nobody uses. Looking and ending are one step:
// who comes in between would have a child that no longer listens.
func (in *instance) stopIfIdle() {
	s := in.server
	s.mu.Lock() // nobody attaches meanwhile
	defer s.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.legs) > 0 || in.starting != nil || (in.child != nil && len(in.child.calls) > 0) {
		return // whoever is busy calls rest
	}
	s.forget(in)
	in.stop()
}

// retire ends an instance that nobody needs any more.
func (in *instance) retire() {
	s := in.server
	s.mu.Lock()
	s.forget(in)
	s.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stop()
}

// forget makes room for a new instance under the same key. The server's lock is
// held.
func (s *Server) forget(in *instance) {
	if s.instances[in.key] == in {
		delete(s.instances, in.key)
	}
}

// stop ends the child for good, one that is still starting too. The lock is held.
func (in *instance) stop() {
	in.stopped = true
	in.quit()
	in.idle.Stop()
	if in.child != nil {
		in.child.link.stop()
	}
	for l := range in.legs {
		l.outbox.fail(errRetired)
	}
}

// errRetired ends the event streams of a server that was replaced.
var errRetired = errors.New("the server was replaced")
