package config

import (
	"fmt"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// Preset is the name of a set of rules.
type Preset string

// PresetOff is no set of rules at all.
const PresetOff Preset = "off"

// UnmarshalText reads a preset's name.
func (p *Preset) UnmarshalText(text []byte) error {
	if _, err := annotary.PresetRules(string(text)); (err != nil || len(text) == 0) && Preset(text) != PresetOff {
		return fmt.Errorf("a preset is relaxed, careful, strict or off, not %q", text)
	}
	*p = Preset(text)
	return nil
}

// Rules say what happens to a call, by what its tool does. Each is allow,
// ask_once (a person is asked once for this tool and conversation), ask,
// ask_outside (asked outside the client) or deny. The strictest that matches
// wins.
type Rules struct {
	// Read speaks of tools that change nothing.
	Read annotary.Verdict `yaml:"read"`
	// Write speaks of tools that change something but destroy nothing.
	Write annotary.Verdict `yaml:"write"`
	// Destructive speaks of tools that may delete or overwrite.
	Destructive annotary.Verdict `yaml:"destructive"`
	// Irreversible speaks of destructive tools not known to have a way back.
	Irreversible annotary.Verdict `yaml:"irreversible"`
	// Open speaks of tools not known to stay in a closed world. It is a word
	// for everybody, or names profiles whose callers may use them.
	Open OpenRule `yaml:"open"`
}

// Override is your word on the hints of some tools. A hint that is left out is
// not spoken of.
type Override struct {
	// ReadOnly says the tool changes nothing.
	ReadOnly *bool `yaml:"readOnly"`
	// Destructive says the tool may delete or overwrite.
	Destructive *bool `yaml:"destructive"`
	// Idempotent says that repeating a call changes nothing more.
	Idempotent *bool `yaml:"idempotent"`
	// OpenWorld says the tool reaches entities outside.
	OpenWorld *bool `yaml:"openWorld"`
	// Sensitive says results may hold private data.
	Sensitive *bool `yaml:"sensitive"`
	// Untrusted says results may hold a stranger's words.
	Untrusted *bool `yaml:"untrusted"`
	// Egress says arguments may leave the trust boundary.
	Egress *bool `yaml:"egress"`
	// Reversible says there is a way back.
	Reversible *bool `yaml:"reversible"`
	// Reason is shown to whoever asks why.
	Reason string `yaml:"reason"`
	// Until is the day after which the override no longer holds, written
	// 2027-01-31. If empty, it holds until you remove it.
	Until Day `yaml:"until"`

	place
}

// A place is where in the file something is written.
type place struct{ position annotary.Position }

// Position says where in the file it is written.
func (p *place) Position() annotary.Position { return p.position }

func (p *place) setPosition(at annotary.Position) { p.position = at }

// Hints returns what the override says, by hint.
func (o *Override) Hints() map[annotary.HintName]bool {
	said := map[annotary.HintName]bool{}
	for n, v := range map[annotary.HintName]*bool{
		annotary.ReadOnly: o.ReadOnly, annotary.Destructive: o.Destructive, annotary.Idempotent: o.Idempotent,
		annotary.OpenWorld: o.OpenWorld, annotary.Sensitive: o.Sensitive, annotary.Untrusted: o.Untrusted,
		annotary.Egress: o.Egress, annotary.Reversible: o.Reversible,
	} {
		if v != nil {
			said[n] = *v
		}
	}
	return said
}

// Narrow says which argument of a tool tells that a call only reads.
type Narrow struct {
	// Kind is sql, http, action or dry_run.
	Kind string `yaml:"kind"`
	// At is the JSON Pointer of the argument, such as /query.
	At string `yaml:"at"`
	// Dialect of a SQL text: postgres, mysql or sqlite. If empty, a text is a
	// read only if it is one in all three.
	Dialect string `yaml:"dialect"`

	place
}

// Rule returns the rule that narrows.
func (n *Narrow) Rule() derive.Rule {
	return derive.Rule{Kind: derive.Kind(n.Kind), At: n.At, Dialect: n.Dialect}
}

// Day is a date.
type Day time.Time

// UnmarshalText reads a date.
func (d *Day) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("a day is written like 2027-01-31, not %q", text)
	}
	*d = Day(t)
	return nil
}

// String writes the day, nothing for none.
func (d Day) String() string {
	if time.Time(d).IsZero() {
		return ""
	}
	return time.Time(d).Format(time.DateOnly)
}

// End returns the moment the day is over, zero for no day.
func (d Day) End() time.Time {
	if time.Time(d).IsZero() {
		return time.Time{}
	}
	return time.Time(d).AddDate(0, 0, 1)
}

// Judged reports whether calls are judged at all.
func (c *Config) Judged() bool {
	return (c.Preset != PresetOff && c.Preset != "") || c.Rules != nil || len(c.Policies) > 0
}

// ShortRules returns the rules for everybody, nil if only policies judge.
func (c *Config) ShortRules() *annotary.Rules { return c.Preset.rules(c.Rules) }
