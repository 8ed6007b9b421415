package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// A cell is one thing that was measured, and what came out.
type cell struct {
	behind      string // http or stdio: how the server is reached
	revision    string
	concurrency int
	leg         string

	calls     float64 // per second
	p50, p99  time.Duration
	cpu       time.Duration // per call, of the process in the middle
	allocated float64       // bytes per call
}

// A leg is one way from the client to the server.
type leg struct {
	name    string
	middle  *process // nil if there is none
	callers func(n int) ([]caller, error)
	stop    func()
}

// results are all that was measured.
type results struct {
	cells   []cell
	records []record
}

func measureAll(ctx context.Context, p plan) (results, error) {
	cells, err := measure(ctx, p)
	if err != nil {
		return results{}, err
	}
	records, err := measureRecords(ctx, p)
	return results{cells, records}, err
}

// measure measures everything on the wire that the plan asks for.
func measure(ctx context.Context, p plan) ([]cell, error) {
	var all []cell
	for _, behind := range []string{"http", "stdio"} {
		for _, revision := range []string{modern, legacy} {
			cells, err := measureEra(ctx, p, behind, revision)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", behind, revision, err)
			}
			all = append(all, cells...)
		}
	}
	return all, nil
}

func measureEra(ctx context.Context, p plan, behind, revision string) ([]cell, error) {
	legs, stop, err := startLegs(ctx, p, behind, revision)
	defer stop()
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, c := range p.concurrency {
		sums := make([]cell, len(legs))
		callers := make([][]caller, len(legs))
		for i, l := range legs {
			if callers[i], err = l.callers(c); err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
			// Warm: connections, pools, the first growth of the heap.
			if _, err := load(ctx, callers[i], p.duration/4); err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
		}
		for range p.rounds {
			for i, l := range legs {
				if err := sums[i].add(ctx, l, callers[i], p.duration); err != nil {
					return nil, fmt.Errorf("%s: %w", l.name, err)
				}
			}
		}
		for i, l := range legs {
			sums[i].divide(p.rounds)
			sums[i].behind, sums[i].revision, sums[i].concurrency, sums[i].leg = behind, revision, c, l.name
		}
		cells = append(cells, sums...)
	}
	return cells, nil
}

// add measures once and adds the result.
func (c *cell) add(ctx context.Context, l leg, callers []caller, d time.Duration) error {
	before, err := l.usage()
	if err != nil {
		return err
	}
	begin := time.Now()
	took, err := load(ctx, callers, d)
	if err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	after, err := l.usage()
	if err != nil {
		return err
	}
	n := len(took)
	c.calls += float64(n) / seconds
	c.p50 += took[n/2]
	c.p99 += took[n*99/100]
	c.cpu += (after.cpu - before.cpu) / time.Duration(n)
	c.allocated += float64(after.allocated-before.allocated) / float64(n)
	return nil
}

func (c *cell) divide(rounds int) {
	c.calls /= float64(rounds)
	c.p50 /= time.Duration(rounds)
	c.p99 /= time.Duration(rounds)
	c.cpu /= time.Duration(rounds)
	c.allocated /= float64(rounds)
}

type usage struct {
	cpu       time.Duration
	allocated uint64
}

// usage is what the process in the middle has used so far.
func (l leg) usage() (usage, error) {
	if l.middle == nil {
		return usage{}, nil
	}
	cpu, err := l.middle.cpu()
	if err != nil {
		return usage{}, err
	}
	allocated, err := l.middle.allocated()
	return usage{cpu, allocated}, err
}

// startLegs starts the server behind and everything that may stand before it.
func startLegs(ctx context.Context, p plan, behind, revision string) (legs []leg, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range slices.Backward(stops) {
			f()
		}
	}
	upstream := ""
	if behind == "http" {
		end, err := spawn(p.gogc, "upstream")
		if err != nil {
			return nil, stop, err
		}
		stops = append(stops, end.stop)
		if err := end.ready(); err != nil {
			return nil, stop, err
		}
		upstream = "http://" + end.addr + "/"
	}
	for name := range strings.SplitSeq(p.legs, ",") {
		if name == "reverseproxy" && behind == "stdio" {
			continue
		}
		l, err := startLeg(ctx, p, name, upstream, revision)
		if err != nil {
			return nil, stop, fmt.Errorf("%s: %w", name, err)
		}
		stops = append(stops, l.stop)
		legs = append(legs, l)
	}
	return legs, stop, nil
}

func startLeg(ctx context.Context, p plan, name, upstream, revision string) (leg, error) {
	switch {
	case name == "direct" && upstream != "":
		return leg{name: name, callers: httpCallers(ctx, upstream, revision), stop: func() {}}, nil
	case name == "direct":
		return directPipe(p, revision)
	}
	middle, err := spawn(p.gogc, name, "-upstream", upstream, "-revision", revision)
	if err != nil {
		return leg{}, err
	}
	if err := middle.ready(); err != nil {
		return leg{}, err
	}
	url := "http://" + middle.addr + "/"
	if name == "annotary" || name == "judged" {
		url += "mcp/s/bench"
	}
	return leg{name: name, middle: middle, callers: httpCallers(ctx, url, revision), stop: middle.stop}, nil
}

func directPipe(p plan, revision string) (leg, error) {
	self, err := os.Executable()
	if err != nil {
		return leg{}, err
	}
	end, err := newPipe(p.gogc, revision, self, "role", "stdio")
	if err != nil {
		return leg{}, err
	}
	callers := func(n int) ([]caller, error) { return slices.Repeat([]caller{end}, n), nil }
	return leg{name: "direct", callers: callers, stop: end.stop}, nil
}

// httpCallers makes n clients that share one pool of connections.
func httpCallers(ctx context.Context, url, revision string) func(n int) ([]caller, error) {
	client := &http.Client{Transport: transport()}
	return func(n int) ([]caller, error) {
		callers := make([]caller, n)
		for i := range callers {
			c, err := newHTTPCaller(ctx, client, url, revision)
			if err != nil {
				return nil, err
			}
			callers[i] = c
		}
		return callers, nil
	}
}
