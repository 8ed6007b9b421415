package notary

import (
	"context"
	"time"
)

// A lease lets one sealer work while the others rest. It is no lock: a sealer
// whose clock is wrong, or who was slow, does no harm.
type lease struct {
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

const leaseTime = 5 * time.Second

// lease reports whether this sealer has the work, and takes it if nobody has.
func (s *Sealer) lease(ctx context.Context) bool {
	var l lease
	revision, err := s.get(ctx, "lease", &l)
	now := time.Now()
	switch {
	case err != nil:
		return true // sealing itself will say what is wrong
	case l.Holder == s.o.Replica && now.Before(l.Until.Add(-leaseTime/2)):
		return true
	case l.Holder != s.o.Replica && now.Before(l.Until):
		return false
	}
	return s.swap(ctx, "lease", lease{s.o.Replica, now.Add(leaseTime).UTC()}, revision) == nil
}
