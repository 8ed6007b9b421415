// Package burst is for the tests of keyed writes: it sends many equal ones at
// once and looks at what came of it.
package burst

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary/tool"
)

// A Store counts claims, so that a deed can wait until others want to do it
// too.
type Store struct {
	tool.Store
	claims atomic.Int64
}

// Claim implements [tool.Store].
func (s *Store) Claim(ctx context.Context, key tool.Key, lease time.Duration) (tool.Claim, error) {
	s.claims.Add(1)
	return s.Store.Claim(ctx, key, lease)
}

// Crowd waits until the key was claimed many times: without it a quick deed
// might be done before the second write arrives.
func (s *Store) Crowd(ctx context.Context) {
	for s.claims.Load() < 100 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// Writes sends count equal writes with one key at once through do and checks
// that the deed was done once and all got the same answer.
func Writes(t *testing.T, count int, done *atomic.Int64, do func(ctx context.Context, i int) (string, error)) {
	t.Helper()
	answers := make([]string, count)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			var err error
			if answers[i], err = do(t.Context(), i); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := done.Load(); n != 1 {
		t.Errorf("the deed was done %d times, want 1", n)
	}
	for i, a := range answers {
		if a != answers[0] {
			t.Errorf("write %d got %s, the first got %s", i, a, answers[0])
		}
	}
}
