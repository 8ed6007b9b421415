package record

import (
	"context"
	"sync"

	"github.com/annotary/annotary"
)

// A Fence proves that what this gateway holds of a record is the newest, by
// writing it again, unchanged, at the revision held. Reads cannot prove that:
// they may come from a server that has not heard of the latest write.
//
// Those who want to prove the same record at the same time share one write, and
// it begins after the last of them asked: a write that was under way already
// proves nothing of what happened since. The zero Fence needs only its Bucket.
type Fence struct {
	Bucket Bucket

	mu    sync.Mutex
	gates map[string]*gate
}

// gate is where those wait who want to prove one record.
type gate struct {
	// From lo to hi the record was written by fences of this gateway only, so
	// every revision of it held in between is of one value.
	lo, hi uint64
	next   *flight // what leaves when the one under way is back
}

// same reports whether two revisions of the record are of one value.
func (g *gate) same(a, b uint64) bool {
	return a == b || g.lo <= min(a, b) && max(a, b) <= g.hi && a > 0 && b > 0
}

// flight is one write and those who share it.
type flight struct {
	value    []byte
	revision uint64 // the newest that any of those who share it holds
	done     chan struct{}

	err      error
	now      uint64 // the revision it was written as
	from, to uint64 // the gate's lo and hi when it left
}

// Prove returns the revision of the record now, if what the caller holds was
// the newest at some moment after the call began. CodeConflict means that it was
// not: read again, and decide again. Revision 0 holds that there is no record;
// proving it writes the value as the first.
func (f *Fence) Prove(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	fl := f.board(key, value, revision)
	select {
	case <-fl.done:
	case <-ctx.Done():
		return 0, annotary.E(annotary.CodeStore, "the record could not be proved in time", ctx.Err())
	}
	if fl.err != nil {
		return 0, fl.err
	}
	left := gate{lo: fl.from, hi: fl.to}
	if !left.same(revision, fl.revision) { // somebody else here knew a newer one
		return 0, annotary.E(annotary.CodeConflict, "the record was changed", nil)
	}
	return fl.now, nil
}

// board joins the next flight of the key, which leaves at once if none is under
// way.
func (f *Fence) board(key string, value []byte, revision uint64) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gates == nil {
		f.gates = map[string]*gate{}
	}
	g, busy := f.gates[key]
	if !busy {
		g = &gate{}
		f.gates[key] = g
		go f.fly(key, g)
	}
	switch {
	case g.next == nil:
		g.next = &flight{value: value, revision: revision, done: make(chan struct{})}
	case revision > g.next.revision:
		g.next.value, g.next.revision = value, revision
	}
	return g.next
}

// fly makes the flights of a gate until nobody waits. No one's patience ends
// them: the bucket's own deadline does.
func (f *Fence) fly(key string, g *gate) {
	for {
		fl := f.depart(key, g)
		if fl == nil {
			return
		}
		fl.now, fl.err = f.Bucket.Swap(context.Background(), key, fl.value, fl.revision)
		f.land(g, fl)
		close(fl.done)
	}
}

func (f *Fence) depart(key string, g *gate) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := g.next
	if fl == nil {
		delete(f.gates, key)
		return nil
	}
	g.next = nil
	fl.from, fl.to = g.lo, g.hi
	if g.same(fl.revision, g.hi) {
		fl.revision = g.hi
	}
	return fl
}

func (f *Fence) land(g *gate, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case fl.err != nil:
	case fl.revision > 0 && fl.revision == g.hi:
		g.hi = fl.now
	case fl.revision > 0:
		g.lo, g.hi = fl.revision, fl.now
	default: // it was made; what was held of an earlier one is of another
		g.lo, g.hi = fl.now, fl.now
	}
}
