package label

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/record"
)

const (
	// Window is how long a conversation goes on without a call.
	Window = 8 * time.Hour
	// TTL is after how long a record that nobody touched may be dropped.
	TTL = 30 * 24 * time.Hour

	// maxCopies bounds how many records are held in memory.
	maxCopies = 100_000
	// maxProofs is how often a decision is made again because the label was
	// out of date.
	maxProofs = 3
)

// A Bucket keeps the records, and tells of those that are written.
type Bucket interface {
	record.Bucket
	Follow(ctx context.Context, prefix string, each func(value []byte, revision uint64)) error
}

// Options say how labels are kept.
type Options struct {
	Bucket Bucket
	// Made says that the bucket had to be made, and Old that the installation
	// was there before. Both: what was seen is forgotten.
	Made, Old bool
	// Sole says that nobody else writes to the bucket. Then what is held is
	// the newest and needs no proof.
	Sole bool
	// Window is how long a conversation goes on without a call. If zero,
	// [Window].
	Window time.Duration
	// Now tells the time. If nil, time.Now.
	Now func() time.Time
}

// A Store keeps the label of every conversation.
type Store struct {
	opts   Options
	table  record.Table[Record]
	fence  record.Fence
	forgot time.Time // until when a conversation without a record is the worst

	mu     sync.Mutex
	copies map[string]*list.Element // of Seen
	recent *list.List               // the least recently used last
}

// Seen is what is held of a conversation.
type Seen struct {
	Record
	revision uint64
}

// birth is kept beside the records: until when those that are missing are the
// worst. It has the form of a record, of a conversation that cannot be.
const birth = "birth"

// Open opens the store. The first to do so writes down whether something was
// forgotten, for all who share it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Window == 0 {
		o.Window = Window
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{opts: o, table: record.Table[Record]{Bucket: o.Bucket}, copies: map[string]*list.Element{}, recent: list.New()}
	s.fence.Bucket = o.Bucket
	born, err := s.table.Merge(ctx, birth, func(h record.Held[Record]) (Record, error) {
		switch {
		case h.Revision > 0 && o.Made && o.Old: // the other who found it missing knew less
			return Record{Key: birth, Seen: later(h.Value.Seen, s.idle(o.Now()))}, nil
		case h.Revision > 0:
			return h.Value, record.ErrUnchanged
		case o.Old:
			return Record{Key: birth, Seen: s.idle(o.Now())}, nil
		default:
			return Record{Key: birth, Seen: o.Now()}, nil
		}
	})
	s.forgot = born.Value.Seen
	return s, err
}

// Forgot returns until when a conversation without a record starts with the
// worst, because what was seen before is not known; zero if that is over.
func (s *Store) Forgot() time.Time {
	if s.opts.Now().Before(s.forgot) {
		return s.forgot
	}
	return time.Time{}
}

// idle returns when a conversation that went on at a moment has ended. The
// moment is written down only every quarter of a window, so a quarter more must
// pass.
func (s *Store) idle(seen time.Time) time.Time { return seen.Add(s.opts.Window + s.quarter()) }

func (s *Store) quarter() time.Duration { return s.opts.Window / 4 }

