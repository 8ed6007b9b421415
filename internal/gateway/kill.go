package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
)

// A Kill stops calls until it is lifted: those of one tool, of one server, of
// one user, or all. It hides nothing; callers hear the operator's note.
type Kill struct {
	Server string `json:"server,omitempty"`
	// Tool is a name or a pattern in which * stands for anything; empty means
	// the whole server.
	Tool string `json:"tool,omitempty"`
	// User is a subject, whoever vouches for it.
	User string `json:"user,omitempty"`
	// All means every call. Exactly one of Server, User and All is set.
	All bool `json:"all,omitempty"`

	Note  string    `json:"note"` // what callers hear
	By    string    `json:"by"`   // the operator
	Since time.Time `json:"since"`
	// Lifted says that it no longer holds. The store forgets nothing, so that
	// nobody who missed a message goes on with an old state.
	Lifted bool `json:"lifted,omitempty"`
}

// killPrefix is where kills are in the store.
const killPrefix = "kill"

// key names what is stopped, in the store.
func (k *Kill) key() string {
	switch {
	case k.All:
		return killPrefix + "/all/all"
	case k.User != "":
		return killPrefix + "/user/" + k.User
	case k.Tool != "":
		return killPrefix + "/tool/" + k.Server + "/" + k.Tool
	default:
		return killPrefix + "/server/" + k.Server
	}
}

// String names what is stopped, for people.
func (k *Kill) String() string {
	switch {
	case k.All:
		return "everything"
	case k.User != "":
		return "the user " + k.User
	case k.Tool != "":
		return k.Server + "/" + k.Tool
	default:
		return k.Server
	}
}

// check refuses a kill that does not say what it stops.
func (k *Kill) check() error {
	said := 0
	for _, s := range []bool{k.All, k.User != "", k.Server != ""} {
		if s {
			said++
		}
	}
	if said != 1 || (k.Tool != "" && k.Server == "") {
		return annotary.E(annotary.CodeInvalid, "a kill names a server or one of its tools, a user, or all", nil)
	}
	return nil
}

// stops reports whether the kill is meant for such a call; the tool is empty for
// what is no tool.
func (k *Kill) stops(server, tool, user string) bool {
	switch {
	case k.All:
		return true
	case k.User != "":
		return k.User == user
	case k.Server != server:
		return false
	default:
		return k.Tool == "" || (tool != "" && catalog.Match(k.Tool, tool))
	}
}

// decision is what becomes of a call that the kill stops.
func (k *Kill) decision() annotary.Decision { return refusing(annotary.CodeKilled, k.Note) }

// A KillStore keeps kills, for this gateway and all others on the same store.
type KillStore interface {
	Get(ctx context.Context, key string) ([]byte, uint64, error)
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64)) error
}

// Kills are what the operator stopped, and the calls in flight that may be. They
// outlive a [Judge]. A nil Kills stops nothing.
type Kills struct {
	store   KillStore
	holding atomic.Pointer[[]Kill] // those that hold, for calls to look at

	mu      sync.Mutex
	known   map[string]seenKill // by key, lifted ones too
	flights map[*flight]struct{}
}

type seenKill struct {
	Kill
	revision uint64
}

// NewKills makes kills that are kept in a store. Nothing is stopped until
// [Kills.Follow] has read them.
func NewKills(store KillStore) *Kills {
	return &Kills{store: store, known: map[string]seenKill{}, flights: map[*flight]struct{}{}}
}

// followAgain is how long after a lost store it is watched again.
const followAgain = 500 * time.Millisecond

// Follow takes over what is in the store, calls ready, and goes on with every
// change until the context ends. When the store is lost it tries again.
func (k *Kills) Follow(ctx context.Context, ready func()) {
	once := sync.OnceFunc(ready)
	for ctx.Err() == nil {
		_ = k.store.Watch(ctx, killPrefix, once, k.take) // what was missed comes with the next
		select {
		case <-ctx.Done():
		case <-time.After(followAgain):
		}
	}
}

