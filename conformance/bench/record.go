package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A record is what the durable record adds to one kind of call.
type record struct {
	what    string
	writes  bool
	takes   time.Duration // of the server, to answer
	memory  cell          // with the log in memory
	durable cell          // with the log in the embedded engine, synced
}

// measureRecords takes three kinds of calls through the whole line, one at a
// time: with the log in memory and with the log in the engine, in alternating
// rounds.
func measureRecords(ctx context.Context, p plan) ([]record, error) {
	records := []record{
		{what: "a write, which waits for its record", writes: true},
		{what: "a read that may overlap, of a server that answers at once"},
		{what: "a read that may overlap, of a server that takes 5 ms", takes: 5 * time.Millisecond},
	}
	for i := range records {
		if err := records[i].measure(ctx, p); err != nil {
			return nil, fmt.Errorf("%s: %w", records[i].what, err)
		}
	}
	return records, nil
}

func (r *record) measure(ctx context.Context, p plan) error {
	server, err := spawn(p.gogc, "upstream", "-takes", r.takes.String())
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.ready(); err != nil {
		return err
	}
	cells := []*cell{&r.memory, &r.durable}
	legs := make([]leg, len(cells))
	callers := make([][]caller, len(cells))
	for i := range cells {
		durable := "-durable=" + strconv.FormatBool(i == 1)
		if legs[i], err = startJudged(ctx, p, "http://"+server.addr+"/", durable, "-writes="+strconv.FormatBool(r.writes)); err != nil {
			return err
		}
		defer legs[i].stop()
		if callers[i], err = legs[i].callers(1); err != nil {
			return err
		}
		if _, err := load(ctx, callers[i], p.duration/4); err != nil {
			return err
		}
	}
	for range p.rounds {
		for i, c := range cells {
			if err := c.add(ctx, legs[i], callers[i], p.duration); err != nil {
				return err
			}
		}
	}
	for _, c := range cells {
		c.divide(p.rounds)
	}
	return nil
}

func startJudged(ctx context.Context, p plan, upstream string, more ...string) (leg, error) {
	middle, err := spawn(p.gogc, "judged", append([]string{"-upstream", upstream}, more...)...)
	if err != nil {
		return leg{}, err
	}
	if err := middle.ready(); err != nil {
		return leg{}, err
	}
	return leg{name: "judged", middle: middle, callers: httpCallers(ctx, "http://"+middle.addr+"/mcp/s/bench", modern), stop: middle.stop}, nil
}

// recordTable is what they add, as a table in Markdown.
func recordTable(records []record) string {
	var out strings.Builder
	out.WriteString("\n### What the durable record adds to a call\n\n| call, " + modern + ", one at a time | p50, log in memory | p50, embedded engine | added |\n|---|---|---|---|\n")
	for _, r := range records {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.what, millis(r.memory.p50), millis(r.durable.p50), millis(r.durable.p50-r.memory.p50))
	}
	return out.String()
}
