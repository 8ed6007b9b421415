package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary"
)

// A Bucket is compare-and-set on keys.
//
// Keys are parts separated by slashes. The engine allows few characters in a key
// and people name things with many, so each part is kept as its hash; a value
// must say itself what it is about.
type Bucket struct {
	engine  *Engine
	kv      jetstream.KeyValue
	written *written
}

// BucketOptions say how a bucket keeps its values.
type BucketOptions struct {
	// TTL after which a value that was not written again is dropped. If zero,
	// never.
	TTL time.Duration
}

// Bucket opens a bucket, and says whether it had to be made: a new bucket on an
// old installation has forgotten something. One that is kept otherwise than the
// options say is changed.
func (e *Engine) Bucket(ctx context.Context, name string, o BucketOptions) (b *Bucket, made bool, err error) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	want := jetstream.KeyValueConfig{
		Bucket: name, History: 1, TTL: o.TTL, Storage: jetstream.FileStorage, Replicas: e.opts.Replicas,
	}
	var kv jetstream.KeyValue
	err = settled(ctx, forming, func() error {
		if kv, err = e.js.KeyValue(ctx, name); errors.Is(err, jetstream.ErrBucketNotFound) {
			made = true
			kv, err = e.js.CreateKeyValue(ctx, want)
			return err
		}
		if err == nil {
			err = e.adjust(ctx, kv, want)
		}
		return err
	})
	if err != nil {
		return nil, false, e.notOpened("state", err)
	}
	return &Bucket{engine: e, kv: kv, written: e.writes.to(name, "$KV."+name+"."+encodeKey("room"))}, made, nil
}

// adjust has a bucket kept as is wanted now.
func (e *Engine) adjust(ctx context.Context, kv jetstream.KeyValue, want jetstream.KeyValueConfig) error {
	status, err := kv.Status(ctx)
	if err != nil {
		return err
	}
	if is := status.Config(); is.Replicas == want.Replicas && is.TTL == want.TTL {
		return nil
	}
	_, err = e.js.UpdateKeyValue(ctx, want)
	return err
}

// Get returns the value of a key and its revision; nil and 0 if there is none.
// It may be out of date: only a swap that succeeds proves otherwise.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	ctx, cancel := b.engine.within(ctx)
	defer cancel()
	var entry jetstream.KeyValueEntry
	err := settled(ctx, leaderless, func() (err error) {
		entry, err = b.kv.Get(ctx, encodeKey(key))
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return nil, 0, nil
	case err != nil:
		return nil, 0, unavailable("state cannot be read", err)
	}
	return entry.Value(), entry.Revision(), nil
}

// Swap writes a value if the key still has the revision, 0 meaning that it does
// not exist, and returns the new one. Another revision is CodeConflict. What it
// returns without an error is on disk.
func (b *Bucket) Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := b.written.refusal(); err != nil {
		return 0, err
	}
	whole := ctx
	ctx, cancel := b.engine.within(ctx)
	defer cancel()
	var next uint64
	err := settled(ctx, leaderless, func() (err error) {
		if revision == 0 {
			next, err = b.kv.Create(ctx, encodeKey(key), value)
		} else {
			next, err = b.kv.Update(ctx, encodeKey(key), value, revision)
		}
		return err
	})
	switch {
	// Replicated buckets report a conflict by another number than single ones;
	// the client maps both to these.
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return 0, annotary.E(annotary.CodeConflict, "somebody else wrote first", err)
	case err != nil && whole.Err() != nil: // who asked has left
		return 0, unavailable("state cannot be written", err)
	}
	b.written.note(err, b.engine.opts.Diary)
	if err != nil {
		return 0, unavailable("state cannot be written", err)
	}
	return next, nil
}

// Watch calls each for every value below the prefix, first those that are there,
// then, after calling ready, each as it is written; one that is overwritten at
// once may be skipped. It returns when the context ends or the store is lost.
func (b *Bucket) Watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64)) error {
	return b.watch(ctx, prefix, ready, each, jetstream.IgnoreDeletes())
}

// Follow calls each for every value below the prefix as it is written, not for
// those that are there. It returns when the context ends or the store is lost.
func (b *Bucket) Follow(ctx context.Context, prefix string, each func(value []byte, revision uint64)) error {
	return b.watch(ctx, prefix, func() {}, each, jetstream.IgnoreDeletes(), jetstream.UpdatesOnly())
}

func (b *Bucket) watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64), opts ...jetstream.WatchOpt) error {
	var watcher jetstream.KeyWatcher
	anew := b.engine.anew.wait()
	begin, cancel := b.engine.within(ctx)
	defer cancel()
	err := settled(begin, forming, func() (err error) {
		watcher, err = b.kv.Watch(ctx, encodePrefix(prefix), opts...)
		return err
	})
	if err != nil {
		return unavailable("state cannot be watched", err)
	}
	defer func() { _ = watcher.Stop() }() // the context may have stopped it already
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-anew: // the client would find out for itself, after ten seconds
			return unavailable("state is no longer watched", nil)
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return unavailable("state is no longer watched", nil)
			case entry == nil:
				ready()
			default:
				each(entry.Value(), entry.Revision())
			}
		}
	}
}

// List returns every value below the prefix.
func (b *Bucket) List(ctx context.Context, prefix string) ([][]byte, error) {
	ctx, cancel := b.engine.within(ctx)
	defer cancel()
	var values [][]byte
	whole := false // once it is, it does not matter how the watch ends
	err := b.Watch(ctx, prefix, func() { whole = true; cancel() }, func(v []byte, _ uint64) { values = append(values, v) })
	if whole {
		return values, nil
	}
	return nil, unavailable("state cannot be listed", err)
}

var keyEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

func encodeKey(key string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		sum := sha256.Sum256([]byte(p))
		parts[i] = keyEncoding.EncodeToString(sum[:])
	}
	return strings.Join(parts, ".")
}

func encodePrefix(prefix string) string {
	if prefix == "" {
		return ">"
	}
	return encodeKey(prefix) + ".>"
}
