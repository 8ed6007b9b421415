package jetstream_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	nats_js "github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary/internal/jetstream"
)

const throughputLine = 900 // bytes, as an entry has

// TestThroughput measures Append from 256 goroutines beside bare nats.go that
// publishes packs of the same size, one after the other as we must, on engines
// with the same settings, in alternating rounds. ANNOTARY_ROUNDS says how many
// (5), each of 200 ms; the share that must be reached is low where they
// are few.
func TestThroughput(t *testing.T) {
	rounds, floor := 5, 0.2
	if v, err := strconv.Atoi(os.Getenv("ANNOTARY_ROUNDS")); err == nil {
		rounds, floor = v, 0.7
	}
	e := open(t, jetstream.Options{Dir: t.TempDir()})
	l, err := e.Log(t.Context(), "bench", "epoch", jetstream.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bare := newBare(t)
	var shares, ours, theirs []float64
	for range rounds {
		rate, pack := appendFor(t, l, 200*time.Millisecond)
		base := bare.publishFor(t, pack, 200*time.Millisecond)
		t.Logf("Append %.0f/s in packs of %d, bare nats.go %.0f/s: %.0f %%", rate, pack, base, 100*rate/base)
		shares, ours, theirs = append(shares, rate/base), append(ours, rate), append(theirs, base)
	}
	for _, s := range [][]float64{shares, ours, theirs} {
		slices.Sort(s)
	}
	t.Logf("median: %.0f/s beside %.0f/s, %.0f %%", ours[rounds/2], theirs[rounds/2], 100*shares[rounds/2])
	if shares[rounds/2] < floor {
		t.Errorf("Append reaches %.0f %% of bare nats.go, want %.0f %%", 100*shares[rounds/2], 100*floor)
	}
}

// appendFor appends from 256 goroutines and returns entries a second and how
// many were in a pack on average.
func appendFor(t *testing.T, l *jetstream.Log, d time.Duration) (rate float64, pack int) {
	t.Helper()
	_, before, _, err := l.Extent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", throughputLine))
	var n atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range 256 {
		wg.Go(func() {
			for time.Since(began) < d {
				if err := l.Append(context.Background(), line); err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	_, after, _, err := l.Extent(t.Context())
	if err != nil || after == before {
		t.Fatal("nothing was written", err)
	}
	return float64(n.Load()) / took.Seconds(), int(n.Load()) / int(after-before)
}

// bare is nats.go on an embedded engine, with nothing of ours.
type bare struct{ js nats_js.JetStream }

func newBare(t *testing.T) bare {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the engine does not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := nats_js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), nats_js.StreamConfig{
		Name: "B", Subjects: []string{"b"}, Storage: nats_js.FileStorage, Discard: nats_js.DiscardNew, DenyDelete: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bare{js}
}

func (b bare) publishFor(t *testing.T, pack int, d time.Duration) (rate float64) {
	t.Helper()
	data := bytes.Repeat([]byte(strings.Repeat("x", throughputLine)+"\n"), pack)
	n := 0
	began := time.Now()
	for ; time.Since(began) < d; n++ {
		if _, err := b.js.Publish(t.Context(), "b", data); err != nil {
			t.Fatal(err)
		}
	}
	return float64(n*pack) / time.Since(began).Seconds()
}
