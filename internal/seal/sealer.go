package seal

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/annotary/annotary"
)

// A Store keeps the keys where every replica finds them.
type Store interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

const (
	rotateAfter = 24 * time.Hour
	keepKeys    = rotateAfter + MaxLife // after which nothing they sealed is alive
	readAgain   = time.Minute           // how long the keys are taken from memory
	askAgain    = time.Second           // how soon a strange key id has them read again
	storeKey    = "seal"
)

// A Sealer seals and opens tokens under the keys in the store.
type Sealer struct {
	store Store

	mu   sync.Mutex
	keys []Key // the newest first
	read time.Time
}

// NewSealer makes a sealer whose keys are in the store.
func NewSealer(s Store) *Sealer { return &Sealer{store: s} }

// Seal makes a token that is good for at most life, which is at most [MaxLife].
func (s *Sealer) Seal(ctx context.Context, st *State, life time.Duration) (string, error) {
	now := time.Now()
	keys, err := s.current(ctx, now)
	if err != nil {
		return "", err
	}
	return keys[0].seal(st, now.Add(min(life, MaxLife)))
}

// Open returns what a token holds. It fails with [ErrForged] or [ErrExpired], or
// because the keys cannot be had.
func (s *Sealer) Open(ctx context.Context, token string) (*State, error) {
	t, err := parse(token)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	keys, err := s.current(ctx, now)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		for i := range keys {
			if keys[i].ID == t.key {
				return keys[i].open(t, now)
			}
		}
		if again || !s.stale(now, askAgain) {
			return nil, ErrForged
		}
		if keys, err = s.reload(ctx, now); err != nil {
			return nil, err
		}
	}
}

func (s *Sealer) stale(now time.Time, after time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.read) > after
}

// current returns the keys, the first of them fit to seal with. Keys in memory
// outlast a store that cannot be read for a while.
func (s *Sealer) current(ctx context.Context, now time.Time) ([]Key, error) {
	s.mu.Lock()
	keys, fresh := s.keys, now.Sub(s.read) < readAgain
	s.mu.Unlock()
	if fresh && usable(keys, now) {
		return keys, nil
	}
	next, err := s.reload(ctx, now)
	if err != nil && usable(keys, now) {
		return keys, nil
	}
	return next, err
}

func usable(keys []Key, now time.Time) bool {
	return len(keys) > 0 && now.Sub(keys[0].Made) < rotateAfter
}

// reload reads the keys, and makes a new one where the newest is too old. Of many
// replicas that find so at once, one makes it and the others read it.
func (s *Sealer) reload(ctx context.Context, now time.Time) ([]Key, error) {
	for {
		raw, rev, err := s.store.Get(ctx, storeKey)
		if err != nil {
			return nil, err
		}
		var keys []Key
		if raw != nil {
			if err := json.Unmarshal(raw, &keys); err != nil {
				return nil, annotary.E(annotary.CodeStore, "the keys of the gateway cannot be read", err)
			}
		}
		if usable(keys, now) {
			return s.keep(keys, now), nil
		}
		keys = rotated(keys, now)
		if raw, err = json.Marshal(keys); err != nil {
			return nil, err
		}
		_, err = s.store.Swap(ctx, storeKey, raw, rev)
		switch {
		case err == nil:
			return s.keep(keys, now), nil
		case annotary.CodeOf(err) != annotary.CodeConflict:
			return nil, err
		}
	}
}

func (s *Sealer) keep(keys []Key, now time.Time) []Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.read = keys, now
	return keys
}

// rotated puts a new key before those that may still be needed.
func rotated(keys []Key, now time.Time) []Key {
	out := []Key{NewKey(now)}
	for _, k := range keys {
		if now.Sub(k.Made) < keepKeys {
			out = append(out, k)
		}
	}
	return out
}
