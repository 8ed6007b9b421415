package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/label"
	"github.com/annotary/annotary/internal/override"
	"github.com/annotary/annotary/internal/spool"
)

// A ledger is where a gateway that judges keeps its log and its state.
type ledger struct {
	engine *jetstream.Engine
	log    *jetstream.Log
	kills  *gateway.Kills
	stop   context.CancelFunc
	done   sync.WaitGroup
	keeper *keeper
	spool  *spool.Spool
	// What people are asked, what they granted, and the keys that seal.
	approvals, grants, keys *jetstream.Bucket
	// labels are what conversations have seen.
	labels *label.Store
	// words are what the operator said while gateways ran; nil unless several
	// share the store.
	words *override.Store
}

// openLedger opens the log in the data folder. Every opening begins a new epoch,
// so that no pack of an earlier one is taken for a copy of a new one.
func openLedger(ctx context.Context, c *config.Config, diary *slog.Logger) (*ledger, error) {
	o := engineOptions(c)
	o.Diary = diary
	engine, err := jetstream.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := engine.CheckRestored(ctx); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	log, err := engine.Log(ctx, annotary.DefaultTenant, rand.Text(), logOptions(c))
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	l := &ledger{engine: engine, log: log}
	if err := l.openKills(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if err := l.openDesk(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if err := l.openLabels(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// openLabels opens what conversations have seen. An installation that has
// recorded calls and finds nothing there has forgotten it.
func (l *ledger) openLabels(ctx context.Context) error {
	_, last, _, err := l.log.Extent(ctx)
	if err != nil {
		return err
	}
	bucket, made, err := l.engine.Bucket(ctx, labelsBucket, jetstream.BucketOptions{TTL: label.TTL})
	if err != nil {
		return err
	}
	l.labels, err = label.Open(ctx, label.Options{Bucket: bucket, Made: made, Old: last > 0, Sole: l.engine.Embedded()})
	return err
}

const labelsBucket = "labels"

// catalogueBucket holds what operators say of servers and tools at run time.
const catalogueBucket = "catalogue"

// openKills reads what is stopped before the first call, and follows it from
// then on.
func (l *ledger) openKills(ctx context.Context) error {
	bucket, _, err := l.engine.Bucket(ctx, catalogueBucket, jetstream.BucketOptions{})
	if err != nil {
		return err
	}
	l.kills = gateway.NewKills(bucket)
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	ready := make(chan struct{})
	l.done.Go(func() { l.kills.Follow(ctx, func() { close(ready) }) })
	select {
	case <-ready:
		return nil
	case <-time.After(killsWithin):
		return annotary.E(annotary.CodeStore, "what is stopped cannot be read from the store", nil).
			WithHint("does the store answer? 'annotary state status' says so of a running gateway")
	}
}

// killsWithin is how long the store may take to say what is stopped.
const killsWithin = 30 * time.Second

// engineOptions say where this configuration keeps its state.
func engineOptions(c *config.Config) jetstream.Options {
	s := &c.State
	return jetstream.Options{
		Dir: filepath.Join(c.Data.Value(), "state"), URL: s.URL.Value(), Credentials: s.Credentials.Value(),
		CA: s.CA.Value(), Cert: s.Cert.Value(), Key: s.Key.Value(),
		Replicas: s.Replicas, Deadline: s.Timeout.D(),
	}
}

func (l *ledger) close() error {
	if l.stop != nil {
		l.stop()
		l.done.Wait()
	}
	l.log.Close()
	if l.keeper != nil {
		l.keeper.end()
	}
	if l.spool != nil {
		_ = l.spool.Close() // every line in it is synced
	}
	return l.engine.Close()
}
