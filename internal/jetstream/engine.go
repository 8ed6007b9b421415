// Package jetstream keeps state in NATS JetStream: in this process on a laptop,
// in a cluster for a fleet, through the same client and the same code.
//
// An [Engine] gives out two things. A [Bucket] is compare-and-set on keys: what
// was swapped is on disk, and a swap that succeeds proves that the revision held
// was the newest, which a read does not. A [Log] is appended to in packs and
// returns when the pack is on disk.
//
// In the process the engine opens no port. Every acknowledged write was synced:
// the engine's own default, every two minutes, loses acknowledged writes.
//
// It is the only package that imports NATS, and it does not know what it keeps.
package jetstream

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary"
)

// Options say where the engine is. With no URL it runs in this process.
type Options struct {
	// Dir is the folder the embedded engine keeps its files in.
	Dir string
	// URL of a cluster, such as nats://a:4222,nats://b:4222. If empty, the
	// engine is embedded.
	URL string
	// Credentials is a NATS credentials file for the cluster.
	Credentials string
	// CA, Cert and Key are PEM files for TLS to the cluster.
	CA, Cert, Key string
	// Replicas of everything kept in a cluster. If zero, 3; embedded, always 1.
	Replicas int
	// Deadline for one operation. If zero, 5 s.
	Deadline time.Duration
	// Silence after which the store counts as lost. If zero, 3 s.
	Silence time.Duration
	// Diary is told when the store is lost or takes no writes, and when that is
	// over. If nil, nobody is.
	Diary *slog.Logger
}

const (
	defaultDeadline = 5 * time.Second
	defaultSilence  = 3 * time.Second
	startTimeout    = 20 * time.Second
)

// An Engine is a running or reached JetStream.
type Engine struct {
	opts   Options
	server *server.Server // nil if not embedded
	conn   *nats.Conn
	js     jetstream.JetStream
	unlock func() error

	heard   atomic.Int64           // when the store last answered, in Unix nanoseconds
	problem atomic.Pointer[string] // why it does not; nil if it does
	writes  writes
	anew    anew
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// Open starts the embedded engine or connects to a cluster.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Deadline == 0 {
		o.Deadline = defaultDeadline
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Diary == nil {
		o.Diary = slog.New(slog.DiscardHandler)
	}
	e := &Engine{opts: o, unlock: func() error { return nil }}
	var err error
	if o.URL == "" {
		e.opts.Replicas = 1
		err = e.embed()
	} else {
		if e.opts.Replicas == 0 {
			e.opts.Replicas = 3
		}
		err = e.connect()
	}
	if err == nil {
		e.js, err = jetstream.New(e.conn)
	}
	if err == nil {
		err = e.greet(ctx)
	}
	if err == nil && e.Embedded() {
		err = e.checkFiles(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	e.done.Go(func() { e.listen(ctx) })
	return e, nil
}

// embed starts the engine in this process, without a port.
func (e *Engine) embed() error {
	if err := os.MkdirAll(e.opts.Dir, 0o700); err != nil {
		return e.unusable(err)
	}
	unlock, err := lock(filepath.Join(e.opts.Dir, "lock"))
	if err != nil {
		return e.unusable(err)
	}
	e.unlock = unlock
	e.server, err = server.NewServer(&server.Options{
		ServerName: "annotary", JetStream: true, StoreDir: e.opts.Dir, SyncAlways: true,
		DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
	})
	if err != nil {
		return unavailable("the engine for state cannot be made", err)
	}
	e.server.SetLogger(&e.writes, false, false)
	e.server.Start()
	if !e.server.ReadyForConnections(startTimeout) {
		return e.unusable(e.writes.complained(errors.New("the engine does not start")))
	}
	e.conn, err = nats.Connect("", nats.InProcessServer(e.server), quiet)
	if err != nil {
		return unavailable("the engine for state does not answer", err)
	}
	return nil
}

// quiet keeps the client from writing to stderr: what fails is told by whoever
// waits for it.
var quiet = nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})

