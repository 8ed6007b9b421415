package upstream

import (
	"context"
	"slices"
	"sync"
)

// lanes are the queues of calls that must reach what serves them one after the
// other. What serves a call is a child; of a URL, where many people share a
// server made for that, it is the server as one principal sees it.
type lanes struct {
	mu sync.Mutex
	by map[laneKey]*lane // those somebody is in
}

type laneKey struct {
	in        key    // zero for a URL
	principal string // empty for a child
}

// lane is one queue. Principals take turns, so that one with many calls does not
// hold up another with few.
type lane struct {
	at      *Turn              // whose turn it is
	waiting map[string][]*Turn // by principal, in the order they came
	next    []string           // the principals who wait, in turn
}

// A Turn is a call's place in a lane.
type Turn struct {
	lanes *lanes
	key   laneKey
	who   string
	ready chan struct{} // closed when it has come
}

// enter queues a call.
func (l *lanes) enter(key laneKey, who string) *Turn {
	t := &Turn{lanes: l, key: key, who: who, ready: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[laneKey]*lane{}
	}
	q := l.by[key]
	if q == nil {
		l.by[key] = &lane{at: t}
		close(t.ready)
		return t
	}
	if q.waiting == nil {
		q.waiting = map[string][]*Turn{}
	}
	if len(q.waiting[who]) == 0 {
		q.next = append(q.next, who)
	}
	q.waiting[who] = append(q.waiting[who], t)
	return t
}

// Come reports whether the turn has come.
func (t *Turn) Come() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// Wait waits for the turn.
func (t *Turn) Wait(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the turn, or the place in the queue, to the next. It may be called
// more than once.
func (t *Turn) Leave() {
	t.lanes.mu.Lock()
	defer t.lanes.mu.Unlock()
	q := t.lanes.by[t.key]
	switch {
	case q == nil:
	case q.at == t:
		if q.at = q.pop(); q.at == nil {
			delete(t.lanes.by, t.key)
			return
		}
		close(q.at.ready)
	default:
		q.remove(t)
	}
}

// pop takes the next call out of the queue.
func (q *lane) pop() *Turn {
	if len(q.next) == 0 {
		return nil
	}
	who := q.next[0]
	q.next = q.next[1:]
	t := q.waiting[who][0]
	if q.waiting[who] = q.waiting[who][1:]; len(q.waiting[who]) > 0 {
		q.next = append(q.next, who)
	} else {
		delete(q.waiting, who)
	}
	return t
}

func (q *lane) remove(t *Turn) {
	rest := slices.DeleteFunc(q.waiting[t.who], func(o *Turn) bool { return o == t })
	if q.waiting[t.who] = rest; len(rest) == 0 {
		delete(q.waiting, t.who)
		q.next = slices.DeleteFunc(q.next, func(who string) bool { return who == t.who })
	}
}

// Turn queues for the child. A leg without one has no turn to wait for.
func (l *pipeLeg) Turn() *Turn {
	if l.era == EraModern {
		l.join(nil)
	}
	if l.in == nil {
		return nil
	}
	return l.server.lanes.enter(laneKey{in: l.in.key}, l.who.Principal)
}

// Turn queues for the server as the principal sees it.
func (l *webLeg) Turn() *Turn {
	return l.server.lanes.enter(laneKey{principal: l.who.Principal}, l.who.Principal)
}
