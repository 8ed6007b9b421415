// Package memory keeps state in this process's memory, with the same promises
// as package jetstream except that nothing outlives the process. It serves tests
// and stages that are tried alone.
package memory

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/annotary/annotary"
)

// A Bucket is compare-and-set on keys.
type Bucket struct {
	mu       sync.Mutex
	values   map[string]value
	revision uint64
	watchers map[*watcher]bool
}

type value struct {
	data     []byte
	revision uint64
}

type watcher struct {
	prefix string
	wake   chan struct{}
	queue  []value
}

// NewBucket makes an empty bucket.
func NewBucket() *Bucket {
	return &Bucket{values: map[string]value{}, watchers: map[*watcher]bool{}}
}

// Get returns the value of a key and its revision; nil and 0 if there is none.
func (b *Bucket) Get(_ context.Context, key string) ([]byte, uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.values[key]
	return v.data, v.revision, nil
}

// Swap writes a value if the key still has the revision, 0 meaning that it does
// not exist, and returns the new one.
func (b *Bucket) Swap(_ context.Context, key string, data []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.values[key].revision != revision {
		return 0, annotary.E(annotary.CodeConflict, "somebody else wrote first", nil)
	}
	b.revision++
	v := value{bytes.Clone(data), b.revision}
	b.values[key] = v
	for w := range b.watchers {
		if below(key, w.prefix) {
			w.queue = append(w.queue, v)
			w.poke()
		}
	}
	return v.revision, nil
}

// Watch calls each for every value below the prefix, first those that are there,
// then, after calling ready, each as it is written, until the context ends.
func (b *Bucket) Watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64)) error {
	w := &watcher{prefix: prefix, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	for key, v := range b.values {
		if below(key, prefix) {
			w.queue = append(w.queue, v)
		}
	}
	return b.tell(ctx, w, ready, each)
}

// Follow calls each for every value below the prefix as it is written, until the
// context ends; not for those that are there.
func (b *Bucket) Follow(ctx context.Context, prefix string, each func(value []byte, revision uint64)) error {
	b.mu.Lock()
	return b.tell(ctx, &watcher{prefix: prefix, wake: make(chan struct{}, 1)}, nil, each)
}

// tell serves a watcher. The bucket is locked when it begins.
func (b *Bucket) tell(ctx context.Context, w *watcher, ready func(), each func(value []byte, revision uint64)) error {
	b.watchers[w] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.watchers, w)
		b.mu.Unlock()
	}()
	for {
		b.mu.Lock()
		queue := w.queue
		w.queue = nil
		b.mu.Unlock()
		for _, v := range queue {
			each(v.data, v.revision)
		}
		if ready != nil {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		}
	}
}

// List returns every value below the prefix.
func (b *Bucket) List(_ context.Context, prefix string) ([][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var values [][]byte
	for key, v := range b.values {
		if below(key, prefix) {
			values = append(values, v.data)
		}
	}
	return values, nil
}

func (w *watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func below(key, prefix string) bool {
	return prefix == "" || strings.HasPrefix(key, prefix+"/")
}

// A Log is appended to.
type Log struct {
	mu      sync.Mutex
	lines   [][]byte
	dropped int // from the beginning
}

// Append adds an entry.
func (l *Log) Append(_ context.Context, line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 || len(line) > maxEntryBytes {
		return annotary.E(annotary.CodeInternal, "an entry of the log is one line of at most 32 KB", nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, bytes.Clone(line))
	return nil
}

const maxEntryBytes = 32 << 10

// Instant says that Append makes nobody wait.
func (l *Log) Instant() {}

// Read calls each for every pack from the given one on, in order. Each entry is
// a pack of its own; packs count from 1.
func (l *Log) Read(_ context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error {
	l.mu.Lock()
	lines, dropped := l.lines, uint64(l.dropped)
	l.mu.Unlock()
	for pack := max(from, dropped+1); pack <= dropped+uint64(len(lines)); pack++ {
		if err := each(pack, lines[pack-dropped-1:pack-dropped]); err != nil {
			return err
		}
	}
	return nil
}

// Extent returns the first and the last pack of the log, and how many bytes it
// takes.
func (l *Log) Extent(context.Context) (first, last, size uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		size += uint64(len(line))
	}
	return uint64(l.dropped + 1), uint64(l.dropped + len(l.lines)), size, nil
}

// Purge drops every pack before the given one.
func (l *Log) Purge(_ context.Context, before uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := int(before) - 1 - l.dropped; n > 0 {
		n = min(n, len(l.lines))
		l.lines, l.dropped = l.lines[n:], l.dropped+n
	}
	return nil
}