// take applies a value of the store. One that cannot be read cannot be obeyed in
// part, so it stops everything until everything is let go on.
func (k *Kills) take(value []byte, revision uint64) {
	var next Kill
	if err := json.Unmarshal(value, &next); err != nil || next.check() != nil {
		next = Kill{All: true, Note: "a kill in the store cannot be read"}
	}
	k.apply(next, revision)
}

// apply makes a kill hold, or lets go of it, and stops the calls it is meant for.
func (k *Kills) apply(next Kill, revision uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := next.key()
	if last, ok := k.known[key]; ok && last.revision >= revision {
		return
	}
	k.known[key] = seenKill{next, revision}
	var holding []Kill
	for _, s := range k.known {
		if !s.Lifted {
			holding = append(holding, s.Kill)
		}
	}
	slices.SortFunc(holding, func(a, b Kill) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.key(), b.key()))
	})
	k.holding.Store(&holding)
	if !next.Lifted {
		for f := range k.flights {
			if next.stops(f.server, f.tool, f.user) {
				f.kill(&next)
			}
		}
	}
}

// List returns what is stopped, the oldest first.
func (k *Kills) List() []Kill {
	if k == nil || k.holding.Load() == nil {
		return nil
	}
	return slices.Clone(*k.holding.Load())
}

// Set stops what the kill names, here and on every gateway of the store. It
// holds when Set returns.
func (k *Kills) Set(ctx context.Context, kill Kill) error {
	if strings.TrimSpace(kill.Note) == "" {
		return annotary.E(annotary.CodeInvalid, "a kill needs a note: it is what callers hear", nil)
	}
	kill.Lifted = false
	return k.write(ctx, kill, func(*Kill, uint64) error { return nil })
}

// Lift lets calls go on that a kill stopped.
func (k *Kills) Lift(ctx context.Context, kill Kill) error {
	kill.Lifted = true
	return k.write(ctx, kill, func(last *Kill, revision uint64) error {
		if (last == nil || last.Lifted) && !k.holds(kill.key(), revision) {
			return errNotKilled(&kill)
		}
		return nil
	})
}

// holds reports whether a kill holds here although its key in the store does not say
// so at this revision: what could not be read stops everything, whatever its key.
func (k *Kills) holds(key string, revision uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.known[key]
	return ok && !known.Lifted && known.revision >= revision
}

func errNotKilled(k *Kill) error {
	return annotary.E(annotary.CodeInvalid, "nothing stops "+k.String(), nil).WithHint("'annotary kill' lists what is stopped")
}

// write swaps a kill into the store until nobody else did in between. What may
// not replace the last one is refused.
func (k *Kills) write(ctx context.Context, kill Kill, may func(last *Kill, revision uint64) error) error {
	if err := kill.check(); err != nil {
		return err
	}
	value, err := json.Marshal(kill)
	if err != nil {
		return err
	}
	for {
		raw, revision, err := k.store.Get(ctx, kill.key())
		if err != nil {
			return err
		}
		var last *Kill
		if raw != nil {
			last = new(Kill)
			if json.Unmarshal(raw, last) != nil {
				last = nil
			}
		}
		if err := may(last, revision); err != nil {
			return err
		}
		next, err := k.store.Swap(ctx, kill.key(), value, revision)
		if annotary.CodeOf(err) == annotary.CodeConflict {
			continue
		}
		if err != nil {
			return err
		}
		k.apply(kill, next)
		return nil
	}
}

// on returns the kill that stops such a call, nil if none does.
func (k *Kills) on(server, tool, user string) *Kill {
	if k == nil {
		return nil
	}
	holding := k.holding.Load()
	if holding == nil {
		return nil
	}
	for i := range *holding {
		if kill := &(*holding)[i]; kill.stops(server, tool, user) {
			return kill
		}
	}
	return nil
}
