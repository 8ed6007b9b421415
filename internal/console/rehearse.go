package console

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/approval"
)

// tryWithin is how long a page waits for a try that nobody asked for.
const tryWithin = 5 * time.Second

// A tried is what a server said to a call that was only to be tried.
type tried struct{ Text, Error string }

// A rehearsal is what the page offers or shows of it.
type rehearsal struct {
	Argument string
	Unasked  bool
	Done     *tried
}

// tries remembers what was tried, so that looking again does not try again.
type tries struct {
	mu   sync.Mutex
	byID map[string]*tried
}

const maxTries = 1000

func (t *tries) get(id string) *tried {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

func (t *tries) put(id string, done *tried) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil || len(t.byID) >= maxTries {
		t.byID = map[string]*tried{}
	}
	t.byID[id] = done
}

// rehearsalOf says how a question's call can be tried. Where policy lets that happen
// without a person, it is done.
func (c *Console) rehearsalOf(ctx context.Context, id string) *rehearsal {
	how := c.Gateway.Rehearsal(ctx, id)
	if how == nil {
		return nil
	}
	r := &rehearsal{Argument: how.Argument, Unasked: how.Unasked, Done: c.tries.get(id)}
	if r.Done == nil && r.Unasked {
		r.Done = c.rehearse(ctx, id, nil)
	}
	return r
}

// rehearse tries a call and remembers what came of it.
func (c *Console) rehearse(ctx context.Context, id string, word *approval.Answer) *tried {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	done := &tried{}
	var err error
	if done.Text, err = c.Gateway.Rehearse(ctx, id, word); err != nil {
		done.Error = err.Error()
	}
	c.tries.put(id, done)
	return done
}

// try is what the button does: a person says that the try may happen.
func (c *Console) try(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("id")
	if _, _, err := c.find(r.Context(), id, s); err != nil {
		return err
	}
	c.rehearse(r.Context(), id, &approval.Answer{By: s.By, Channel: string(channel)})
	http.Redirect(w, r, "/approvals/"+url.PathEscape(id)+"?alone", http.StatusSeeOther)
	return nil
}
