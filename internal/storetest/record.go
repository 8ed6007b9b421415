package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/record"
)

// RunRecords holds what several gateways share in a bucket to its contract.
// Every call of open gives an empty one.
func RunRecords(t *testing.T, open func(t *testing.T) Bucket) {
	for name, test := range map[string]func(*testing.T, Bucket){
		"merge":         merge,
		"machine":       machine,
		"fence":         fence,
		"fence-absent":  fenceAbsent,
		"fence-sound":   fenceSound,
		"copy":          copyFollows,
		"copy-lost":     copyLost,
		"follow":        follow,
		"label-life":    labelLife,
		"label-endorse": labelEndorse,
		"label-forgot":  labelForgot,
		"label-stale":   labelStale,
		"label-both":    labelBoth,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// set is a record that only grows.
type set map[string]bool

// merge: many merge into one record; what each added stays.
func merge(t *testing.T, b Bucket) {
	const workers, each = 8, 8
	table := record.Table[set]{Bucket: b}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				_, err := table.Merge(t.Context(), "set", func(h record.Held[set]) (set, error) {
					grown := maps.Clone(h.Value)
					if grown == nil {
						grown = set{}
					}
					grown[fmt.Sprint(w, "-", i)] = true
					return grown, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var h record.Held[set]
	eventually(t, "something that was added is not there", func() (all bool) {
		var err error
		h, err = table.Get(t.Context(), "set")
		return len(h.Value) == workers*each && err == nil
	})
	same, err := table.Merge(t.Context(), "set", func(record.Held[set]) (set, error) { return nil, record.ErrUnchanged })
	if err != nil || same.Revision > h.Revision {
		t.Errorf("a merge that changes nothing wrote revision %d over %d, %v", same.Revision, h.Revision, err)
	}
}

// Grant is a record that is spent once, as a person's yes is.
type Grant struct {
	ID    string `json:"id"`
	State string `json:"state"` // open, then spent or void
	By    string `json:"by,omitempty"`
}

// Stage returns its state.
func (g Grant) Stage() string { return g.State }

// Grants is the machine of grants.
func Grants(b Bucket) *record.Machine[string, Grant] {
	return &record.Machine[string, Grant]{
		Table: record.Table[Grant]{Bucket: b}, Next: map[string][]string{"open": {"spent", "void"}},
	}
}

// Spend spends a grant in somebody's name.
func Spend(ctx context.Context, m *record.Machine[string, Grant], id, by string) error {
	_, err := m.Move(ctx, "grants/"+id, func(g Grant) (Grant, error) {
		g.State, g.By = "spent", by
		return g, nil
	})
	return err
}

// machine: a grant is spent by exactly one of many, and never again.
func machine(t *testing.T, b Bucket) {
	m := Grants(b)
	if err := Spend(t.Context(), m, "absent", "x"); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("an absent grant was spent: %v", err)
	}
	if _, err := m.Open(t.Context(), "grants/1", Grant{ID: "1", State: "open"}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), "grants/1", Grant{ID: "1", State: "open"}); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("a grant was opened twice: %v", err)
	}
	var spent atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			switch err := Spend(t.Context(), m, "1", fmt.Sprint(i)); annotary.CodeOf(err) {
			case "":
				spent.Add(1)
			case annotary.CodeConflict:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := spent.Load(); n != 1 {
		t.Errorf("spent %d times", n)
	}
}

// fence: what is held passes while it is the newest, again and again, and stays
// as it is; once somebody wrote it does not.
func fence(t *testing.T, b Bucket) {
	ctx := t.Context()
	f := &record.Fence{Bucket: b}
	rev := must(t)(b.Swap(ctx, "k", []byte("one"), 0))
	again := must(t)(f.Prove(ctx, "k", []byte("one"), rev))
	eventually(t, "the fence left something else", func() bool {
		v, at, err := b.Get(ctx, "k")
		return string(v) == "one" && at == again && err == nil
	})
	last := must(t)(f.Prove(ctx, "k", []byte("one"), again))
	must(t)(b.Swap(ctx, "k", []byte("two"), last))
	if _, err := f.Prove(ctx, "k", []byte("one"), last); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("what is out of date passed: %v", err)
	}
}

// fenceAbsent: that there is no record is proved by making one.
func fenceAbsent(t *testing.T, b Bucket) {
	ctx := t.Context()
	f := &record.Fence{Bucket: b}
	must(t)(f.Prove(ctx, "k", []byte("none"), 0))
	if _, err := f.Prove(ctx, "k", []byte("none"), 0); annotary.CodeOf(err) != annotary.CodeConflict {
		t.Errorf("a record that is there was proved absent: %v", err)
	}
}

// fenceSound: while others write, nobody's proof passes for a value older than
// what was acknowledged before the proof began, however many share a write.
func fenceSound(t *testing.T, b Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	table := record.Table[uint64]{Bucket: b}
	if _, err := table.Put(ctx, "n", 1, 0); err != nil {
		t.Fatal(err)
	}
	var acked, passed atomic.Uint64
	acked.Store(1)
	f := &record.Fence{Bucket: b}
	var provers sync.WaitGroup
	for range 6 {
		provers.Go(func() {
			for ctx.Err() == nil {
				h, err := table.Get(ctx, "n")
				if err != nil {
					continue
				}
				time.Sleep(time.Millisecond) // the copy grows old
				floor := acked.Load()
				if _, err := f.Prove(ctx, "n", fmt.Append(nil, h.Value), h.Revision); err == nil {
					passed.Add(1)
					if h.Value < floor {
						t.Errorf("%d passed after %d was acknowledged", h.Value, floor)
					}
				}
			}
		})
	}
	for range 40 {
		h, err := table.Merge(ctx, "n", func(h record.Held[uint64]) (uint64, error) { return h.Value + 1, nil })
		if err != nil {
			t.Error(err)
		}
		acked.Store(h.Value)
		time.Sleep(2 * time.Millisecond)
	}
	for deadline := time.Now().Add(30 * time.Second); passed.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	provers.Wait()
	if passed.Load() == 0 {
		t.Error("nothing ever passed")
	}
}

// item is a record that says what it is about.
type item struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

func newCopy(b record.Watched, changed func()) *record.Copy[item] {
	return record.NewCopy(record.CopyOptions[item]{
		Bucket: b, Prefix: "items", Key: func(i item) string { return i.Name }, Changed: changed,
		Beat: 100 * time.Millisecond, Silence: time.Second,
	})
}

// copyFollows: two copies see what is there and what is written.
func copyFollows(t *testing.T, b Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	table := record.Table[item]{Bucket: b}
	first, err := table.Put(ctx, "items/a", item{"a", 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var changes atomic.Int32
	copies := []*record.Copy[item]{newCopy(b, func() { changes.Add(1) }), newCopy(b, nil)}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, c := range copies {
		running.Go(func() { c.Run(ctx) })
		<-c.Ready()
		if h, ok := c.Get("a"); !ok || h.Value.N != 1 || h.Revision != first.Revision {
			t.Errorf("the copy began with %+v", h)
		}
	}
	if _, err := table.Put(ctx, "items/a", item{"a", 2}, first.Revision); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Put(ctx, "items/b", item{"b", 1}, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range copies {
		eventually(t, "a copy does not follow", func() bool {
			h, _ := c.Get("a")
			return h.Value.N == 2 && slices.Equal(slices.Sorted(maps.Keys(c.All())), []string{"a", "b"})
		})
		eventually(t, "a copy that follows is lost", func() bool { return !c.Lost() })
	}
	if changes.Load() < 3 { // ready, and two writes
		t.Errorf("told of %d changes", changes.Load())
	}
}

// copyLost: a copy whose watch is held back is lost although the store is well.
func copyLost(t *testing.T, b Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	held := &laggard{Bucket: b}
	c := newCopy(held, nil)
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	defer running.Wait()
	defer cancel()
	<-c.Ready()
	eventually(t, "the copy hears no beat", func() bool { return !c.Lost() })
	held.hold(true)
	eventually(t, "a copy that hears nothing is not lost", c.Lost)
	held.hold(false)
	eventually(t, "the copy does not recover", func() bool { return !c.Lost() })
}

// follow: only what is written from now on is told.
func follow(t *testing.T, b Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rev := must(t)(b.Swap(ctx, "f/1", []byte("old"), 0))
	seen := make(chan string, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- b.Follow(ctx, "f", func(v []byte, _ uint64) { seen <- string(v) })
	}()
	eventually(t, "nothing is told", func() bool { // when it has begun is not told
		rev = must(t)(b.Swap(ctx, "f/1", []byte("new"), rev))
		return len(seen) > 0
	})
	if v := <-seen; v != "new" {
		t.Errorf("told of %q", v)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("following ended without a reason")
	}
}

// laggard is a bucket as a gateway sees it whose news is held back: it is told
// of nothing and, where stale, reads what was there when that began.
type laggard struct {
	Bucket
	mu     sync.Mutex
	wait   chan struct{} // closed when news flows again; nil if it does
	stale  bool
	before map[string]kept
}

type kept struct {
	value    []byte
	revision uint64
}

func (l *laggard) hold(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.wait == nil:
		l.wait = make(chan struct{})
	case !on && l.wait != nil:
		close(l.wait)
		l.wait = nil
	}
}

// freeze has the keys read as they are now until it is thawed.
func (l *laggard) freeze(t *testing.T, keys ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale, l.before = true, map[string]kept{}
	for _, key := range keys {
		v, rev, err := l.Bucket.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		l.before[key] = kept{v, rev}
	}
}

func (l *laggard) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = false
}

// Get reads, out of date where that is wanted.
func (l *laggard) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	l.mu.Lock()
	old, stale := l.before[key]
	stale = stale && l.stale
	l.mu.Unlock()
	if stale {
		return old.value, old.revision, nil
	}
	return l.Bucket.Get(ctx, key)
}

func (l *laggard) late(each func([]byte, uint64)) func([]byte, uint64) {
	return func(v []byte, rev uint64) {
		l.mu.Lock()
		wait := l.wait
		l.mu.Unlock()
		if wait != nil {
			<-wait
		}
		each(v, rev)
	}
}

// Watch tells of changes, late where that is wanted.
func (l *laggard) Watch(ctx context.Context, prefix string, ready func(), each func([]byte, uint64)) error {
	return l.Bucket.Watch(ctx, prefix, ready, l.late(each))
}

// Follow tells of changes, late where that is wanted.
func (l *laggard) Follow(ctx context.Context, prefix string, each func([]byte, uint64)) error {
	return l.Bucket.Follow(ctx, prefix, l.late(each))
}

// eventually waits for a condition.
func eventually(t *testing.T, otherwise string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
