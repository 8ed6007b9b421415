// Package storetest is the contract of the stores, as tests that every
// implementation passes.
package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
)

// Bucket is compare-and-set on keys. What is read may be out of date for a
// moment, as it is when a replica answers that has not heard yet: only a swap
// that succeeds proves otherwise.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64)) error
	Follow(ctx context.Context, prefix string, each func(value []byte, revision uint64)) error
	List(ctx context.Context, prefix string) ([][]byte, error)
}

// Log is appended to.
type Log interface {
	Append(ctx context.Context, line []byte) error
	Read(ctx context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error
	Extent(ctx context.Context) (first, last, size uint64, err error)
	Purge(ctx context.Context, before uint64) error
}

// RunBucket holds a bucket to its contract. Every call of open gives an empty
// one.
func RunBucket(t *testing.T, open func(t *testing.T) Bucket) {
	for name, test := range map[string]func(*testing.T, Bucket){
		"absent":     absent,
		"swap":       swap,
		"one-winner": oneWinner,
		"counter":    counter,
		"list":       list,
		"watch":      watch,
		"odd-keys":   oddKeys,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func absent(t *testing.T, b Bucket) {
	v, rev, err := b.Get(t.Context(), "no/such")
	if v != nil || rev != 0 || err != nil {
		t.Errorf("Get of nothing = %q, %d, %v", v, rev, err)
	}
}

func swap(t *testing.T, b Bucket) {
	ctx := t.Context()
	first := must(t)(b.Swap(ctx, "k", []byte("one"), 0))
	if _, err := b.Swap(ctx, "k", []byte("other"), 0); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("creating twice: %v", err)
	}
	second := must(t)(b.Swap(ctx, "k", []byte("two"), first))
	if _, err := b.Swap(ctx, "k", []byte("stale"), first); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("swapping at an old revision: %v", err)
	}
	if _, err := b.Swap(ctx, "absent", []byte("x"), second); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("swapping what is not there: %v", err)
	}
	eventually(t, "the second value is not read", func() bool {
		v, rev, err := b.Get(ctx, "k")
		return string(v) == "two" && rev == second && err == nil
	})
}

// oneWinner: of many who swap at one revision exactly one wins.
func oneWinner(t *testing.T, b Bucket) {
	rev := must(t)(b.Swap(t.Context(), "k", []byte("0"), 0))
	var mu sync.Mutex
	var wg sync.WaitGroup
	wins := 0
	for i := range 32 {
		wg.Go(func() {
			_, err := b.Swap(t.Context(), "k", fmt.Append(nil, i), rev)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
			case annotary.CodeOf(err) != annotary.CodeConflict:
				t.Errorf("losing gave %v", err)
			}
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Errorf("%d won", wins)
	}
}

// counter: read, add, swap, again on conflict; no addition is lost.
func counter(t *testing.T, b Bucket) {
	const workers, each = 8, 20
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				if err := increment(t.Context(), b, "n"); err != nil {
					t.Error(err, errors.Unwrap(err))
					return
				}
			}
		})
	}
	wg.Wait()
	eventually(t, "an addition was lost", func() bool {
		v, _, err := b.Get(t.Context(), "n")
		return err == nil && len(v) == 8 && binary.BigEndian.Uint64(v) == workers*each
	})
}

func increment(ctx context.Context, b Bucket, key string) error {
	for {
		v, rev, err := b.Get(ctx, key)
		if err != nil {
			return err
		}
		var n uint64
		if v != nil {
			n = binary.BigEndian.Uint64(v)
		}
		_, err = b.Swap(ctx, key, binary.BigEndian.AppendUint64(nil, n+1), rev)
		if annotary.CodeOf(err) != annotary.CodeConflict {
			return err
		}
	}
}

func list(t *testing.T, b Bucket) {
	ctx := t.Context()
	for _, key := range []string{"a/1", "a/2", "b/1", "a"} {
		must(t)(b.Swap(ctx, key, []byte(key), 0))
	}
	eventually(t, "List(a) is not [a/1 a/2]", func() bool {
		values, err := b.List(ctx, "a")
		slices.SortFunc(values, slices.Compare)
		return fmt.Sprintf("%s", values) == "[a/1 a/2]" && err == nil
	})
	if none, err := b.List(ctx, "c"); err != nil || len(none) != 0 {
		t.Errorf("List(c) = %q, %v", none, err)
	}
}

