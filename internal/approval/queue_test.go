package approval_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/memory"
)

// far is a store that takes its time, so that everybody reads before anybody
// writes.
type far struct{ *memory.Bucket }

func (f far) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	defer time.Sleep(time.Millisecond)
	return f.Bucket.Get(ctx, key)
}

// TestQueue: of all who ask in one name at once, on whichever replica, as many get
// a question as may; time makes room again.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 10
		questions, grants := far{memory.NewBucket()}, memory.NewBucket()
		desks := [2]*approval.Desk{}
		for i := range desks {
			desks[i] = approval.NewDesk(questions, grants, approval.Options{Max: most})
		}
		flood := func(round int) int {
			var got atomic.Int32
			var asking sync.WaitGroup
			for i := range 5 * most {
				asking.Go(func() {
					switch _, err := desks[i%2].Open(t.Context(), request(fmt.Sprintf(`{"n":"%d of %d"}`, i, round), asks)); annotary.CodeOf(err) {
					case "":
						got.Add(1)
					case annotary.CodeQuestions:
					default:
						t.Error(err)
					}
				})
			}
			asking.Wait()
			return int(got.Load())
		}
		if got := flood(1); got != most {
			t.Errorf("%d questions were asked, want %d", got, most)
		}
		if full, err := desks[1].Full(t.Context(), &ann); !full || err != nil {
			t.Errorf("full: %v, %v", full, err)
		}
		if full, err := desks[1].Full(t.Context(), &bob); full || err != nil {
			t.Errorf("another's is full: %v, %v", full, err)
		}
		time.Sleep(approval.DefaultOpen)
		if got := flood(2); got != most {
			t.Errorf("after the first expired, %d questions were asked, want %d", got, most)
		}
	})
}
