package annotary

import (
	"slices"
	"strconv"
)

// An Effect is what is done with a call. The zero Effect denies.
type Effect uint8

// The effects, strictest first.
const (
	Deny  Effect = iota // it does not happen
	Ask                 // a person decides
	Allow               // it happens
)

// String returns "deny", "ask" or "allow".
func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// A Decision is an effect and every reason for it. The zero Decision denies
// without a reason.
type Decision struct {
	Effect  Effect
	Reasons []Reason
}

// Stricter returns the stricter of two decisions; of two equally strict ones,
// one with the reasons of both.
func (d Decision) Stricter(e Decision) Decision {
	switch {
	case d.Effect < e.Effect:
		return d
	case e.Effect < d.Effect:
		return e
	}
	for _, r := range e.Reasons {
		if !slices.Contains(d.Reasons, r) {
			d.Reasons = append(slices.Clip(d.Reasons), r)
		}
	}
	return d
}

// A Reason is one rule's part in a decision.
type Reason struct {
	Code Code     // stable, for machines
	Rule string   // the rule's id, where a rule decided
	Text string   // for people
	Hint string   // what would help, where the rule says
	Ask  Verdict  // how a person is to be asked, where the rule asks
	At   Position // where the rule was written
	// Version names the rule as it is written: edited, it has another. A yes to
	// one is no yes to the other.
	Version string
}

// A Position is a place in a file of the operator's.
type Position struct {
	File string
	Line int // from 1; 0 is unknown
}

// String writes "file:line".
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}
