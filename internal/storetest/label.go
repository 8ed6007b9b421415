package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/label"
)

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

func private() (l annotary.Label) {
	l = annotary.CleanLabel()
	l.Public, l.Sensitivity, l.Attribution = false, annotary.SensitivityPII, []string{"crm"}
	return l
}

func strangers(from string) (l annotary.Label) {
	l = annotary.CleanLabel()
	l.Trusted, l.Attribution = false, []string{from}
	return l
}

func labels(t *testing.T, o label.Options) *label.Store {
	t.Helper()
	s, err := label.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func recall(t *testing.T, s *label.Store, c *clock) annotary.Label {
	t.Helper()
	seen, err := s.Recall(t.Context(), "talk")
	if err != nil {
		t.Fatal(err)
	}
	return seen.Label(c.now())
}

func raise(t *testing.T, s *label.Store, l annotary.Label) annotary.Label {
	t.Helper()
	after, err := s.Raise(t.Context(), "talk", l)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func wantLegs(t *testing.T, when string, l annotary.Label, private, strangers bool) {
	t.Helper()
	if l.Public == private || l.Trusted == strangers {
		t.Errorf("%s: seen private data %v, strangers' words %v; want %v, %v", when, !l.Public, !l.Trusted, private, strangers)
	}
}

// labelLife: a conversation starts clean, grows, goes on as long as somebody
// calls, and ends a window after.
func labelLife(t *testing.T, b Bucket) {
	c := newClock()
	o := label.Options{Bucket: b, Now: c.now, Made: true}
	s := labels(t, o)
	wantLegs(t, "at first", recall(t, s, c), false, false)
	wantLegs(t, "after private data", raise(t, s, private()), true, false)
	again := labels(t, label.Options{Bucket: b, Now: c.now})
	wantLegs(t, "on another gateway", recall(t, again, c), true, false)
	after := raise(t, again, strangers("web"))
	wantLegs(t, "after strangers' words", after, true, true)
	if after.Sensitivity != annotary.SensitivityPII || len(after.Attribution) != 2 {
		t.Errorf("the label is %+v", after)
	}
	for range 10 { // each call keeps it going
		c.pass(label.Window - time.Minute)
		wantLegs(t, "while it goes on", recall(t, s, c), true, true)
	}
	c.pass(label.Window + label.Window/4 + time.Minute)
	wantLegs(t, "after a window without a call", recall(t, s, c), false, false)
	wantLegs(t, "for another gateway", recall(t, labels(t, o), c), false, false)
	wantLegs(t, "after more private data", raise(t, s, private()), true, false)
}

// labelEndorse: a person's word covers what the person saw, for its time, and
// nothing that came later or before the conversation.
func labelEndorse(t *testing.T, b Bucket) {
	c := newClock()
	here := labels(t, label.Options{Bucket: b, Now: c.now, Made: true})
	there := labels(t, label.Options{Bucket: b, Now: c.now})
	endorse := func(s *label.Store, e label.Endorsement, want annotary.Code) {
		t.Helper()
		if err := s.Endorse(t.Context(), "talk", e); annotary.CodeOf(err) != want {
			t.Errorf("endorsing %+v: %v, want code %q", e, err, want)
		}
	}
	raise(t, here, private())
	raise(t, there, strangers("web"))
	saw, err := there.Recall(t.Context(), "talk")
	if err != nil {
		t.Fatal(err)
	}
	endorse(here, label.Endorsement{Strangers: saw.Strangers.Raised + 1}, annotary.CodeConflict)
	endorse(here, label.Endorsement{Strangers: saw.Strangers.Raised, Until: c.now().Add(time.Hour)}, "")
	wantLegs(t, "endorsed", recall(t, here, c), true, false)
	// The other gateway holds the leg for up and has nothing to add to it.
	wantLegs(t, "seen again, elsewhere", raise(t, there, strangers("web")), true, true)
	endorse(here, label.Endorsement{Strangers: saw.Strangers.Raised}, "")
	wantLegs(t, "the old word again", raise(t, here, private()), true, true)

	saw, err = there.Recall(t.Context(), "talk")
	if err != nil {
		t.Fatal(err)
	}
	endorse(there, label.Endorsement{Strangers: saw.Strangers.Raised, Until: c.now().Add(time.Hour)}, "")
	c.pass(2 * time.Hour)
	wantLegs(t, "after the endorsement ended", recall(t, there, c), true, true)
	c.pass(2 * label.Window)
	for _, from := range []string{"web", "mail", "chat"} {
		wantLegs(t, "in the next conversation", raise(t, there, strangers(from)), false, true)
	}
	endorse(there, label.Endorsement{Strangers: saw.Strangers.Raised}, annotary.CodeConflict)
	wantLegs(t, "after the old word in the next conversation", recall(t, there, c), false, true)
}

// labelForgot: where an old installation has a new bucket, every conversation
// starts with the worst for one window.
func labelForgot(t *testing.T, b Bucket) {
	c := newClock()
	s := labels(t, label.Options{Bucket: b, Now: c.now, Made: true, Old: true})
	wantLegs(t, "after what was seen was forgotten", recall(t, s, c), true, true)
	c.pass(label.Window)
	later := labels(t, label.Options{Bucket: b, Now: c.now, Old: true})
	seen, err := later.Recall(t.Context(), "another")
	if err != nil {
		t.Fatal(err)
	}
	wantLegs(t, "another, within the window", seen.Label(c.now()), true, true)
	c.pass(label.Window/4 + time.Minute)
	seen, err = labels(t, label.Options{Bucket: b, Now: c.now, Old: true}).Recall(t.Context(), "third")
	if err != nil {
		t.Fatal(err)
	}
	wantLegs(t, "a third, after the window", seen.Label(c.now()), false, false)
}

// verdict is a decision that only the two legs together change.
func verdict(l annotary.Label) annotary.Effect {
	if l.Both() {
		return annotary.Ask
	}
	return annotary.Allow
}

func sameEffect(a, b annotary.Effect) bool { return a == b }

// labelStale: a gateway whose news is held back holds a clean label of a
// conversation that has since seen both. Its decision is made again by the newest
// label; where even reading is out of date, there is none.
func labelStale(t *testing.T, b Bucket) {
	c := newClock()
	news := &laggard{Bucket: b}
	fresh := labels(t, label.Options{Bucket: b, Now: c.now, Made: true})
	stale := labels(t, label.Options{Bucket: news, Now: c.now})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { stale.Run(ctx) })
	defer running.Wait()
	defer cancel()
	wantLegs(t, "at first", recall(t, stale, c), false, false)
	news.hold(true)
	defer news.hold(false)
	news.freeze(t, "talk")
	raise(t, fresh, private())
	raise(t, fresh, strangers("web"))
	wantLegs(t, "held back", recall(t, stale, c), false, false)

	asked := 0
	judge := func(l annotary.Label) annotary.Effect { asked++; return verdict(l) }
	got, err := label.Decide(t.Context(), stale, "talk", judge, sameEffect)
	if annotary.CodeOf(err) != annotary.CodeStore || got != annotary.Ask {
		t.Errorf("decided %v, %v by what is out of date", got, err)
	}
	news.thaw()
	wantLegs(t, "read anew", recall(t, stale, c), true, true)

	// Once more with a clean copy, and reading in order: one more look suffices.
	raise(t, fresh, annotary.CleanLabel())
	other := labels(t, label.Options{Bucket: news, Now: c.now})
	if _, err := other.Recall(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	for _, l := range []annotary.Label{private(), strangers("web")} {
		if _, err := fresh.Raise(t.Context(), "other", l); err != nil {
			t.Fatal(err)
		}
	}
	asked = 0
	got, err = label.Decide(t.Context(), other, "other", judge, sameEffect)
	if got != annotary.Ask || err != nil || asked != 3 {
		t.Errorf("decided %v, %v after %d looks; want ask after the worst, the stale and the newest", got, err, asked)
	}
}

// labelBoth (I6): whatever gateways raise the two legs, and whichever decides,
// once both were acknowledged nothing passes unjudged.
func labelBoth(t *testing.T, b Bucket) {
	c := newClock()
	stores := make([]*label.Store, 3)
	for i := range stores {
		stores[i] = labels(t, label.Options{Bucket: b, Now: c.now, Made: i == 0})
	}
	for _, key := range []string{"1", "2", "3", "4", "5", "6"} {
		var both atomic.Int32
		var legs, deciders sync.WaitGroup
		for i, l := range []annotary.Label{private(), strangers("web")} {
			legs.Go(func() {
				if _, err := stores[i].Raise(t.Context(), key, l); err != nil {
					t.Error(err)
				}
				both.Add(1)
			})
		}
		for i := range 9 {
			deciders.Go(func() {
				for range 6 {
					up := both.Load() == 2
					got, err := label.Decide(t.Context(), stores[i%3], key, verdict, sameEffect)
					if up && got != annotary.Ask {
						t.Errorf("passed after both were seen: %v, %v", got, err)
					}
				}
			})
		}
		legs.Wait()
		deciders.Wait()
		for i, s := range stores {
			if got, err := label.Decide(t.Context(), s, key, verdict, sameEffect); got != annotary.Ask || err != nil {
				t.Errorf("gateway %d decides %v, %v in the end", i, got, err)
			}
		}
	}
}
