package annotary

import (
	"slices"
)

// A Label says what a conversation, or one result, has brought along: private
// data, and strangers' words. It only grows. The zero Label is the worst, so
// that an error, a time-out or an undecodable record is never a clean one.
type Label struct {
	// Public says no private data has been seen.
	Public bool
	// Trusted says no stranger's words have been seen.
	Trusted bool
	// Sensitivity is the most sensitive kind of data seen.
	Sensitivity Sensitivity
	// Attribution names where it came from, sorted, at most MaxAttribution.
	Attribution []string
}

// MaxAttribution bounds how many origins a label remembers. More are dropped:
// attribution explains a label, it does not decide.
const MaxAttribution = 32

// CleanLabel is the label of a conversation that has seen nothing.
func CleanLabel() Label { return Label{Public: true, Trusted: true, Sensitivity: SensitivityNone} }

// Join returns the label of what was made from both.
func (l Label) Join(m Label) Label {
	both := slices.Concat(l.Attribution, m.Attribution)
	slices.Sort(both)
	both = slices.Compact(both)
	return Label{
		Public:      l.Public && m.Public,
		Trusted:     l.Trusted && m.Trusted,
		Sensitivity: l.Sensitivity.join(m.Sensitivity),
		Attribution: both[:min(len(both), MaxAttribution)],
	}
}

// Both reports whether private data and strangers' words were both seen: two
// legs of the lethal trifecta, after which anything that leaves is the third.
func (l Label) Both() bool { return !l.Public && !l.Trusted }

// Sensitivity grades private data, as the trust annotations of MCP do. The zero
// value is unknown, which is as bad as the worst.
type Sensitivity uint8

// The grades, least sensitive first after the zero value.
const (
	SensitivityUnknown Sensitivity = iota
	SensitivityNone
	SensitivityUser
	SensitivityPII
	SensitivityFinancial
	SensitivityCredentials
	SensitivityRegulated
)

var sensitivityNames = [...]string{"unknown", "none", "user", "pii", "financial", "credentials", "regulated"}

// String returns the grade's word.
func (s Sensitivity) String() string { return sensitivityNames[s] }

func (s Sensitivity) join(t Sensitivity) Sensitivity {
	if s == SensitivityUnknown || t == SensitivityUnknown {
		return SensitivityUnknown
	}
	return max(s, t)
}
