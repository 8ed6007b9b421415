// Command migrate is a server with one long, destructive tool: it reports
// progress, stops when the client cancels, and can be rehearsed with dryRun.
package main

import (
	"context"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/examples/internal/serve"
	"github.com/annotary/annotary/tool"
)

// A migration is one step.
type migration struct {
	name string
	run  func(ctx context.Context) error
}

// A schema is a database to migrate: what is pending, what was applied.
type schema struct {
	mu      sync.Mutex // one migration at a time
	pending []migration
	applied []string
}

type in struct {
	tool.Rehearsal
}

type out struct {
	Processed []string `json:"processed"`
	DryRun    bool     `json:"dryRun"`
}

func newServer(db *schema) *tool.Server {
	s := tool.New("migrate", "1.0.0", nil)
	tool.Add(s, tool.Destroy(tool.Closed, tool.NotIdempotent), tool.Spec{
		Name:        "migrate_database",
		Title:       "Run database migrations",
		Description: "Run all pending database migrations. With dryRun, only say which.",
		Reversible:  annotary.No,
		Timeout:     30 * time.Minute,
	}, db.migrate)
	return s
}

func (db *schema) migrate(ctx context.Context, call *tool.Call, _ in) (out, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	o := out{DryRun: call.DryRun}
	for i, m := range db.pending {
		if err := call.Progress(ctx, i, len(db.pending), "Running: "+m.name); err != nil {
			return o, tool.Errorf("migration stopped after %d of %d: %w", i, len(db.pending), err)
		}
		if !call.DryRun {
			if err := m.run(ctx); err != nil {
				return o, err // the log has why; the model learns that it failed
			}
			db.applied = append(db.applied, m.name)
		}
		o.Processed = append(o.Processed, m.name)
	}
	if !call.DryRun {
		db.pending = nil
	}
	call.Say("Migrations complete: %d migrations processed.", len(o.Processed))
	return o, nil
}

// pause stands for the work of a migration.
func pause(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
}

func newSchema() *schema {
	return &schema{pending: []migration{
		{"001_create_customers", pause(10 * time.Millisecond)},
		{"002_add_status", pause(10 * time.Millisecond)},
		{"003_drop_legacy_notes", pause(10 * time.Millisecond)},
	}}
}

func main() {
	s := newServer(newSchema())
	serve.Main(s, s.HTTP())
}
