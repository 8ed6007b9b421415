package cli

import (
	"context"

	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/seal"
)

// openDesk opens what is kept of questions, answers and seals.
func (l *ledger) openDesk(ctx context.Context) (err error) {
	if l.approvals, _, err = l.engine.Bucket(ctx, "approvals", jetstream.BucketOptions{TTL: approval.Keep}); err != nil {
		return err
	}
	if l.grants, _, err = l.engine.Bucket(ctx, "grants", jetstream.BucketOptions{}); err != nil {
		return err
	}
	l.keys, _, err = l.engine.Bucket(ctx, "keys", jetstream.BucketOptions{})
	return err
}

// ladder is how this configuration has people asked.
func (l *ledger) ladder(c *config.Config) *gateway.Ladder {
	return &gateway.Ladder{
		Desk:   approval.NewDesk(l.approvals, l.grants, approval.Options{Open: c.Approvals.Open.D(), Max: c.Approvals.Max}),
		Sealer: seal.NewSealer(l.keys),
		Wait:   c.Approvals.Wait.D(),
	}
}
