// Package record is how several gateways share one value: they merge into it
// without losing each other's changes ([Table.Merge]), move it through states of
// which each is entered once ([Machine]), prove that what they hold of it is the
// newest ([Fence]), and keep a copy that is told of changes ([Copy]).
//
// All of it stands on a [Bucket]: a read may be out of date, a swap that
// succeeds proves that the revision held was the newest. The package does not
// know what the values mean, nor which engine keeps them.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/annotary/annotary"
)

// A Bucket is compare-and-set on keys.
type Bucket interface {
	// Get returns the value of a key and its revision, nil and 0 if there is
	// none. It may be out of date.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Swap writes a value if the key still has the revision, 0 meaning that it
	// does not exist, and returns the new one; CodeConflict if it has another.
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// A Table is records of one type in a bucket, as JSON.
type Table[T any] struct{ Bucket Bucket }

// Held is a value with the revision it was read at or written as; revision 0
// means that there is no record, and the value is zero.
type Held[T any] struct {
	Value    T
	Revision uint64
}

// ErrUnchanged is what a merge returns to leave the record as it is.
var ErrUnchanged = errors.New("the record stays as it is")

// maxTries bounds how often a merge begins again because others wrote.
const maxTries = 100

// Get reads a record. It may be out of date.
func (t Table[T]) Get(ctx context.Context, key string) (Held[T], error) {
	raw, revision, err := t.Bucket.Get(ctx, key)
	if err != nil || revision == 0 {
		return Held[T]{}, err
	}
	h := Held[T]{Revision: revision}
	if err := json.Unmarshal(raw, &h.Value); err != nil {
		return h, annotary.E(annotary.CodeStore, "a record cannot be read", err)
	}
	return h, nil
}

// Put writes a record at the revision held, 0 meaning that there is none.
func (t Table[T]) Put(ctx context.Context, key string, value T, revision uint64) (Held[T], error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return Held[T]{}, annotary.E(annotary.CodeInternal, "a record cannot be written", err)
	}
	next, err := t.Bucket.Swap(ctx, key, raw, revision)
	if err != nil {
		return Held[T]{}, err
	}
	return Held[T]{value, next}, nil
}

// Merge changes a record: it reads, has merge make the new value out of the one
// that is there, and writes it at the revision read; where somebody else wrote
// first it begins again. What it returns is written, unless merge returned
// ErrUnchanged: then it is what was read, which may be out of date. Any other
// error of merge ends it.
func (t Table[T]) Merge(ctx context.Context, key string, merge func(Held[T]) (T, error)) (Held[T], error) {
	var last error
	for try := range maxTries {
		if err := pause(ctx, try); err != nil {
			return Held[T]{}, err
		}
		h, err := t.Get(ctx, key)
		if err != nil {
			return Held[T]{}, err
		}
		value, err := merge(h)
		if errors.Is(err, ErrUnchanged) {
			return h, nil
		}
		if err != nil {
			return Held[T]{}, err
		}
		put, err := t.Put(ctx, key, value, h.Revision)
		if annotary.CodeOf(err) != annotary.CodeConflict {
			return put, err
		}
		last = err
	}
	return Held[T]{}, annotary.E(annotary.CodeStore, "too many write the same record", last)
}

// pause waits before another try, longer each time and not all alike: those who
// got in each other's way must not meet again, and a read that was out of date
// needs time to catch up.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	most := min(time.Millisecond<<min(try, 6), 50*time.Millisecond)
	select {
	case <-ctx.Done():
		return annotary.E(annotary.CodeStore, "the record was not written in time", ctx.Err())
	case <-time.After(rand.N(most)):
		return nil
	}
}
