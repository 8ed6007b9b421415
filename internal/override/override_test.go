package override_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/override"
)

func open(t *testing.T, b *memory.Bucket) (*override.Store, chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 100)
	s := override.New(b, func() { changed <- struct{}{} })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	<-s.Ready()
	<-changed
	return s, changed
}

// TestStore: what is said to one is known to the other, the last word holds, and
// one that is withdrawn does not.
func TestStore(t *testing.T) {
	b := memory.NewBucket()
	here, _ := open(t, b)
	there, changed := open(t, b)
	at := time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC)
	yes := true
	believed := override.Word{Server: "notes", Believe: &yes, By: "ann", At: at}
	first := override.Word{Server: "notes", Tool: "a/b", Hints: map[string]bool{"readOnly": true}, By: "ann", At: at}
	second := override.Word{Server: "notes", Tool: "a/b", Hints: map[string]bool{"readOnly": false}, Reason: "it logs", By: "ben", At: at}
	say := func(s *override.Store, words ...override.Word) {
		t.Helper()
		if err := s.Say(t.Context(), words...); err != nil {
			t.Fatal(err)
		}
		for range words {
			<-changed
		}
	}
	say(here, first, believed)
	say(there, second)
	want := []override.Word{believed, second}
	if diff := cmp.Diff(want, there.Words()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	say(here, override.Word{Server: "notes", Tool: "a/b", Withdrawn: true})
	if diff := cmp.Diff(want[:1], there.Words()); diff != "" {
		t.Errorf("after it was withdrawn, -want +got:\n%s", diff)
	}
	again, _ := open(t, b)
	if diff := cmp.Diff(want[:1], again.Words()); diff != "" {
		t.Errorf("a third finds -want +got:\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	yes := true
	for _, w := range []override.Word{
		{}, {Tool: "x", Hints: map[string]bool{"readOnly": true}}, {Server: "s"}, {Server: "s", Tool: "x"},
		{Server: "s", Tool: "x", Believe: &yes}, {Server: "s", Hints: map[string]bool{"readOnly": true}, Believe: &yes},
		{Server: "s", Tool: "x", Hints: map[string]bool{"readonly": true}},
	} {
		s := override.New(memory.NewBucket(), nil)
		if err := s.Say(t.Context(), w); annotary.CodeOf(err) != annotary.CodeInvalid {
			t.Errorf("%+v was written down: %v", w, err)
		}
	}
}
