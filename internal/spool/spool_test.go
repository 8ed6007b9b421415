package spool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/spool"
	"github.com/annotary/annotary/internal/storetest"
)

// flaky is a log that can be lost.
type flaky struct {
	memory.Log
	gone atomic.Bool
	left atomic.Int64 // appends until it is lost by itself; 0 is never
}

func (f *flaky) Append(ctx context.Context, line []byte) error {
	if n := f.left.Load(); n > 0 && f.left.Add(-1) == 0 {
		f.gone.Store(true)
	}
	if f.gone.Load() {
		return annotary.E(annotary.CodeStore, "gone", nil)
	}
	return f.Log.Append(ctx, line)
}

func line(t *testing.T, call string) []byte {
	t.Helper()
	l, err := audit.Entry{Kind: audit.Decided, Call: call, Time: time.Now(), Tenant: "default", Subject: "ann", Method: "tools/call", Server: "db", Severity: audit.Info}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func open(t *testing.T, path string, log *flaky) *spool.Spool {
	t.Helper()
	s, err := spool.Open(path, log, log.gone.Load, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func appendTo(t *testing.T, s *spool.Spool, call string) {
	t.Helper()
	if err := s.Append(t.Context(), line(t, call)); err != nil {
		t.Fatal(err)
	}
}

// TestSpool: while the log is there entries go to it unmarked; while it is lost
// they wait on disk, over a restart too, and come into it marked and once.
func TestSpool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	log := &flaky{}
	s := open(t, path, log)
	appendTo(t, s, "before")
	log.gone.Store(true)
	appendTo(t, s, "during 1")
	appendTo(t, s, "during 2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	torn, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = torn.WriteString(`{"v":1,"kind":"deci`) // never confirmed
	if err := errors.Join(err, torn.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, log)
	if got := s.Waiting(); got != 2 {
		t.Fatalf("%d wait, want 2", got)
	}
	appendTo(t, s, "during 3")
	if err := s.Carry(t.Context()); err == nil {
		t.Error("carried over to a log that is lost")
	}
	log.gone.Store(false)
	if err := s.Carry(t.Context()); err != nil || s.Waiting() != 0 {
		t.Fatal(err, s.Waiting())
	}
	appendTo(t, s, "after")
	var got []string
	for _, e := range storetest.Entries(t, log) {
		got = append(got, fmt.Sprintf("%s %v", e.Call, e.Spooled))
	}
	if want := "[before false during 1 true during 2 true during 3 true after false]"; fmt.Sprint(got) != want {
		t.Errorf("the log has %v", got)
	}
}

// TestSpool_flaps: a log that is lost again and again while entries are carried
// over and new ones come gets each once.
func TestSpool_flaps(t *testing.T) {
	log := &flaky{}
	s := open(t, filepath.Join(t.TempDir(), "spool"), log)
	const n = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			if err := s.Append(context.Background(), line(t, fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		}
	})
	stop := make(chan struct{})
	var carrier sync.WaitGroup
	carrier.Go(func() {
		for i := int64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			log.left.Store(1 + i%7)
			log.gone.Store(false)
			_ = s.Carry(context.Background())
			time.Sleep(100 * time.Microsecond)
		}
	})
	wg.Wait()
	close(stop)
	carrier.Wait()
	log.left.Store(0)
	log.gone.Store(false)
	if err := s.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range storetest.Entries(t, log) {
		seen[e.Call]++
	}
	for i := range n {
		if c := seen[fmt.Sprint(i)]; c != 1 {
			t.Errorf("entry %d is there %d times", i, c)
		}
	}
}

// TestSpool_refused: a log that is there and says no, because it is full, is
// not lost; and who went away is not spooled for.
func TestSpool_refused(t *testing.T) {
	full := &flaky{}
	full.gone.Store(true)
	s, err := spool.Open(filepath.Join(t.TempDir(), "spool"), full, func() bool { return false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(t.Context(), line(t, "x")); annotary.CodeOf(err) != annotary.CodeStore || s.Waiting() != 0 {
		t.Errorf("a full log: %v, %d wait", err, s.Waiting())
	}
}
