package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/annotary/annotary"
)

// A Watched bucket tells of changes.
type Watched interface {
	Bucket
	// Watch calls each for every value below the prefix, first those that are
	// there, then, after calling ready, each as it is written. It returns when
	// the context ends or the store is lost.
	Watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64)) error
}

// A Copy is what this gateway keeps in memory of the records below a prefix. It
// is told of changes, and knows how far behind it may be: every second one of
// the gateways writes a beat among the records, and a copy that has not seen one
// for three is lost, whatever else it hears.
//
// Values say themselves which record they are of; one that is removed is
// written as such.
type Copy[T any] struct {
	opts CopyOptions[T]
	self string

	mu    sync.Mutex
	held  map[string]Held[T]
	ready chan struct{} // closed once what was there is known
	known bool
	pulse pulse
}

// pulse is what a copy knows of the beats.
type pulse struct {
	revision uint64    // of the latest
	n        uint64    // its number
	heard    time.Time // when it came
	fresh    time.Time // what was written before then is known here
	tried    uint64    // the number this gateway last tried to write
	sent     time.Time // when it first tried
}

// CopyOptions say what is copied.
type CopyOptions[T any] struct {
	Bucket Watched
	Prefix string
	// Key says which record a value is of.
	Key func(T) string
	// Changed is called after the copy changed, once what was there is known.
	// It must not block.
	Changed func()
	// Beat is how often there must be a beat. If zero, a second; negative, the
	// bucket has no other writer and the copy is never lost.
	Beat time.Duration
	// Silence is after how long without one the copy is lost. If zero, three
	// beats.
	Silence time.Duration
}

// NewCopy makes an empty copy. It is kept by Run.
func NewCopy[T any](o CopyOptions[T]) *Copy[T] {
	if o.Beat == 0 {
		o.Beat = time.Second
	}
	if o.Silence == 0 {
		o.Silence = 3 * o.Beat
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Copy[T]{opts: o, self: rand.Text(), held: map[string]Held[T]{}, ready: make(chan struct{})}
}

// Ready is closed once the copy has what was there when it began.
func (c *Copy[T]) Ready() <-chan struct{} { return c.ready }

// Get returns what is held of a record.
func (c *Copy[T]) Get(key string) (Held[T], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.held[key]
	return h, ok
}

// All returns everything held, by key.
func (c *Copy[T]) All() map[string]Held[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.held)
}

// Lost reports whether the copy may be further behind than is allowed.
func (c *Copy[T]) Lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opts.Beat > 0 && time.Since(c.pulse.fresh) > c.opts.Silence
}

// Run keeps the copy until the context ends. A watch that breaks off is begun
// again.
func (c *Copy[T]) Run(ctx context.Context) {
	var beats sync.WaitGroup
	if c.opts.Beat > 0 {
		beats.Go(func() { c.beat(ctx) })
	}
	for ctx.Err() == nil {
		// An error shows as silence. It is told by whoever finds the copy lost.
		_ = c.opts.Bucket.Watch(ctx, c.opts.Prefix, c.told, c.take)
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	beats.Wait()
}

// told is called when what was there is known.
func (c *Copy[T]) told() {
	c.mu.Lock()
	first := !c.known
	c.known = true
	c.mu.Unlock()
	if first {
		close(c.ready)
		c.opts.Changed()
	}
}

// take learns of a value. The watch may repeat what is known, never undo it.
func (c *Copy[T]) take(raw []byte, revision uint64) {
	if n, by, ok := readBeat(raw); ok {
		c.heard(n, by, revision)
		return
	}
	var v T
	if json.Unmarshal(raw, &v) != nil {
		return // of a newer version, which this one cannot act upon
	}
	key := c.opts.Key(v)
	c.mu.Lock()
	newer := revision > c.held[key].Revision
	if newer {
		c.held[key] = Held[T]{v, revision}
	}
	known := c.known
	c.mu.Unlock()
	if newer && known {
		c.opts.Changed()
	}
}

// beatValue is a beat as it is kept.
type beatValue struct {
	Beat uint64 `json:"beat"`
	By   string `json:"by"`
}

func readBeat(raw []byte) (n uint64, by string, ok bool) {
	var b beatValue
	err := json.Unmarshal(raw, &b)
	return b.Beat, b.By, err == nil && b.Beat > 0
}

func (c *Copy[T]) beatKey() string { return c.opts.Prefix + "/beat" }

// heard learns of a beat. Everything written before it was is known now. When
// that was, only its writer knows; for others it was later than the beat before
// came.
func (c *Copy[T]) heard(n uint64, by string, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pulse
	if revision <= p.revision {
		return
	}
	since := p.heard
	if by == c.self && n == p.tried {
		since = p.sent
	}
	if since.After(p.fresh) {
		p.fresh = since
	}
	p.n, p.revision, p.heard = n, revision, time.Now()
}

// beat writes one whenever nobody did for a while. Of many who do at once, one
// wins, and the others hear of it.
func (c *Copy[T]) beat(ctx context.Context) {
	tick := time.NewTicker(c.opts.Beat / 2)
	defer tick.Stop()
	for {
		c.mu.Lock()
		p := c.pulse
		c.mu.Unlock()
		if time.Since(p.heard) >= c.opts.Beat {
			c.writeBeat(ctx, p.n, p.revision)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// writeBeat writes the beat that follows the latest known. A failure shows as
// silence; that another wrote first is as good.
func (c *Copy[T]) writeBeat(ctx context.Context, n, revision uint64) {
	t := Table[beatValue]{c.opts.Bucket}
	err := c.tryBeat(ctx, t, n+1, revision)
	if revision == 0 && annotary.CodeOf(err) == annotary.CodeConflict {
		// There are beats, and the watch has not told of them yet.
		if h, err := t.Get(ctx, c.beatKey()); err == nil {
			_ = c.tryBeat(ctx, t, h.Value.Beat+1, h.Revision)
		}
	}
}

func (c *Copy[T]) tryBeat(ctx context.Context, t Table[beatValue], n, revision uint64) error {
	c.mu.Lock()
	if c.pulse.tried != n {
		c.pulse.tried, c.pulse.sent = n, time.Now()
	}
	c.mu.Unlock()
	_, err := t.Put(ctx, c.beatKey(), beatValue{n, c.self}, revision)
	return err
}
