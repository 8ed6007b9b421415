package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/jetstream"
)

// TestMeasureState (S6) measures what state costs a gateway: how soon it is
// ready, how much memory it takes, what an entry takes on disk, and how soon it is
// ready again with ANNOTARY_MEASURE entries in its log. `make measure-state` runs
// it; docs/performance.md and docs/state.md have the figures.
func TestMeasureState(t *testing.T) {
	entries, err := strconv.Atoi(os.Getenv("ANNOTARY_MEASURE"))
	if err != nil {
		t.Skip("ANNOTARY_MEASURE does not say how many entries")
	}
	entries -= entries % writers
	a, dir := newActor(t), t.TempDir()
	var ready []time.Duration
	for range 5 {
		g, took := timed(t, dir, a)
		ready = append(ready, took)
		time.Sleep(2 * time.Second)
		t.Logf("ready after %v; idle with %d MB", took, g.memory(t)>>20)
		g.end(t)
	}
	slices.Sort(ready)
	t.Logf("start to ready: median %v", ready[2])

	line := entryOf(t, dir, a)
	began := time.Now()
	fillLog(t, dir, line, entries)
	t.Logf("%d entries of %d bytes in %v: %d bytes on disk each", entries, len(line), time.Since(began).Round(time.Second), folderSize(t, filepath.Join(dir, "data", "state"))/int64(entries))
	g, took := timed(t, dir, a)
	t.Logf("ready after %v, nothing sealed yet", took)
	for deadline := time.Now().Add(5 * time.Minute); g.sealed(t) < entries; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatal("the log is not sealed")
		}
	}
	t.Logf("sealed: %d bytes on disk each, with their tree; %d MB of memory", folderSize(t, filepath.Join(dir, "data", "state"))/int64(entries), g.memory(t)>>20)
	g.end(t)
	for range 3 {
		g, took := timed(t, dir, a)
		t.Logf("ready %v after a clean end, with %d entries", took, entries)
		g.kill9()
		g, took = timed(t, dir, a)
		t.Logf("ready %v after kill -9, with %d entries; idle with %d MB", took, entries, g.memory(t)>>20)
		g.end(t)
	}
}

func timed(t *testing.T, dir string, a *actor) (*gatewayProcess, time.Duration) {
	t.Helper()
	began := time.Now()
	g := serveActor(t, dir, a)
	return g, time.Since(began).Round(time.Millisecond)
}

// end ends the gateway in good order.
func (g *gatewayProcess) end(t *testing.T) {
	t.Helper()
	if err := g.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = g.Wait()
}

// memory returns the resident memory of the gateway.
func (g *gatewayProcess) memory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// sealed returns how many entries are sealed.
func (g *gatewayProcess) sealed(t *testing.T) int {
	t.Helper()
	client := g.operator()
	defer client.Close()
	s, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Audit == nil {
		return 0
	}
	return int(s.Audit.Sealed)
}

// entryOf makes a call and returns the entry that it left.
func entryOf(t *testing.T, dir string, a *actor) []byte {
	t.Helper()
	g := serveActor(t, dir, a)
	defer g.end(t)
	if _, err := g.act(t.Context(), http.DefaultClient, `{"n":1}`); err != nil {
		t.Fatal(err)
	}
	client := g.operator()
	defer client.Close()
	var line []byte
	err := client.Audit(t.Context(), everything, func(l []byte) error {
		e, err := audit.Decode(l)
		if err == nil && e.Kind == audit.Decided {
			line = slices.Clone(l)
		}
		t.Logf("an entry of kind %s has %d bytes", e.Kind, len(l))
		return err
	})
	if err != nil || line == nil {
		t.Fatal("the call left no entry", err)
	}
	return line
}

// writers is how many write at once.
const writers = 256

// fillLog writes an entry many times into the log of a gateway that does not run.
func fillLog(t *testing.T, dir string, line []byte, entries int) {
	t.Helper()
	e, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(dir, "data", "state")})
	if err != nil {
		t.Fatal(err)
	}
	l, err := e.Log(t.Context(), "default", rand.Text(), jetstream.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range entries / writers {
				if err := l.Append(context.Background(), line); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	l.Close()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func folderSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