// watch: what is there, then ready, then what is written, in order. A value that
// is overwritten at once may be skipped; the last never is.
func watch(t *testing.T, b Bucket) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	rev := must(t)(b.Swap(ctx, "w/1", []byte("old"), 0))
	must(t)(b.Swap(ctx, "other/1", []byte("no"), 0))
	ready := make(chan struct{})
	seen := make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- b.Watch(ctx, "w", func() { close(ready) }, func(v []byte, _ uint64) { seen <- string(v) })
	}()
	next := func() string {
		select {
		case v := <-seen:
			return v
		case <-ctx.Done():
			t.Fatal("nothing more was seen")
			return ""
		}
	}
	<-ready
	if got := next(); got != "old" {
		t.Errorf("first saw %q", got)
	}
	rev = must(t)(b.Swap(ctx, "w/1", []byte("new"), rev))
	must(t)(b.Swap(ctx, "w/1", []byte("newer"), rev))
	got := next()
	if got == "new" {
		got = next()
	}
	if got != "newer" {
		t.Errorf("last saw %q", got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("watching ended with %v", err)
	}
}

func oddKeys(t *testing.T, b Bucket) {
	for i, key := range []string{"a b", "ü/\x00", "*", ">", "a.b", "a/b/c", string(make([]byte, 300))} {
		want := fmt.Sprint(i)
		must(t)(b.Swap(t.Context(), key, []byte(want), 0))
		eventually(t, fmt.Sprintf("key %q is not read", key), func() bool {
			v, _, err := b.Get(t.Context(), key)
			return string(v) == want && err == nil
		})
	}
}

// RunLog holds a log to its contract.
func RunLog(t *testing.T, open func(t *testing.T) Log) {
	t.Run("order", func(t *testing.T) { order(t, open(t)) })
	t.Run("together", func(t *testing.T) { together(t, open(t)) })
	t.Run("one-line", func(t *testing.T) {
		if err := open(t).Append(t.Context(), []byte("a\nb")); err == nil {
			t.Error("an entry of two lines was taken")
		}
	})
	t.Run("too-large", func(t *testing.T) {
		if err := open(t).Append(t.Context(), make([]byte, 32<<10+1)); err == nil {
			t.Error("an entry of more than 32 KB was taken")
		}
	})
	t.Run("purge", func(t *testing.T) { purge(t, open(t)) })
}

// purge: what is dropped is gone, packs keep their numbers, and reading from a
// dropped one begins at the first that is left.
func purge(t *testing.T, l Log) {
	ctx := t.Context()
	for i := range 10 {
		if err := l.Append(ctx, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Purge(ctx, 5); err != nil {
		t.Fatal(err)
	}
	first, last, size, err := l.Extent(ctx)
	if first != 5 || last != 10 || size == 0 || err != nil {
		t.Errorf("extent %d to %d, %d bytes, %v; want 5 to 10", first, last, size, err)
	}
	if got := read(t, l, 2); fmt.Sprint(got) != "[4 5 6 7 8 9]" {
		t.Errorf("left is %v", got)
	}
	if got := read(t, l, 10); fmt.Sprint(got) != "[9]" {
		t.Errorf("from 10 on there is %v", got)
	}
	if got := read(t, l, 11); len(got) != 0 {
		t.Errorf("from 11 on there is %v", got)
	}
}

func order(t *testing.T, l Log) {
	for i := range 20 {
		if err := l.Append(t.Context(), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, l, 0); len(got) != 20 || got[0] != "0" || got[19] != "19" {
		t.Errorf("read %v", got)
	}
}

// together: many appended at once are all there, once each.
func together(t *testing.T, l Log) {
	const n = 500
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := l.Append(t.Context(), fmt.Append(nil, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, line := range read(t, l, 0) {
		seen[line]++
	}
	for i := range n {
		if seen[fmt.Sprint(i)] != 1 {
			t.Fatalf("entry %d is there %d times", i, seen[fmt.Sprint(i)])
		}
	}
}

func read(t *testing.T, l Log, from uint64) []string {
	t.Helper()
	var lines []string
	last := uint64(0)
	err := l.Read(t.Context(), from, func(pack uint64, entries [][]byte) error {
		if pack <= last {
			t.Errorf("pack %d after %d", pack, last)
		}
		last = pack
		for _, e := range entries {
			lines = append(lines, string(e))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func must(t *testing.T) func(uint64, error) uint64 {
	return func(rev uint64, err error) uint64 {
		t.Helper()
		if err != nil {
			t.Fatal(err, errors.Unwrap(err))
		}
		return rev
	}
}