// connect reaches a cluster. A connection that is lost later is sought again
// without end. Meanwhile nothing is kept to be sent later: an entry or a record
// that was given up must not be written after all.
func (e *Engine) connect() error {
	opts := []nats.Option{
		nats.Name("annotary"), quiet, nats.Timeout(e.opts.Deadline),
		nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectBufSize(-1),
		nats.ReconnectHandler(func(*nats.Conn) { e.anew.tell() }),
	}
	if e.opts.Credentials != "" {
		opts = append(opts, nats.UserCredentials(e.opts.Credentials))
	}
	if e.opts.CA != "" {
		opts = append(opts, nats.RootCAs(e.opts.CA))
	}
	if e.opts.Cert != "" {
		opts = append(opts, nats.ClientCert(e.opts.Cert, e.opts.Key))
	}
	var err error
	if e.conn, err = nats.Connect(e.opts.URL, opts...); err != nil {
		return diagnose(&e.opts, err)
	}
	return checkVersion(e.conn.ConnectedServerVersion())
}

// greet is the first beat, and says what is wrong where there is none.
func (e *Engine) greet(ctx context.Context) error {
	switch err := e.beat(ctx); {
	case err == nil:
		return nil
	case e.Embedded():
		return unavailable("the engine for state does not answer", err)
	default:
		return diagnose(&e.opts, err)
	}
}

// listen asks every second whether the store still answers, also for what it did
// not write.
func (e *Engine) listen(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for lost := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.mend(ctx)
			// A failure shows as silence; the next beat may succeed.
			err := e.beat(ctx)
			switch was := lost; {
			case ctx.Err() != nil:
			case e.Lost() && !was:
				lost = true
				e.opts.Diary.Warn("the store does not answer; what needs it is refused", "error", err)
			case err == nil && was:
				lost = false
				e.opts.Diary.Info("the store answers again")
			}
		}
	}
}

// beat asks the store for a sign of life.
func (e *Engine) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.Deadline)
	defer cancel()
	if _, err := e.js.AccountInfo(ctx); err != nil {
		err = e.writes.complained(plain(err))
		why := err.Error()
		e.problem.Store(&why)
		return err
	}
	e.problem.Store(nil)
	e.heard.Store(time.Now().UnixNano())
	return nil
}

// Lost reports whether the store has been silent for too long.
func (e *Engine) Lost() bool {
	return time.Since(time.Unix(0, e.heard.Load())) > e.opts.Silence
}

// Embedded reports whether the engine runs in this process, where it has no
// other writer.
func (e *Engine) Embedded() bool { return e.server != nil }

// Close ends the connection and, embedded, the engine.
func (e *Engine) Close() error {
	if e.stop != nil {
		e.stop()
		e.done.Wait()
	}
	if e.conn != nil {
		e.conn.Close()
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	return e.unlock()
}

// within bounds an operation by the engine's deadline.
func (e *Engine) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.opts.Deadline)
}

// noPeers is what a cluster says that does not know enough of its servers yet.
const noPeers jetstream.ErrorCode = 10005

// settled tries until a cluster that has just begun, or lost a leader, has
// sorted itself out, or the context ends. Which errors say so, passing tells.
func settled(ctx context.Context, passing func(error) bool, try func() error) error {
	for {
		err := try()
		if err == nil || !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// leaderless reports whether nobody took the request, or it was not even sent: it
// has done nothing and may be made again.
func leaderless(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrReconnectBufExceeded)
}

// plain says of a request that was not sent what that means.
func plain(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return errors.New("no server of the cluster can be reached")
	}
	return err
}

// anew tells when a connection that was lost is there again. The zero value is
// ready.
type anew struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns what is closed at the next connection.
func (a *anew) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

func (a *anew) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}

// forming reports whether a cluster cannot make something yet. Making it again
// does no harm.
func forming(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == noPeers || api.Code >= 500 && api.ErrorCode != tooFewServers && api.ErrorCode != noRoom
	}
	return leaderless(err)
}

// unavailable is the error of everything the store did not do. The caller learns
// only that; the operator finds the cause.
func unavailable(public string, cause error) error {
	return annotary.E(annotary.CodeStore, public, cause)
}
