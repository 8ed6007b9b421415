package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/notary"
)

// serveLocally makes this the gateway that annotary stdio and the commands of
// the operator find, unless another one is.
func (d *daemon) serveLocally(ctx context.Context) error {
	pipes, err := d.listenLocally(ctx, 0)
	if errors.Is(err, errTaken) {
		d.log.Warn("pipes of annotary stdio and commands go to the other gateway that is running", "data", d.config().Data)
		return nil
	}
	if err != nil {
		return err
	}
	go func() {
		if err := d.handler.ServePipes(ctx, pipes); err != nil {
			d.log.Error("the gateway no longer takes pipes", "error", err)
		}
	}()
	return nil
}

// listenLocally listens in the data folder until the context ends, and answers
// the operator.
func (d *daemon) listenLocally(ctx context.Context, patience time.Duration) (net.Listener, error) {
	home, err := openHome(d.config())
	if err != nil {
		return nil, err
	}
	pipes, operator, err := home.listen(patience)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = pipes.Close() })
	options := d.operatorOptions()
	if options.Token, err = home.newToken(); err != nil {
		return nil, errors.Join(err, pipes.Close(), operator.Close())
	}
	go func() {
		if err := api.Serve(ctx, operator, options); err != nil {
			d.log.Error("the gateway no longer answers commands", "error", err)
		}
	}()
	return pipes, nil
}

// operatorOptions are what the operator's channel reaches.
func (d *daemon) operatorOptions() api.Options {
	return api.Options{
		Gateway: d.gateway, Reload: d.reload, Version: version(), Config: d.path,
		Confined: string(d.walls.By), Login: d.front.login,
		Log: func() api.Log {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.ledger == nil {
				return nil
			}
			return d.ledger.log
		},
		State: d.stateHealth,
		Audit: d.auditHealth,
		Sealer: func() *notary.Sealer {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.ledger == nil || d.ledger.keeper == nil {
				return nil
			}
			return d.ledger.keeper.sealer
		},
		Words: d, Backup: d.Backup,
	}
}

// stateHealth says how the store is doing, nil while there is none.
func (d *daemon) stateHealth() *api.StateHealth {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ledger == nil {
		return nil
	}
	h := d.ledger.engine.Health()
	deaf := !h.Lost && d.ledger.words != nil && d.ledger.words.Lost()
	out := &api.StateHealth{
		Embedded: h.Embedded, Where: h.Where, Version: h.Version, Replicas: h.Replicas,
		Lost: h.Lost || deaf, Deaf: deaf, Heard: h.Heard.UTC(), Problem: h.Problem, Unwritten: h.Unwritten,
	}
	if t := d.ledger.labels.Forgot(); !t.IsZero() {
		out.Forgot = &t
	}
	return out
}

// serveInBackground serves pipes only, for as long as somebody has one open. A
// second gateway that finds a first has nothing to do.
func (d *daemon) serveInBackground(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := d.listenLocally(ctx, startWithin/2)
	if errors.Is(err, errTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	go func() {
		d.awaitUnused(ctx)
		cancel()
	}()
	return d.handler.ServePipes(ctx, &freshListener{Listener: l, daemon: d})
}

// freshListener has a changed configuration read before a pipe is served:
// nobody else tells a gateway in the background that a server was added.
type freshListener struct {
	net.Listener
	daemon *daemon
	seen   time.Time // the time of the configuration that was read last
}

// Accept waits for the next pipe.
func (l *freshListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(l.daemon.path)
	if err == nil && !info.ModTime().Equal(l.seen) {
		l.seen = info.ModTime()
		if err := l.daemon.reload(); err != nil {
			l.daemon.log.Warn("the changed configuration cannot be used; the old one holds", "file", l.daemon.path, "error", err)
		}
	}
	return conn, nil
}

// awaitUnused returns when no pipe has been open for a while.
func (d *daemon) awaitUnused(ctx context.Context) {
	for used := time.Now(); time.Since(used) < d.config().Timeouts.Unused.D(); {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		if d.handler.Pipes() > 0 {
			used = time.Now()
		}
	}
}
