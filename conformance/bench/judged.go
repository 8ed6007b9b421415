package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
	"github.com/annotary/annotary/policy"
)

// serveJudged is the whole line: every call is resolved, decided by the preset
// careful and recorded twice before it is answered. The operator vouches for the
// tool. The log is in memory, so that what is measured is the line and not the
// disk, or in the embedded engine.
func (r role) serveJudged(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if !r.durable {
		return r.judge(ctx, &latest{})
	}
	dir, err := os.MkdirTemp("", "annotary-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	engine, err := jetstream.Open(ctx, jetstream.Options{Dir: dir})
	if err != nil {
		return err
	}
	entries, err := engine.Log(ctx, "bench", "1", jetstream.LogOptions{})
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	err = r.judge(ctx, entries)
	entries.Close()
	return errors.Join(err, engine.Close())
}

// judge serves the line with this log until the context ends.
func (r role) judge(ctx context.Context, log gateway.Log) error {
	target := upstream.Target{Name: "bench", URL: r.upstream}
	if r.upstream == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		target = upstream.Target{Name: "bench", Command: self, Args: []string{"role", "stdio"}}
	}
	server, err := upstream.New(target, upstream.ServerOptions{Sharing: upstream.Shared})
	if err != nil {
		return err
	}
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		return err
	}
	hints := map[annotary.HintName]bool{annotary.ReadOnly: true, annotary.OpenWorld: false, annotary.Egress: false}
	if r.writes {
		rules.Write = annotary.VerdictAllow
		hints[annotary.ReadOnly], hints[annotary.Destructive] = false, false
	}
	set, err := policy.New(policy.Options{Rules: &rules})
	if err != nil {
		return err
	}
	g := gateway.New(server)
	g.Use(&gateway.Judge{
		Policies: set, Log: log,
		Stances: map[string]catalog.Stance{"bench": {Overrides: []catalog.Override{{Tools: "echo", Hints: hints}}}},
	})
	http := wire.New(g, wire.Options{}).Server()
	http.Addr = r.addr
	context.AfterFunc(ctx, func() { _ = http.Close() })
	err = http.ListenAndServe()
	g.Replace()
	g.Wait()
	return err
}

// latest is a log that keeps the latest entries.
type latest struct {
	mu    sync.Mutex
	lines [1 << 12][]byte
	next  int
}

// Instant says that Append makes nobody wait.
func (l *latest) Instant() {}

// Append adds an entry.
func (l *latest) Append(_ context.Context, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines[l.next%len(l.lines)] = line
	l.next++
	return nil
}
