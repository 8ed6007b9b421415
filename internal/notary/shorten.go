package notary

import (
	"context"
	"fmt"
	"time"

	"github.com/annotary/annotary"
)

// kept says where the log begins, after it was shortened.
type kept struct {
	Pack  uint64 `json:"pack"`  // the last that was dropped
	Index int64  `json:"index"` // of the first entry that is left
}

// A mark remembers a checkpoint of long ago: how far the log went at that time.
type mark struct {
	published
	Size int64 `json:"size"`
}

func (s *Sealer) markKey(at time.Time) string {
	return fmt.Sprintf("marks/%d", at.UnixNano()/int64(s.o.Mark))
}

// mark remembers the first checkpoint of each hour.
func (s *Sealer) mark(ctx context.Context, p published) error {
	err := s.swap(ctx, s.markKey(p.Time), mark{p, s.Status().Size}, 0)
	if annotary.CodeOf(err) == annotary.CodeConflict {
		return nil // this hour has one
	}
	return err
}

// Shorten drops entries that are all of these: sealed, older than before, and in
// a pack up to done, which everybody who copies the log has read. It returns how
// many entries are no longer there. What readers may rely on moves first, so a
// crash in between leaves entries that nobody reads, never a hole.
func (s *Sealer) Shorten(ctx context.Context, before time.Time, done uint64) (dropped int64, err error) {
	first, revision, err := s.kept(ctx)
	if err != nil {
		return 0, err
	}
	m, err := s.lastMark(ctx, before, done)
	if err != nil {
		return first.Index, err
	}
	if m != nil && m.Pack > first.Pack {
		first = kept{m.Pack, m.Size}
		if err := s.swap(ctx, "kept", first, revision); err != nil {
			return 0, err
		}
	}
	begins, _, _, err := s.o.Log.Extent(ctx)
	if err == nil && begins <= first.Pack {
		err = s.o.Log.Purge(ctx, first.Pack+1)
	}
	return first.Index, err
}

func (s *Sealer) kept(ctx context.Context) (k kept, revision uint64, err error) {
	revision, err = s.get(ctx, "kept", &k)
	return k, revision, err
}

// lastMark finds the newest mark that is old enough and covers nothing that is
// still needed. It looks back as far as the oldest entry can be.
func (s *Sealer) lastMark(ctx context.Context, before time.Time, done uint64) (*mark, error) {
	latest, _, err := s.latest(ctx)
	if err != nil || latest == nil {
		return nil, err
	}
	const lookBack = 1000 // marks; older ones are found as time goes on
	for at, n := before, 0; n < lookBack; at, n = at.Add(-s.o.Mark), n+1 {
		var m mark
		revision, err := s.get(ctx, s.markKey(at), &m)
		if err != nil {
			return nil, err
		}
		if revision != 0 && !m.Time.After(before) && m.Pack <= done && m.Pack <= latest.Pack {
			return &m, nil
		}
	}
	return nil, nil
}
