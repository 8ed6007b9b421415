package session

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
)

// A Log keeps the events of one session's streams for a client that lost its
// connection and asks for what it missed. It is bounded: the oldest finished
// streams are forgotten first, and then events that were sent long ago.
type Log struct {
	mu      sync.Mutex
	next    int
	streams map[int]*Events
	order   []int // of the streams, oldest first
	bytes   int
	max     int
}

// NewLog keeps at most limit bytes of events.
func NewLog(limit int) *Log { return &Log{max: limit, streams: map[int]*Events{}} }

// Events is one stream of a session: what was sent on it, and what is to come.
type Events struct {
	log    *Log
	number int
	first  int // the number of kept[0]
	kept   [][]byte
	done   bool
	wake   chan struct{} // closed and replaced when something changes
}

// Open begins a stream.
func (l *Log) Open() *Events {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	e := &Events{log: l, number: l.next, first: 1, wake: make(chan struct{})}
	l.streams[e.number] = e
	l.order = append(l.order, e.number)
	return e
}

// Append adds an event.
func (e *Events) Append(msg []byte) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.kept = append(e.kept, msg)
	e.log.bytes += len(msg)
	e.changed()
	e.log.trim()
}

// Finish says that nothing more comes.
func (e *Events) Finish() {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.done = true
	e.changed()
}

func (e *Events) changed() {
	close(e.wake)
	e.wake = make(chan struct{})
}

// trim forgets until the log fits.
func (l *Log) trim() {
	for l.bytes > l.max {
		if !l.forgetFinished() && !l.forgetOldest() {
			return
		}
	}
}

// forgetFinished drops the oldest stream that has ended, unless it is the only
// one.
func (l *Log) forgetFinished() bool {
	for i, n := range l.order[:max(0, len(l.order)-1)] {
		e := l.streams[n]
		if !e.done {
			continue
		}
		for _, msg := range e.kept {
			l.bytes -= len(msg)
		}
		delete(l.streams, n)
		l.order = append(l.order[:i], l.order[i+1:]...)
		return true
	}
	return false
}

// forgetOldest drops the first event of the stream that keeps most.
func (l *Log) forgetOldest() bool {
	var most *Events
	for _, e := range l.streams {
		if len(e.kept) > 1 && (most == nil || len(e.kept) > len(most.kept)) {
			most = e
		}
	}
	if most == nil {
		return false
	}
	l.bytes -= len(most.kept[0])
	most.kept, most.first = most.kept[1:], most.first+1
	return true
}

// Find returns the stream an event id belongs to and the event's number.
func (l *Log) Find(id string) (*Events, int, bool) {
	stream, event, ok := strings.Cut(id, "_")
	n, err1 := strconv.Atoi(stream)
	seq, err2 := strconv.Atoi(event)
	if !ok || err1 != nil || err2 != nil {
		return nil, 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.streams[n]
	return e, seq, e != nil && seq >= 0
}

// Next returns the first event after number seq with its own number and id. It
// waits for one if need be; after the last it returns io.EOF.
func (e *Events) Next(ctx context.Context, seq int) (msg []byte, number int, id string, err error) {
	for {
		e.log.mu.Lock()
		at := max(0, seq+1-e.first)
		if at < len(e.kept) {
			msg, number = e.kept[at], e.first+at
			e.log.mu.Unlock()
			return msg, number, e.id(number), nil
		}
		done, wake := e.done, e.wake
		e.log.mu.Unlock()
		if done {
			return nil, seq, "", io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, seq, "", ctx.Err()
		}
	}
}

func (e *Events) id(number int) string {
	return strconv.Itoa(e.number) + "_" + strconv.Itoa(number)
}

// Last returns the number of the newest event, zero if there is none.
func (e *Events) Last() int {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	return e.first + len(e.kept) - 1
}
