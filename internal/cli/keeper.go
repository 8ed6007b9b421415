package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/export"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/notary"
	"github.com/annotary/annotary/internal/spool"
)

// A keeper does in the background what is done to the log: it seals it, copies it
// elsewhere and shortens it.
type keeper struct {
	audit   config.Audit
	sealer  *notary.Sealer
	exports []*export.Exporter
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// shortenEvery is how often it is looked whether entries are past their time.
const shortenEvery = time.Minute

// openSpool opens the file in which entries wait while the store is lost. What
// an earlier gateway left there is carried over even if reads no longer go on
// without the store.
func (l *ledger) openSpool(c *config.Config, diary *slog.Logger) (err error) {
	l.spool, err = spool.Open(filepath.Join(c.Data.Value(), "spool.jsonl"), l.log, l.engine.Lost, diary)
	return err
}

// keep has the log kept as the configuration says. A keeper that does so already
// goes on; one that does otherwise ends once there is another.
func (l *ledger) keep(c *config.Config, diary *slog.Logger) error {
	if l.keeper != nil && reflect.DeepEqual(l.keeper.audit, c.Audit) {
		return nil
	}
	k, err := l.newKeeper(c, diary)
	if err != nil {
		return err
	}
	if l.keeper != nil {
		if err := l.log.Limit(context.Background(), logOptions(c)); err != nil {
			return err
		}
		l.keeper.end()
	}
	l.keeper = k
	k.begin(l.spool, diary)
	return nil
}

// logOptions say how the log itself is kept.
func logOptions(c *config.Config) jetstream.LogOptions {
	return jetstream.LogOptions{MaxBytes: int64(c.Audit.Max)}
}

// newKeeper makes a keeper that has not begun.
func (l *ledger) newKeeper(c *config.Config, diary *slog.Logger) (*keeper, error) {
	tiles, _, err := l.engine.Bucket(context.Background(), "tiles", jetstream.BucketOptions{})
	if err != nil {
		return nil, err
	}
	checkpoints, _, err := l.engine.Bucket(context.Background(), "checkpoints", jetstream.BucketOptions{})
	if err != nil {
		return nil, err
	}
	key := notary.KeyFile(c.Audit.Key.Value())
	if err := key.Make(); err != nil {
		return nil, err
	}
	keys, err := key.Read()
	if err != nil {
		return nil, err
	}
	diary.Info("what is recorded is sealed; this key verifies it", "key", keys.Trusted[0])
	return &keeper{
		audit: c.Audit, exports: exportsOf(c, keys.Origin(), l.log, diary),
		sealer: notary.New(notary.Options{
			Name: annotary.DefaultTenant, Log: l.log, Tiles: tiles, Checkpoints: checkpoints,
			Keys: key.Read, Witnesses: witnesses(c), Replica: rand.Text(), Diary: diary,
		}),
	}, nil
}

// begin begins the work.
func (k *keeper) begin(waiting *spool.Spool, diary *slog.Logger) {
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.work.Go(func() { k.sealer.Run(ctx) })
	k.work.Go(func() { waiting.Run(ctx) })
	for _, e := range k.exports {
		k.work.Go(func() { e.Run(ctx) })
	}
	if keep := k.audit.Keep.D(); keep > 0 {
		k.work.Go(func() { k.shorten(ctx, keep, diary) })
	}
}

// witnesses are who sees every checkpoint.
func witnesses(c *config.Config) []notary.Witness {
	w := []notary.Witness{notary.File(c.Audit.Checkpoints.Value())}
	if url := c.Audit.Webhook.Value(); url != "" {
		w = append(w, &notary.Webhook{URL: url})
	}
	return w
}

// shorten drops entries that are past their time.
func (k *keeper) shorten(ctx context.Context, keep time.Duration, diary *slog.Logger) {
	for tick := time.NewTicker(min(shortenEvery, max(keep/10, time.Second))); ; {
		if _, err := k.sealer.Shorten(ctx, time.Now().Add(-keep), k.copied()); err != nil && ctx.Err() == nil {
			diary.Warn("the log could not be shortened; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// copied returns the last pack that every export has.
func (k *keeper) copied() uint64 {
	last := ^uint64(0)
	for _, e := range k.exports {
		last = min(last, e.Status().Done)
	}
	return last
}

// exportsOf makes what copies the log elsewhere, in the order of their names.
func exportsOf(c *config.Config, origin string, log export.Log, diary *slog.Logger) []*export.Exporter {
	var out []*export.Exporter
	for _, name := range slices.Sorted(maps.Keys(c.Audit.Export)) {
		e := c.Audit.Export[name]
		o := export.Options{Name: name, Log: log, Diary: diary}
		if url := e.Postgres.Value(); url != "" {
			o.Sink = &export.Postgres{URL: url, Table: e.Table, Origin: origin}
		} else {
			file := &export.File{Path: e.File.Value()}
			if e.Format == config.OCSF {
				file.Format = export.OCSF
			}
			o.Sink = file
		}
		out = append(out, export.New(o))
	}
	return out
}

// end lets the background work come to its end; what is in the log is sealed.
func (k *keeper) end() {
	k.stop()
	k.work.Wait()
}

// auditHealth says how the log is doing.
func (d *daemon) auditHealth() *api.AuditHealth {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ledger == nil || d.ledger.keeper == nil {
		return nil
	}
	s := d.ledger.keeper.sealer.Status()
	h := &api.AuditHealth{Sealed: s.Size, Spooled: d.ledger.spool.Waiting(), Exports: []api.ExportHealth{}}
	if !s.Time.IsZero() {
		h.SealedAt = &s.Time
	}
	for _, e := range d.ledger.keeper.exports {
		status := e.Status()
		h.Exports = append(h.Exports, api.ExportHealth{Name: status.Name, Behind: status.Behind})
		if status.Problem != nil {
			h.Exports[len(h.Exports)-1].Problem = status.Problem.Error()
		}
	}
	switch {
	case s.Alarm != nil:
		h.Alarm = fmt.Sprintf("%s: %v", annotary.CodeOf(s.Alarm), s.Alarm)
	case s.Trouble != nil:
		h.Problem = s.Trouble.Error()
	}
	return h
}
