package approval

import (
	"context"
	"time"
)

// lookAgain is how often a question is looked at that may be answered on another
// replica.
const lookAgain = 500 * time.Millisecond

// Await returns an approval when it is no longer open, or as it is when the
// context ends.
func (d *Desk) Await(ctx context.Context, id string) (*Approval, error) {
	for {
		if a, over, err := d.await(ctx, id); over {
			return a, err
		}
	}
}

// await looks at an approval and, while it is open, waits for a while. It reports
// whether the waiting is over.
func (d *Desk) await(ctx context.Context, id string) (a *Approval, over bool, err error) {
	answered := d.wait(id)
	defer d.leave(id, answered)
	if a, err = d.Get(ctx, id); err != nil || a.At(time.Now()) != Open {
		return a, true, err
	}
	select {
	case <-answered:
	case <-time.After(lookAgain):
	case <-ctx.Done():
		return a, true, nil
	}
	return nil, false, nil
}

// A bell rings for all who wait for one answer.
type bell struct {
	rung    chan struct{} // closed when the answer was given here
	waiting int
}

func (d *Desk) wait(id string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.bells[id]
	if b == nil {
		b = &bell{rung: make(chan struct{})}
		d.bells[id] = b
	}
	b.waiting++
	return b.rung
}

// leave stops waiting. A bell that nobody waits for is taken away: most questions
// are answered elsewhere, or never.
func (d *Desk) leave(id string, rung <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.bells[id]
	if b == nil || b.rung != rung {
		return
	}
	if b.waiting--; b.waiting == 0 {
		delete(d.bells, id)
	}
}

func (d *Desk) told(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.bells[id]; b != nil {
		close(b.rung)
		delete(d.bells, id)
	}
}
