package approval_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/annotary/annotary/internal/approval"
)

// TestAwait: all who wait for an answer hear it, and whoever stopped waiting leaves
// nothing behind, answered or not.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		a, err := d.Open(t.Context(), request(`{}`, asks))
		if err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		await := func(patience time.Duration, want approval.State) {
			waiting.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if got, err := d.Await(ctx, a.ID); err != nil || got.State != want {
					t.Errorf("after %s: %v, %v", patience, got, err)
				}
			})
		}
		await(time.Second, approval.Open)
		await(time.Minute, approval.Denied)
		await(time.Minute, approval.Denied)
		time.Sleep(2 * time.Second)
		if d.Bells() != 1 {
			t.Errorf("%d are waited for", d.Bells())
		}
		if _, err := d.Answer(t.Context(), a.ID, approval.Answer{By: approval.PersonOf(&ann), Channel: "cli"}, anybody); err != nil {
			t.Fatal(err)
		}
		waiting.Wait()
		await(time.Minute, approval.Denied)
		waiting.Wait()
		if d.Bells() != 0 {
			t.Errorf("%d are waited for after all have left", d.Bells())
		}
	})
}
