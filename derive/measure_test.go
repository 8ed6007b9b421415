package derive

import (
	"fmt"
	"testing"

	"github.com/annotary/annotary"
)

// figures are how well derivation does on tools whose hints are known.
type figures struct {
	Labelled, ReadOnly, NotReadOnly int // tools with a known readOnly
	Unsafe                          int // derived read-only, and is not
	OverCautious                    int // is read-only, and not derived so
	MeanPerServer                   float64

	Destructive      int // not read-only and known to be destructive
	DestructiveRight int // derived destructive, and is
	DestructiveWrong int // derived destructive, and is not

	Contradicted int // tools whose declared safe value a sure claim contradicts
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

func (f *figures) accuracy() float64 { return percent(f.Labelled-f.Unsafe-f.OverCautious, f.Labelled) }
func (f *figures) unsafe() float64   { return percent(f.Unsafe, f.NotReadOnly) }
func (f *figures) cautious() float64 { return percent(f.OverCautious, f.ReadOnly) }
func (f figures) Precision() float64 {
	return percent(f.DestructiveRight, f.DestructiveRight+f.DestructiveWrong)
}
func (f figures) Recall() float64 { return percent(f.DestructiveRight, f.Destructive) }

func (f figures) String() string {
	return fmt.Sprintf("accuracy %.1f %%, unsafe %.1f %%, over-cautious %.1f %%, mean per server %.1f %%; "+
		"destructive: precision %.1f %% at recall %.1f %%; contradicted %d (%.2f %%)",
		f.accuracy(), f.unsafe(), f.cautious(), f.MeanPerServer, f.Precision(), f.Recall(),
		f.Contradicted, percent(f.Contradicted, f.Labelled))
}

// check fails the test where a limit is not kept.
func (f *figures) check(t *testing.T) {
	t.Helper()
	for _, limit := range []struct {
		name      string
		got, want float64
		atMost    bool
	}{
		{"unsafe", f.unsafe(), 2, true},
		{"over-cautious", f.cautious(), 12, true},
		{"accuracy", f.accuracy(), 92, false},
		{"mean per server", f.MeanPerServer, 87, false},
		{"precision of destructive", f.Precision(), 85, false},
		{"recall of destructive", f.Recall(), 65, false},
		{"contradicted", percent(f.Contradicted, f.Labelled), 1, true},
	} {
		if limit.atMost && limit.got > limit.want || !limit.atMost && limit.got < limit.want {
			t.Errorf("%s is %.2f %%, the limit is %.2f %%", limit.name, limit.got, limit.want)
		}
	}
}

// measure compares claims with what the servers said.
func measure(samples []sample, claims []Claims) figures {
	var f figures
	right, of := map[string]int{}, map[string]int{}
	for i := range samples {
		s, c := &samples[i], &claims[i]
		if s.labelled(annotary.ReadOnly) {
			f.count(s, c)
			of[s.server]++
			if (c[annotary.ReadOnly].Value == annotary.Yes) == (s.said.Stated[annotary.ReadOnly] == annotary.StatedTrue) {
				right[s.server]++
			}
		}
	}
	for server, n := range of {
		f.MeanPerServer += percent(right[server], n) / float64(len(of))
	}
	return f
}

func (f *figures) count(s *sample, c *Claims) {
	f.Labelled++
	derived := c[annotary.ReadOnly].Value == annotary.Yes
	if s.said.Stated[annotary.ReadOnly] == annotary.StatedTrue {
		f.ReadOnly++
		if !derived {
			f.OverCautious++
		}
	} else {
		f.NotReadOnly++
		if derived {
			f.Unsafe++
		}
		f.countDestructive(s, c)
	}
	if contradicts(s, c) {
		f.Contradicted++
	}
}

func (f *figures) countDestructive(s *sample, c *Claims) {
	if !s.labelled(annotary.Destructive) {
		return
	}
	destructive := s.said.Stated[annotary.Destructive] == annotary.StatedTrue
	if destructive {
		f.Destructive++
	}
	switch {
	case c[annotary.Destructive].Value != annotary.Yes:
	case destructive:
		f.DestructiveRight++
	default:
		f.DestructiveWrong++
	}
}

// contradicts reports whether a claim that is sure says that a declared safe
// value is wrong.
func contradicts(s *sample, c *Claims) bool {
	for n, claim := range c {
		hint := annotary.HintName(n)
		if claim.Value == hint.Dangerous() && claim.Confidence >= annotary.ContradictionConfidence &&
			s.said.Stated[n].Value() == hint.Safe() {
			return true
		}
	}
	return false
}
