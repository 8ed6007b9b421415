// Package session keeps what the legacy era forces a gateway to remember
// between requests: which sessions there are and whose they are ([Table]), and
// which events a client may ask for again ([Log]).
//
// Modern requests stand alone and never come here. The package knows neither
// HTTP nor servers: what a session is to the gateway is the table's type
// parameter.
package session

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// ErrFull is returned when no further session fits.
var ErrFull = errors.New("there are too many sessions")

// Limits bound a table. The zero value means the defaults.
type Limits struct {
	// Total is how many sessions there may be. If zero, 100,000.
	Total int
	// PerOwner is how many one owner may have. If zero, 10,000.
	PerOwner int
	// Idle is how long a session lives that nobody uses. If zero, 30 minutes.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Total == 0 {
		l.Total = 100_000
	}
	if l.PerOwner == 0 {
		l.PerOwner = 10_000
	}
	if l.Idle == 0 {
		l.Idle = 30 * time.Minute
	}
	return l
}

// A Table holds the sessions of a gateway. O is the owner, T what is kept.
type Table[O comparable, T any] struct {
	limits Limits
	onEnd  func(T)

	mu    sync.Mutex
	byID  map[string]*entry[O, T]
	owned map[O]int
	stop  chan struct{}
}

type entry[O comparable, T any] struct {
	owner O
	value T
	users int
	used  time.Time
}

// NewTable makes a table. When a session ends, by Remove or because nobody used
// it, onEnd gets its value.
func NewTable[O comparable, T any](limits Limits, onEnd func(T)) *Table[O, T] {
	t := &Table[O, T]{
		limits: limits.withDefaults(), onEnd: onEnd,
		byID: map[string]*entry[O, T]{}, owned: map[O]int{}, stop: make(chan struct{}),
	}
	go t.sweep()
	return t
}

// NewID returns a session id nobody can guess.
func NewID() string { return rand.Text() }

// Add puts a session into the table. It is in use until Release.
func (t *Table[O, T]) Add(id string, owner O, value T) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= t.limits.Total || t.owned[owner] >= t.limits.PerOwner {
		return ErrFull
	}
	t.byID[id] = &entry[O, T]{owner: owner, value: value, users: 1, used: time.Now()}
	t.owned[owner]++
	return nil
}

// Acquire returns a session of this owner and keeps it until Release. To anybody
// else the session does not exist.
func (t *Table[O, T]) Acquire(id string, owner O) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil || e.owner != owner {
		var zero T
		return zero, false
	}
	e.users++
	e.used = time.Now()
	return e.value, true
}

// Release undoes one Acquire, or the Add.
func (t *Table[O, T]) Release(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byID[id]; e != nil {
		e.users--
		e.used = time.Now()
	}
}

// Remove ends a session.
func (t *Table[O, T]) Remove(id string) {
	t.mu.Lock()
	e := t.byID[id]
	if e != nil {
		t.drop(id, e)
	}
	t.mu.Unlock()
	if e != nil {
		t.onEnd(e.value)
	}
}

// Take removes a session of this owner and returns it; onEnd is not called.
func (t *Table[O, T]) Take(id string, owner O) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil || e.owner != owner {
		var zero T
		return zero, false
	}
	t.drop(id, e)
	return e.value, true
}

func (t *Table[O, T]) drop(id string, e *entry[O, T]) {
	delete(t.byID, id)
	if t.owned[e.owner]--; t.owned[e.owner] == 0 {
		delete(t.owned, e.owner)
	}
}

// sweep ends idle sessions until the table is closed.
func (t *Table[O, T]) sweep() {
	tick := time.NewTicker(max(t.limits.Idle/10, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.end(func(e *entry[O, T]) bool { return e.users == 0 && now.Sub(e.used) > t.limits.Idle })
		case <-t.stop:
			return
		}
	}
}

func (t *Table[O, T]) end(which func(*entry[O, T]) bool) {
	var ended []T
	t.mu.Lock()
	for id, e := range t.byID {
		if which(e) {
			t.drop(id, e)
			ended = append(ended, e.value)
		}
	}
	t.mu.Unlock()
	for _, v := range ended {
		t.onEnd(v)
	}
}

// Close ends all sessions. It is called once.
func (t *Table[O, T]) Close() {
	close(t.stop)
	t.end(func(*entry[O, T]) bool { return true })
}
