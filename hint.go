package annotary

import "fmt"

// A HintName names one of the eight hints.
type HintName uint8

// The four hints of the MCP specification, then our four.
const (
	ReadOnly    HintName = iota // does not change its environment
	Destructive                 // may delete or overwrite
	Idempotent                  // repeating a call changes nothing more
	OpenWorld                   // reaches an open world of outside entities
	Sensitive                   // results may hold private data
	Untrusted                   // results may hold a stranger's words
	Egress                      // arguments may leave the trust boundary
	Reversible                  // there is a way back
	NumHints    = 8
)

var hintNames = [NumHints]string{
	"readOnly", "destructive", "idempotent", "openWorld", "sensitive", "untrusted", "egress", "reversible",
}

// String returns the name used in configuration, output and _meta.
func (n HintName) String() string { return hintNames[n] }

// ParseHintName is the inverse of String.
func ParseHintName(s string) (HintName, bool) {
	for n, name := range hintNames {
		if s == name {
			return HintName(n), true
		}
	}
	return 0, false
}

// InSpec reports whether the hint is one of the specification's four, which
// travel in a tool's annotations; ours travel in its _meta only.
func (n HintName) InSpec() bool { return n <= OpenWorld }

// Wire returns the member name of the hint in a tool's annotations. Only hints
// of the specification have one.
func (n HintName) Wire() string {
	if !n.InSpec() {
		return ""
	}
	return hintNames[n] + "Hint"
}

// Dangerous returns the value a cautious reader assumes.
func (n HintName) Dangerous() Value {
	switch n {
	case Destructive, OpenWorld, Sensitive, Untrusted, Egress:
		return Yes
	default:
		return No
	}
}

// Safe returns the value that asks for less caution.
func (n HintName) Safe() Value { return n.Dangerous().Not() }

// Value is what is known of a hint. The zero value is Unknown.
type Value uint8

// The values of a hint.
const (
	Unknown Value = iota
	No
	Yes
)

// ValueOf turns a bool into a Value.
func ValueOf(b bool) Value {
	if b {
		return Yes
	}
	return No
}

// Not returns the opposite; of Unknown, Unknown.
func (v Value) Not() Value {
	switch v {
	case Yes:
		return No
	case No:
		return Yes
	default:
		return Unknown
	}
}

// String returns "true", "false" or "unknown".
func (v Value) String() string {
	switch v {
	case Yes:
		return "true"
	case No:
		return "false"
	default:
		return "unknown"
	}
}

// MarshalJSON writes true, false or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if v == Unknown {
		return []byte("null"), nil
	}
	return []byte(v.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*v = Yes
	case "false":
		*v = No
	case "null":
		*v = Unknown
	default:
		return fmt.Errorf("a hint is true, false or null, not %s", b)
	}
	return nil
}

// A Source says who stands behind a value. The zero value is the
// specification's default, which nobody stands behind.
type Source uint8

// The sources of a value, in no order of strength: [Resolve] holds the order.
const (
	FromDefault  Source = iota // the specification's pessimistic default
	FromDerived                // read off the definition by package derive
	FromDeclared               // the server's own claim
	FromVerified               // evidence of a watched run
	FromConfined               // held by the kernel on this instance
	FromOperator               // override or accepted proposal
	FromObserved               // seen to do it
)

var sourceNames = [...]string{"default", "derived", "declared", "verified", "confined", "operator", "observed"}

// String returns the word used in output and policies.
func (s Source) String() string { return sourceNames[s] }

// MarshalText writes the source as its word.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Source) UnmarshalText(b []byte) error {
	for i, name := range sourceNames {
		if string(b) == name {
			*s = Source(i)
			return nil
		}
	}
	return fmt.Errorf("unknown source %q", b)
}

// A Hint is one effective fact about a tool: its value, who stands behind it,
// and why, in a sentence a person understands.
type Hint struct {
	Value Value  `json:"value"`
	From  Source `json:"from"`
	Why   string `json:"why,omitempty"`
}

// Hints are the eight facts about a tool, indexed by [HintName].
type Hints [NumHints]Hint

// Is reports whether the hint is known to be true.
func (h *Hints) Is(n HintName) bool { return h[n].Value == Yes }

// Vouched reports whether somebody we rely on stands behind the safe value of
// the hint. Every effective safe value is vouched, so this is the same as
// asking whether the value is the safe one.
func (h *Hints) Vouched(n HintName) bool { return h[n].Value == n.Safe() }

// Class puts the tool into one of three classes.
func (h *Hints) Class() Class {
	switch {
	case h.Is(ReadOnly):
		return Read
	case h[Destructive].Value == No:
		return Write
	default:
		return Destroy
	}
}

// Open reports whether the tool is not known to stay in a closed world.
func (h *Hints) Open() bool { return h[OpenWorld].Value != No }

// Irreversible reports whether the tool may destroy and is not known to have a
// way back.
func (h *Hints) Irreversible() bool { return h.Class() == Destroy && !h.Is(Reversible) }

// MayLeave reports whether a call may carry its arguments out of the trust
// boundary: only a known no to egress, or a closed world, says otherwise.
func (h *Hints) MayLeave() bool { return h[Egress].Value != No && h[OpenWorld].Value != No }

// Pessimistic returns the hints of a tool nobody knows anything about: the
// specification's defaults, and unknown for our four.
func Pessimistic() Hints {
	var h Hints
	for n := ReadOnly; n <= OpenWorld; n++ {
		h[n] = Hint{Value: n.Dangerous(), From: FromDefault, Why: "the specification's default"}
	}
	return h
}

// A Class is the short word for what a tool does, for people and short rules.
// The zero value is the worst.
type Class uint8

// The three classes.
const (
	Destroy Class = iota // may delete or overwrite
	Write                // changes, and neither deletes nor overwrites
	Read                 // changes nothing
)

// String returns "read", "write" or "destructive".
func (c Class) String() string {
	switch c {
	case Read:
		return "read"
	case Write:
		return "write"
	default:
		return "destructive"
	}
}

// ParseClass is the inverse of String.
func ParseClass(s string) (Class, bool) {
	for _, c := range []Class{Read, Write, Destroy} {
		if s == c.String() {
			return c, true
		}
	}
	return 0, false
}
