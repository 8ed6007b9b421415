package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Keyed adds idempotencyKey to a write whose arguments embed it: of all calls by
// one user with one key the deed is done once, and all get the same answer.
// Equal keys with other arguments are refused. If the first call's outcome is
// unknown (it crashed, ran out of time, or did the deed and could not write its
// result) so is said; it is not repeated. A handler that returns an error says
// that nothing was done, and may be called again.
type Keyed struct {
	IdempotencyKey string `json:"idempotencyKey,omitempty" jsonschema:"the same value on a retry makes sure this happens only once"`
}

func (k *Keyed) key() string {
	if k == nil { // embedded as a pointer, and no key came
		return ""
	}
	return k.IdempotencyKey
}

// The codes of keyed writes and drafts.
const (
	CodeKeyReused annotary.Code = "key_reused"        // one key, other arguments
	CodeUnknown   annotary.Code = "outcome_unknown"   // an earlier attempt did not finish
	CodeStore     annotary.Code = "store_unavailable" // nobody can tell what was done
)

// A Store remembers what was done, for as long as a retry may come. All
// processes of a server must share one.
type Store interface {
	// Claim takes the key. Of all claims of a key exactly one is given
	// Claimed, until it is released. Whoever has it settles or releases it
	// within the lease; after that it is Lost. Once settled, a key is known at
	// least until its lease would have ended: a draft is claimed for as long as
	// its seal may be good.
	Claim(ctx context.Context, key Key, lease time.Duration) (Claim, error)
	// Settle records the answer; nil records that the outcome is unknown.
	Settle(ctx context.Context, key Key, answer []byte) error
	// Release gives the key back: nothing was done.
	Release(ctx context.Context, key Key) error
}

// A Key names a deed: what the caller calls it, within its tool and user, and a
// digest of what was asked.
type Key struct {
	Name    string
	Request string
}

// A Claim is the state of a key. Request and Answer are what was recorded.
type Claim struct {
	State   State
	Request string
	Answer  []byte
}

// A State says how far a deed is. The zero State is the cautious one.
type State uint8

// The states of a key.
const (
	Lost    State = iota // begun, and its end is unknown
	Claimed              // the caller's, now
	Running              // somebody else's
	Settled              // done
)

var stateNames = [...]string{"lost", "claimed", "running", "settled"}

// String names the state.
func (s State) String() string { return stateNames[s] }

// Between two looks at a deed that somebody else is doing.
const (
	firstWait = 5 * time.Millisecond
	lastWait  = 250 * time.Millisecond
)

// once does the deed, or waits for whoever is doing it.
func (e *entry) once(ctx context.Context, call *Call, key string, args []byte, deed func(context.Context) ([]byte, error)) ([]byte, error) {
	digest, err := strict.Sum(args)
	if err != nil {
		return nil, err
	}
	k := Key{Name: keyName("key", call.Tool, call.User, key), Request: digest.String()}
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		claim, err := e.home.opts.Store.Claim(ctx, k, e.lease())
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, annotary.E(CodeStore, "nothing was done: it cannot be told whether it was done before", err)
		case claim.State == Claimed:
			return e.perform(ctx, call, k, deed)
		case claim.Request != k.Request:
			return nil, annotary.E(CodeKeyReused, "this idempotency key was used with other arguments", nil)
		case claim.State == Settled:
			return claim.Answer, nil
		case claim.State == Lost:
			return nil, annotary.E(CodeUnknown, "an earlier attempt with this idempotency key did not finish, and what it did is unknown", nil).
				WithHint("look at the present state before trying again with a new key")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// lease is how long a deed may take before others give it up for lost.
func (e *entry) lease() time.Duration {
	if e.timeout > 0 {
		return e.timeout + time.Minute
	}
	return 24 * time.Hour
}

// perform does the deed and records how it ended, even if nobody waits for it
// any more.
func (e *entry) perform(ctx context.Context, call *Call, k Key, deed func(context.Context) ([]byte, error)) (answer []byte, err error) {
	after := context.WithoutCancel(ctx)
	store := e.home.opts.Store
	returned := false
	defer func() {
		var trouble error
		switch {
		case returned && err == nil:
			trouble = store.Settle(after, k, answer)
		case returned && ctx.Err() == nil && !isUnwritable(err):
			trouble = store.Release(after, k)
		default: // it panicked, ran out of time half-way, or cannot say what it did
			trouble = store.Settle(after, k, nil)
		}
		if trouble != nil { // the claim will be Lost: nobody repeats the deed
			call.Log.LogAttrs(after, slog.LevelError, "idempotency key not settled", slog.Any("error", trouble))
		}
	}()
	answer, err = deed(ctx)
	returned = true
	return answer, err
}

// unwritable is the error of a handler that did its deed and returned what
// cannot be sent.
type unwritable struct{ error }

func (u *unwritable) Unwrap() error { return u.error }

func isUnwritable(err error) bool {
	_, ok := errors.AsType[*unwritable](err)
	return ok
}

// keyName makes one short name of the parts.
func keyName(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Memory is a [Store] for one process. The zero Memory is ready.
type Memory struct {
	// Keep is how long answers are kept. If zero, a day.
	Keep time.Duration

	mu     sync.Mutex
	claims map[string]*memoryClaim
	pruned time.Time
}

type memoryClaim struct {
	Claim
	until time.Time // of a running one, its lease; of others, when to forget
}

var _ Store = (*Memory)(nil)

// Claim implements [Store].
func (m *Memory) Claim(_ context.Context, key Key, lease time.Duration) (Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.prune(now)
	c := m.claims[key.Name]
	if c == nil {
		m.claims[key.Name] = &memoryClaim{Claim{State: Running, Request: key.Request}, now.Add(lease)}
		return Claim{State: Claimed, Request: key.Request}, nil
	}
	if c.State == Running && now.After(c.until) {
		c.State, c.until = Lost, now.Add(m.keep())
	}
	return c.Claim, nil
}

var errNotClaimed = errors.New("the key is not claimed")

// Settle implements [Store].
func (m *Memory) Settle(_ context.Context, key Key, answer []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.claims[key.Name]
	if c == nil || c.State == Settled {
		return errNotClaimed
	}
	c.State, c.Answer = Settled, answer
	if kept := time.Now().Add(m.keep()); kept.After(c.until) {
		c.until = kept
	}
	if answer == nil {
		c.State = Lost
	}
	return nil
}

// Release implements [Store].
func (m *Memory) Release(_ context.Context, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.claims[key.Name]
	if c == nil || c.State == Settled {
		return errNotClaimed
	}
	delete(m.claims, key.Name)
	return nil
}

func (m *Memory) keep() time.Duration {
	if m.Keep == 0 {
		return 24 * time.Hour
	}
	return m.Keep
}

// prune forgets what is old, at most once a minute.
func (m *Memory) prune(now time.Time) {
	if m.claims == nil {
		m.claims = map[string]*memoryClaim{}
	}
	if now.Sub(m.pruned) < time.Minute {
		return
	}
	m.pruned = now
	for name, c := range m.claims {
		if c.State != Running && now.After(c.until) {
			delete(m.claims, name)
		}
	}
}
