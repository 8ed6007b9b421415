package label_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/label"
	"github.com/annotary/annotary/internal/memory"
)

// counting counts what is written.
type counting struct {
	*memory.Bucket
	writes atomic.Int32
}

// Swap counts.
func (c *counting) Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	c.writes.Add(1)
	return c.Bucket.Swap(ctx, key, value, revision)
}

func TestKeyOf(t *testing.T) {
	seen := map[string]annotary.Principal{}
	for _, p := range []annotary.Principal{
		{}, {Tenant: "a"}, {Issuer: "a"}, {Subject: "a"}, {Client: "a"},
		{Tenant: "a", Issuer: "b"}, {Tenant: "ab"}, {Tenant: "a", Subject: "b"}, {Subject: "a", Client: "b"},
	} {
		for _, handle := range []string{"", "a", "b"} {
			key := label.KeyOf(&p, handle)
			if other, ok := seen[key]; ok {
				t.Errorf("%+v with %q has the key of %+v", p, handle, other)
			}
			seen[key] = p
		}
	}
	p := annotary.Principal{Subject: "ann", Groups: []string{"x"}}
	q := annotary.Principal{Subject: "ann", Scopes: []string{"y"}}
	if label.KeyOf(&p, "") != label.KeyOf(&q, "") {
		t.Error("groups or scopes change the conversation")
	}
}

// TestWrites: a conversation costs one write, one more for each thing seen, and
// one each quarter of a window, however many calls it makes. Proofs cost a sole
// gateway nothing, and others one each.
func TestWrites(t *testing.T) {
	for _, sole := range []bool{true, false} {
		b := &counting{Bucket: memory.NewBucket()}
		now := time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC)
		s, err := label.Open(t.Context(), label.Options{Bucket: b, Sole: sole, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		b.writes.Store(0)
		step := func(what string, want int32, do func() error) {
			t.Helper()
			for range 20 {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.writes.Swap(0); got != want {
				t.Errorf("sole %v: %s took %d writes, want %d", sole, what, got, want)
			}
		}
		recall := func() error {
			now = now.Add(time.Second)
			_, err := s.Recall(t.Context(), "k")
			return err
		}
		step("20 calls", 1, recall)
		now = now.Add(label.Window/4 + time.Second)
		step("20 calls a quarter later", 1, recall)
		seen := annotary.CleanLabel()
		seen.Trusted, seen.Attribution = false, []string{"web"}
		repeats := map[bool]int32{true: 0, false: 19}[sole]
		step("the same 20 times", 1+repeats, func() error { _, err := s.Raise(t.Context(), "k", seen); return err })
		step("20 decisions that need no proof", 0, func() error {
			_, err := label.Decide(t.Context(), s, "k", func(annotary.Label) int { return 1 }, func(a, b int) bool { return a == b })
			return err
		})
		step("20 decisions that need a proof", map[bool]int32{true: 0, false: 20}[sole], func() error {
			_, err := label.Decide(t.Context(), s, "k", annotary.Label.Both, func(a, b bool) bool { return a == b })
			return err
		})
	}
}

// TestUnreadable: of a record that cannot be read nothing is known, which is the
// worst.
func TestUnreadable(t *testing.T) {
	b := memory.NewBucket()
	s, err := label.Open(t.Context(), label.Options{Bucket: b})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Swap(t.Context(), "k", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	both, err := label.Decide(t.Context(), s, "k", annotary.Label.Both, func(a, b bool) bool { return a == b })
	if !both || annotary.CodeOf(err) != annotary.CodeStore {
		t.Errorf("decided by an unreadable record: %v, %v", both, err)
	}
}
