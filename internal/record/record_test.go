package record_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/record"
)

// gated is a bucket whose swaps wait until they are let through, one by one.
type gated struct {
	*memory.Bucket
	begun chan struct{}
	let   chan struct{}
}

// Swap waits to be let through.
func (g *gated) Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	g.begun <- struct{}{}
	<-g.let
	return g.Bucket.Swap(ctx, key, value, revision)
}

// TestFence_shared: those who ask while a write is under way share the next one,
// never the one that began before they asked.
func TestFence_shared(t *testing.T) {
	g := &gated{memory.NewBucket(), make(chan struct{}, 100), make(chan struct{})}
	rev, err := g.Bucket.Swap(t.Context(), "k", []byte("v"), 0)
	if err != nil {
		t.Fatal(err)
	}
	f := &record.Fence{Bucket: g}
	results := make(chan error, 100)
	prove := func() {
		_, err := f.Prove(t.Context(), "k", []byte("v"), rev)
		results <- err
	}
	go prove()
	<-g.begun
	const more = 50
	var asking sync.WaitGroup
	for range more {
		asking.Add(1)
		go func() { asking.Done(); prove() }()
	}
	asking.Wait()
	time.Sleep(50 * time.Millisecond) // until they wait: too short a time makes a third write, not a wrong one
	g.let <- struct{}{}
	if err := <-results; err != nil {
		t.Error(err)
	}
	select {
	case err := <-results:
		t.Fatalf("a proof that began during the write was given by it: %v", err)
	case <-g.begun:
	}
	writes := 2
	g.let <- struct{}{}
	for n := 0; n < more; {
		select {
		case err := <-results:
			n++
			if err != nil {
				t.Error(err)
			}
		case <-g.begun:
			writes++
			g.let <- struct{}{}
		}
	}
	if writes > 5 {
		t.Errorf("%d proofs took %d writes", more+1, writes)
	}
}

// TestFence_older: of two here who hold different revisions, the older is out of
// date whatever becomes of the write.
func TestFence_older(t *testing.T) {
	g := &gated{memory.NewBucket(), make(chan struct{}, 100), make(chan struct{}, 100)}
	old, err := g.Bucket.Swap(t.Context(), "k", []byte("old"), 0)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := g.Bucket.Swap(t.Context(), "k", []byte("new"), old)
	if err != nil {
		t.Fatal(err)
	}
	f := &record.Fence{Bucket: g}
	var wg sync.WaitGroup
	prove := func(value string, rev uint64, want annotary.Code) {
		wg.Go(func() {
			if _, err := f.Prove(t.Context(), "k", []byte(value), rev); annotary.CodeOf(err) != want {
				t.Errorf("proving %s: %v, want code %q", value, err, want)
			}
		})
	}
	prove("new", newer, "") // under way while the others gather
	<-g.begun
	for range 5 {
		prove("old", old, annotary.CodeConflict)
		prove("new", newer, "")
	}
	time.Sleep(20 * time.Millisecond)
	close(g.let)
	wg.Wait()
}

// TestMerge_ends: a merge does not go on for ever, and leaves what it must not
// change.
func TestMerge_ends(t *testing.T) {
	b := memory.NewBucket()
	table := record.Table[int]{Bucket: b}
	meddle := func(h record.Held[int]) (int, error) { // somebody always writes first
		_, err := table.Put(t.Context(), "k", h.Value+1, h.Revision)
		return -1, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := table.Merge(ctx, "k", meddle); annotary.CodeOf(err) != annotary.CodeStore {
		t.Errorf("a merge nobody lets through: %v", err)
	}
	if h, err := table.Get(t.Context(), "k"); err != nil || h.Value < 1 {
		t.Errorf("left %+v, %v", h, err)
	}
	if _, err := b.Swap(t.Context(), "broken", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Merge(t.Context(), "broken", func(record.Held[int]) (int, error) { return 1, nil }); annotary.CodeOf(err) != annotary.CodeStore {
		t.Errorf("a record that cannot be read was merged into: %v", err)
	}
}