// Run keeps what is held up to date with what others write, until the context
// ends. Decisions do not rely on it: it saves them from beginning again.
func (s *Store) Run(ctx context.Context) {
	for ctx.Err() == nil && !s.opts.Sole {
		_ = s.opts.Bucket.Follow(ctx, "", s.refresh) // begun again if it breaks off
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// refresh takes in what somebody wrote of a conversation that is held.
func (s *Store) refresh(raw []byte, revision uint64) {
	var r Record
	if json.Unmarshal(raw, &r) != nil {
		return // the next proof finds out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.copies[r.Key]; e != nil && e.Value.(Seen).revision < revision {
		e.Value = Seen{r, revision}
	}
}

// hold keeps a record in memory, and never an older one over a newer.
func (s *Store) hold(h record.Held[Record]) Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := Seen{h.Value, h.Revision}
	if e := s.copies[h.Value.Key]; e != nil {
		if e.Value.(Seen).revision < h.Revision {
			e.Value = seen
		}
		s.recent.MoveToFront(e)
		return e.Value.(Seen)
	}
	s.copies[h.Value.Key] = s.recent.PushFront(seen)
	if s.recent.Len() > maxCopies {
		oldest := s.recent.Back()
		s.recent.Remove(oldest)
		delete(s.copies, oldest.Value.(Seen).Key)
	}
	return seen
}

// fresh returns what is held of a conversation, unless it is time to note that
// it goes on.
func (s *Store) fresh(key string) (Seen, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.copies[key]
	if e == nil || s.opts.Now().Sub(e.Value.(Seen).Seen) >= s.quarter() {
		return Seen{}, false
	}
	s.recent.MoveToFront(e)
	return e.Value.(Seen), true
}

// forget drops a copy that was found to be out of date.
func (s *Store) forget(seen Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.copies[seen.Key]; e != nil && e.Value.(Seen).revision == seen.revision {
		s.recent.Remove(e)
		delete(s.copies, seen.Key)
	}
}

// Recall returns what a conversation has seen, and notes that it goes on. It
// may be out of date; [Decide] proves it where that matters. On an error nothing
// is known, and the label is the worst.
func (s *Store) Recall(ctx context.Context, key string) (Seen, error) {
	if seen, ok := s.fresh(key); ok {
		return seen, nil
	}
	h, _, err := s.merge(ctx, key, func(*Record, time.Time) bool { return false })
	if err != nil {
		return Seen{}, err
	}
	return s.hold(h), nil
}

// merge changes the record of a conversation: it makes one where there is none,
// begins anew after the window, and notes that the conversation goes on where
// that was last noted a quarter of a window ago. What was written is the newest;
// what was only read may not be.
func (s *Store) merge(ctx context.Context, key string, change func(r *Record, now time.Time) bool) (h record.Held[Record], wrote bool, err error) {
	h, err = s.table.Merge(ctx, key, func(h record.Held[Record]) (Record, error) {
		now := s.opts.Now()
		r, write := h.Value, true
		switch {
		case h.Revision == 0 && now.Before(s.forgot):
			r = worst(key, "what was seen before is not known", now)
		case h.Revision == 0:
			r = clean(key, now)
		case now.After(s.idle(r.Seen)):
			r.end(now)
		case now.Sub(r.Seen) >= s.quarter():
			r.Seen = now
		default:
			write = false
		}
		if wrote = change(&r, now) || write; !wrote {
			return r, record.ErrUnchanged
		}
		return r, nil
	})
	return h, wrote, err
}

// Raise notes what a conversation has seen and returns its label then, once
// that is durable. Where there is nothing to add, that this is still so is
// proved: a person may have endorsed what was seen, and this came after.
func (s *Store) Raise(ctx context.Context, key string, seen annotary.Label) (annotary.Label, error) {
	raise := func(r *Record, now time.Time) bool { return r.raise(seen, now) }
	for range maxProofs {
		held, fresh := s.fresh(key)
		if r := held.Record; !fresh || raise(&r, s.opts.Now()) {
			h, wrote, err := s.merge(ctx, key, raise)
			if err != nil {
				return annotary.Label{}, err
			}
			if held = s.hold(h); wrote {
				return held.Label(s.opts.Now()), nil
			}
		}
		proved, err := s.prove(ctx, held)
		if err == nil {
			return proved.Label(s.opts.Now()), nil
		}
		if annotary.CodeOf(err) != annotary.CodeConflict {
			return annotary.Label{}, err
		}
	}
	return annotary.Label{}, annotary.E(annotary.CodeStore, "too many write the label of this conversation", nil)
}

// Endorse takes a person's word for what the person saw of a conversation.
func (s *Store) Endorse(ctx context.Context, key string, e Endorsement) error {
	changed := false
	h, _, err := s.merge(ctx, key, func(r *Record, _ time.Time) bool {
		changed = r.endorse(e)
		return changed
	})
	if err != nil {
		return err
	}
	s.hold(h)
	if !changed {
		return annotary.E(annotary.CodeConflict, "the conversation has seen something else since", nil)
	}
	return nil
}

// prove returns what is held if it is the newest.
func (s *Store) prove(ctx context.Context, seen Seen) (Seen, error) {
	if s.opts.Sole {
		return s.hold(record.Held[Record]{Value: seen.Record, Revision: seen.revision}), nil
	}
	raw, err := json.Marshal(seen.Record)
	if err != nil {
		return Seen{}, annotary.E(annotary.CodeInternal, "a label cannot be written", err)
	}
	now, err := s.fence.Prove(ctx, seen.Key, raw, seen.revision)
	if err != nil {
		s.forget(seen)
		return Seen{}, err
	}
	return s.hold(record.Held[Record]{Value: seen.Record, Revision: now}), nil
}

// Decide has decide judge by the label of a conversation. An answer that the
// worst label would change is given only after the label was proved to be the
// newest; where it was not, decide is asked again. On an error the label is the
// worst, and so is the answer.
func Decide[D any](ctx context.Context, s *Store, key string, decide func(annotary.Label) D, same func(a, b D) bool) (D, error) {
	atWorst := decide(annotary.Label{})
	var last error
	for range maxProofs {
		seen, err := s.Recall(ctx, key)
		if err != nil {
			return atWorst, err
		}
		answer := decide(seen.Label(s.opts.Now()))
		if same(answer, atWorst) {
			return answer, nil
		}
		if _, last = s.prove(ctx, seen); last == nil {
			return answer, nil
		}
		if annotary.CodeOf(last) != annotary.CodeConflict {
			return atWorst, last
		}
	}
	return atWorst, annotary.E(annotary.CodeStore, "the label of this conversation changes faster than it can be judged by", errors.Unwrap(last))
}
