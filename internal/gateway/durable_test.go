package gateway_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/memory"
)

// TestDurableCost measures what the durable record adds to a call: the median
// with the log in an embedded engine, synced, less the median with the log in
// memory, in alternating rounds through the whole line to a server on loopback.
// A read that may overlap waits for its record only as long as its server takes
// less. ANNOTARY_ROUNDS says how many rounds (3), each of 100 calls; only with
// many is the figure held to its bound.
func TestDurableCost(t *testing.T) {
	rounds, bounded := 3, false
	if v, err := strconv.Atoi(os.Getenv("ANNOTARY_ROUNDS")); err == nil {
		rounds, bounded = v, true
	}
	e, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	log, err := e.Log(t.Context(), "cost", "epoch", jetstream.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the gateways have ended
		log.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	reads := map[annotary.HintName]bool{annotary.ReadOnly: true, annotary.OpenWorld: false, annotary.Egress: false}
	stances := map[string]catalog.Stance{"db": {Overrides: []catalog.Override{{Tools: "get_row", Hints: reads}}}}
	for _, tt := range []struct {
		what, tool  string
		takes, most time.Duration // of the server, of the record
	}{
		{"a write", "drop_table", 0, time.Millisecond},
		{"a read that may overlap", "get_row", 0, 0}, // the disk decides: shown, not held to anything
		{"a read of a server that takes 5 ms", "get_row", 5 * time.Millisecond, 100 * time.Microsecond},
	} {
		gates := map[string]*gateway.Gateway{}
		for name, l := range map[string]gateway.Log{"memory": &memory.Log{}, "durable": log} {
			f := &fixture{tools: liar, onDo: func() { time.Sleep(tt.takes) }}
			gates[name] = start(t, f, &gateway.Judge{Policies: everything(t), Stances: stances, Log: l})
		}
		took := map[string][]time.Duration{}
		for range rounds {
			for name, g := range gates {
				for range 100 {
					began := time.Now()
					if body := ask(t, g, "tools/call", `"name":"`+tt.tool+`"`); codeOf(body) != "" {
						t.Fatalf("%s", body)
					}
					took[name] = append(took[name], time.Since(began))
				}
			}
		}
		median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
		durable, plain := median(took["durable"]), median(took["memory"])
		t.Logf("%s: p50 %v with a durable record, %v with one in memory: %v added", tt.what, durable, plain, durable-plain)
		if bounded && tt.most > 0 && durable-plain > tt.most {
			t.Errorf("%s: %v added, want at most %v", tt.what, durable-plain, tt.most)
		}
	}
}
