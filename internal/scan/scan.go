// Package scan takes stock of the MCP servers somebody runs: it lists their
// tools and says what they state about themselves, where that is contradicted,
// what they cost a model, and what each client does with them today.
//
// It starts servers and asks them for their tools; it calls no tool and writes
// nothing. A server that a project's file brings along is started only if the
// caller says so: scanning a cloned repository must not run its code.
//
//	clients.Found ─ Run ─▶ Report (the form of `annotary scan --json`)
package scan

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/internal/clients"
	"github.com/annotary/annotary/internal/upstream"
)

// Options say how far a scan goes. The zero value starts no project's server.
type Options struct {
	// StartProject starts the servers of project files too.
	StartProject bool
	// Timeout bounds each server. If zero, 20 s.
	Timeout time.Duration
	// Jobs is how many servers are asked at once. If zero, 4.
	Jobs int
	// Home is the folder a server starts in whose entry names none. It must
	// not be the folder being scanned: npx and python -m run what they find in
	// theirs.
	Home string
	// Environ is our environment, "name=value" each, for the servers whose
	// client would pass it on.
	Environ []string
	// List asks one server. If nil, upstream.List.
	List func(context.Context, upstream.Target, upstream.Options) (upstream.Listing, error)
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.Jobs == 0 {
		o.Jobs = 4
	}
	if o.List == nil {
		o.List = upstream.List
	}
	return o
}

// Run asks every server it may and reports. Servers that fail are part of the
// report; it has no error of its own.
func Run(ctx context.Context, found clients.Found, opts Options) Report {
	opts = opts.withDefaults()
	groups := clients.Distinct(found.Servers)
	all := make([]surveyed, len(groups))
	places := make(chan struct{}, opts.Jobs)
	var wait sync.WaitGroup
	for i, entries := range groups {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			all[i] = survey(ctx, entries, opts)
		})
	}
	wait.Wait()
	return report(found, all)
}

// surveyed is one server and what is known of its tools.
type surveyed struct {
	entries []clients.Server
	server  Server
	tools   []judged
}

// judged is one tool with what follows from its definition.
type judged struct {
	annotary.Tool
	hints        annotary.Hints
	derived      bool // nothing is stated, but the definition tells read from write
	contradicted *Contradiction
}

// survey asks the server that the entries start.
func survey(ctx context.Context, entries []clients.Server, opts Options) surveyed {
	s := surveyed{entries: entries, server: describe(entries)}
	entry, stop := choose(entries, opts)
	if stop != nil {
		s.server.Outcome = *stop
		return s
	}
	listing, err := opts.List(ctx, target(entry, opts), upstream.Options{Timeout: opts.Timeout})
	if err != nil {
		s.server.Outcome = failed(entry, listing, err, opts)
		return s
	}
	s.server.Outcome = Outcome{Status: Listed}
	for _, w := range listing.Warnings {
		s.server.Warnings = append(s.server.Warnings, clean(w, &entry.Launch))
	}
	s.tools = judge(listing.Tools, s.server.Name)
	s.server.count(s.tools)
	return s
}

// choose returns the entry to start, or why none is.
func choose(entries []clients.Server, opts Options) (*clients.Server, *Outcome) {
	on := slices.DeleteFunc(slices.Clone(entries), func(s clients.Server) bool { return s.Disabled })
	if len(on) == 0 {
		return nil, &Outcome{Status: Disabled, Problem: "switched off in " + entries[0].Client.Name()}
	}
	var why *Outcome
	for i := range on {
		stop := obstacle(&on[i], opts)
		if stop == nil {
			return &on[i], nil
		}
		if why == nil {
			why = stop
		}
	}
	return nil, why
}

// obstacle says why an entry is not to be started, nil if it may be.
func obstacle(s *clients.Server, opts Options) *Outcome {
	if s.Scope == clients.Project && !opts.StartProject {
		return &Outcome{Status: NotStarted, Problem: "a project brings it along: " + s.File}
	}
	if len(s.Launch.Missing) > 0 {
		return incomplete(s)
	}
	if dir := s.Launch.Dir; dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return &Outcome{
				Status: Incomplete, Problem: "the folder it starts in is gone: " + dir,
				Hint: "remove the entry from " + s.File,
			}
		}
	}
	return nil
}

// target turns an entry into what upstream connects to.
func target(s *clients.Server, opts Options) upstream.Target {
	return upstream.Target{
		Name:    s.Name,
		Command: s.Launch.Command,
		Args:    s.Launch.Args,
		Env:     s.Launch.Environment(opts.Environ),
		Dir:     cmp.Or(s.Launch.Dir, opts.Home),
		URL:     s.Launch.URL,
		Header:  s.Launch.Headers.Reveal(),
	}
}

// judge derives what the tools do and holds it against what they state.
func judge(tools []annotary.Tool, server string) []judged {
	out := make([]judged, len(tools))
	for i, derived := range derive.Tools(tools) {
		claims := slices.Concat(tools[i].Declared(), derived[:])
		// No operator speaks here, so Resolve has nothing to refuse.
		effective, _ := annotary.Resolve(annotary.Known{Claims: claims})
		out[i] = judged{
			Tool: tools[i], hints: effective.Hints, contradicted: contradicted(&tools[i], server, claims),
			derived: !annotated(&tools[i]) && derived[annotary.ReadOnly].Value != annotary.Unknown,
		}
	}
	return out
}

// contradicted returns the first hint that the server states as safe and the
// definition speaks against. Taking the server at its word leaves only what
// was derived with the confidence of a contradiction.
func contradicted(t *annotary.Tool, server string, claims []annotary.Claim) *Contradiction {
	believed, _ := annotary.Resolve(annotary.Known{Claims: claims, Believed: true})
	for _, f := range believed.Findings {
		if f.Claim.By == annotary.FromDeclared && f.Decided.From == annotary.FromDerived {
			return &Contradiction{
				Server: server, Tool: t.Name, Hint: f.Hint.String(), Stated: f.Claim.Value, Why: f.Decided.Why,
			}
		}
	}
	return nil
}

// annotated reports whether a definition states any hint of the specification.
func annotated(t *annotary.Tool) bool {
	for n := annotary.ReadOnly; n.InSpec(); n++ {
		if t.Stated[n].Value() != annotary.Unknown {
			return true
		}
	}
	return false
}
