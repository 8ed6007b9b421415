package approval

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/annotary/annotary"
)

// DefaultMax is how many questions of one requester may be open at a time unless
// told otherwise. Nobody answers more than that in an hour and reads them.
const DefaultMax = 100

// A queue is what of a requester's is open, by id, with the end of each. What was
// answered stays in it until there is no room, or its time is over.
type queue struct {
	Open map[string]time.Time `json:"open"`
}

func queueKey(p *Person) string { return "queues/" + p.ID() }

// Full reports whether a requester has as many questions open as it may.
func (d *Desk) Full(ctx context.Context, who *annotary.Principal) (bool, error) {
	p := PersonOf(who)
	q, _, err := d.queue(ctx, &p, time.Now())
	return err == nil && len(q.Open) >= d.opts.Max, err
}

// admit puts a question into its requester's queue, if there is room: an agent in a
// loop must bury neither its operator nor the store.
func (d *Desk) admit(ctx context.Context, a *Approval) error {
	for {
		q, rev, err := d.queue(ctx, &a.Requester, a.Asked)
		if err != nil {
			return err
		}
		if len(q.Open) >= d.opts.Max {
			return annotary.E(annotary.CodeQuestions, "as many calls of this caller wait for a person as may", nil).
				WithHint("'annotary approvals list' shows what is open; approvals.max in the configuration says how many may be")
		}
		q.Open[a.ID] = a.Expires
		raw, err := json.Marshal(q)
		if err != nil {
			return err
		}
		if _, err = d.questions.Swap(ctx, queueKey(&a.Requester), raw, rev); annotary.CodeOf(err) != annotary.CodeConflict {
			return err
		}
	}
}

// writtenWithin is how long after it was admitted a question is taken to be on its
// way to the store; what is not there by then never came.
const writtenWithin = time.Minute

// queue reads a requester's queue and leaves out what is no longer open.
func (d *Desk) queue(ctx context.Context, p *Person, now time.Time) (*queue, uint64, error) {
	raw, rev, err := d.questions.Get(ctx, queueKey(p))
	if err != nil {
		return nil, 0, err
	}
	q := &queue{}
	if raw != nil {
		if q, err = decode[queue](raw); err != nil {
			return nil, 0, err
		}
	}
	if q.Open == nil {
		q.Open = map[string]time.Time{}
	}
	maps.DeleteFunc(q.Open, func(_ string, end time.Time) bool { return !now.Before(end) })
	if len(q.Open) < d.opts.Max {
		return q, rev, nil
	}
	for id, end := range q.Open {
		a, _, err := d.get(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		written := a != nil || now.Before(end.Add(writtenWithin-d.opts.Open))
		if !written || a != nil && a.At(now) != Open {
			delete(q.Open, id)
		}
	}
	return q, rev, nil
}
