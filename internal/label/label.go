// Package label keeps what every conversation has seen: private data, strangers'
// words. It is what a decision about anything that leaves rests on, so it is
// made to err on one side only.
//
//   - It grows. A person may endorse what was seen so far; whatever is seen
//     later reopens it.
//   - That there is no record proves nothing. A clean one is made, and only that
//     it could be made proves that there was none ([Store.Recall]).
//   - A decision that the worst label would change is given only after the label
//     was proved to be the newest ([Decide]).
//   - A store that was lost, or put back from a copy, forgot what was seen: for
//     one window every conversation starts with the worst ([Open]).
//
// The package does not decide, and does not know what raises a label.
package label

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"slices"
	"time"

	"github.com/annotary/annotary"
)

// KeyOf names the conversation of a principal and its authenticated client.
// The handle tells conversations of one client apart, where the operator said
// that it may; otherwise it is empty.
func KeyOf(p *annotary.Principal, handle string) string {
	h := sha256.New()
	for _, part := range []string{p.Tenant, p.Issuer, p.Subject, p.Client, handle} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))
}

// A Leg is one of the two things a conversation may have seen. It is up if it
// was raised more often than endorsed.
type Leg struct {
	// Raised counts what was seen. It never goes back.
	Raised uint64 `json:"raised,omitempty"`
	// Ended is what Raised was when the conversation before this one ended.
	Ended uint64 `json:"ended,omitempty"`
	// Endorsed is what Raised was in what a person saw and agreed to.
	Endorsed uint64 `json:"endorsed,omitempty"`
	// Until is when the endorsement ends; zero is never.
	Until time.Time `json:"until,omitzero"`
}

// Up reports whether the leg is up at a moment.
func (l *Leg) Up(now time.Time) bool {
	down := l.Ended
	if l.Until.IsZero() || now.Before(l.Until) {
		down = max(down, l.Endorsed)
	}
	return l.Raised > down
}

// A Record is what is kept of one conversation.
type Record struct {
	Key       string `json:"key"`
	Private   Leg    `json:"private"`
	Strangers Leg    `json:"strangers"`
	// Sensitivity is the most sensitive kind of private data seen.
	Sensitivity annotary.Sensitivity `json:"sensitivity"`
	// Attribution says where it came from. It explains, it does not decide.
	Attribution []string `json:"attribution,omitempty"`
	// Seen is when the conversation was last known to go on.
	Seen time.Time `json:"seen"`
}

// clean is the record of a conversation that has seen nothing.
func clean(key string, now time.Time) Record {
	return Record{Key: key, Sensitivity: annotary.SensitivityNone, Seen: now}
}

// worst is the record of a conversation of which nothing is known.
func worst(key, why string, now time.Time) Record {
	r := Record{Key: key, Seen: now, Attribution: []string{why}}
	r.Private.Raised, r.Strangers.Raised = 1, 1
	return r
}

// Label returns what the record says at a moment.
func (r *Record) Label(now time.Time) annotary.Label {
	l := annotary.CleanLabel()
	l.Public, l.Trusted = !r.Private.Up(now), !r.Strangers.Up(now)
	if !l.Public {
		l.Sensitivity = r.Sensitivity
	}
	if !l.Public || !l.Trusted {
		l.Attribution = r.Attribution
	}
	return l
}

// raise adds what was seen, and reports whether that changed anything. What
// shows nothing new to a person does not: an endorsement of what the person saw
// would cover it.
func (r *Record) raise(seen annotary.Label, now time.Time) bool {
	before := r.Label(now)
	after := before.Join(seen)
	news := !slices.Equal(before.Attribution, after.Attribution)
	changed := false
	lift := func(l *Leg, seen, up, more bool) {
		if seen && (!up || more) {
			l.Raised++
			changed = true
		}
	}
	lift(&r.Private, !seen.Public, !before.Public, news || after.Sensitivity != before.Sensitivity)
	lift(&r.Strangers, !seen.Trusted, !before.Trusted, news)
	if changed {
		r.Attribution = after.Attribution
		if !after.Public {
			r.Sensitivity = after.Sensitivity
		}
		r.Seen = later(r.Seen, now)
	}
	return changed
}

// end begins a new conversation under the key of one that ended.
func (r *Record) end(now time.Time) {
	r.Private = Leg{Raised: r.Private.Raised, Ended: r.Private.Raised}
	r.Strangers = Leg{Raised: r.Strangers.Raised, Ended: r.Strangers.Raised}
	r.Sensitivity, r.Attribution, r.Seen = annotary.SensitivityNone, nil, now
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// An Endorsement is a person's word that what a conversation has seen may be
// followed by something that leaves.
type Endorsement struct {
	// Private and Strangers are the counts of the legs that the person saw; 0
	// says nothing about the leg.
	Private, Strangers uint64
	// Until is when it ends; zero is never.
	Until time.Time
}

// endorse takes a person's word for what the person saw, and reports whether
// that changed anything.
func (r *Record) endorse(e Endorsement) bool {
	changed := false
	for leg, seen := range map[*Leg]uint64{&r.Private: e.Private, &r.Strangers: e.Strangers} {
		// What was not raised yet cannot have been seen.
		if seen > 0 && seen <= leg.Raised && seen > leg.Ended && seen >= leg.Endorsed {
			leg.Endorsed, leg.Until = seen, e.Until
			changed = true
		}
	}
	return changed
}
