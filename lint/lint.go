// Package lint judges the tool definitions of one server: whether its hints
// are there, can be read, fit together and fit what the definition says the
// tool does; whether its names, titles, texts and schemas will work in the
// clients people use.
//
// [Check] runs every [Rule] of a [Profile] over the tools and returns a
// [Report]. A finding names the tool, the rule, the evidence and what to do. A
// rule is a small function in the file of its group; [Rules] is the table of
// all. [Fix] turns the findings of fixable rules into a JSON Patch.
//
// What a tool does is told by package derive, and a word that only says what a
// tool is about is no evidence: where there is none, there is no finding. The
// linter reads definitions. It calls no tool and proves nothing about what one
// does; that is for verification.
//
// The package is pure: the same tools and options give the same report, byte
// for byte.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// Severity says how bad a finding is. The zero Severity is Off.
type Severity uint8

// The severities, mildest first.
const (
	Off     Severity = iota // the profile does not ask
	Note                    // worth knowing
	Warning                 // likely to hurt somebody
	Error                   // wrong, or refused by whom the profile speaks for
)

var severityNames = [...]string{"off", "note", "warning", "error"}

// String returns "off", "note", "warning" or "error".
func (s Severity) String() string { return severityNames[s] }

// MarshalText writes the severity as its word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "note", "warning" or "error".
func (s *Severity) UnmarshalText(b []byte) error {
	at := slices.Index(severityNames[:], string(b))
	if at <= int(Off) {
		return fmt.Errorf("unknown severity %q: note, warning or error", b)
	}
	*s = Severity(at)
	return nil
}

// Profile says by whose book the tools are judged. The zero Profile is the
// specification's.
type Profile uint8

// The profiles.
const (
	Spec      Profile = iota // the MCP specification and plain sense
	Anthropic                // Anthropic's directory
	OpenAI                   // OpenAI's directory
	Strict                   // everything said, everything checked
	NumProfiles
)

var profileNames = [NumProfiles]string{"spec", "anthropic", "openai", "strict"}

// String returns "spec", "anthropic", "openai" or "strict".
func (p Profile) String() string { return profileNames[p] }

// MarshalText writes the profile as its word.
func (p Profile) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (p *Profile) UnmarshalText(b []byte) error {
	at := slices.Index(profileNames[:], string(b))
	if at < 0 {
		return fmt.Errorf("unknown profile %q: spec, anthropic, openai or strict", b)
	}
	*p = Profile(at)
	return nil
}

// Options say how to judge. The zero value is the specification's profile.
type Options struct {
	Profile Profile
}

// A Finding is one thing that is wrong with a tool, or with the list.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Tool is the tool's name; empty if the list as a whole is meant.
	Tool string `json:"tool,omitempty"`
	// Index is the tool's place in the list, -1 for the list.
	Index int `json:"index"`
	// At is a JSON Pointer into the tool's definition, empty for all of it.
	At string `json:"at,omitempty"`
	// Message says what is wrong, Evidence what shows it, Fix what to do.
	Message  string `json:"message"`
	Evidence string `json:"evidence,omitempty"`
	Fix      string `json:"fix"`
	Fixable  bool   `json:"fixable"`
	// Demand is the demand behind the rule and who makes it.
	Demand string `json:"demand"`
}

// A Report is what the linter found.
type Report struct {
	Profile Profile `json:"profile"`
	Tools   int     `json:"tools"`
	// Annotated is how many tools state at least one hint.
	Annotated int `json:"annotated"`
	// Tokens estimates what the list costs a model's context.
	Tokens   int       `json:"tokens"`
	Findings []Finding `json:"findings"` // worst first
}

// Count returns how many findings have exactly this severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// AtLeast reports whether a finding is as bad as s or worse.
func (r *Report) AtLeast(s Severity) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity >= s })
}

// Check judges the tools of one server.
func Check(tools []annotary.Tool, o Options) *Report {
	l := newList(tools, o.Profile)
	report := &Report{Profile: o.Profile, Tools: len(tools), Tokens: l.tokens(), Findings: []Finding{}}
	for i := range l.passes {
		if l.passes[i].annotated() {
			report.Annotated++
		}
	}
	for i := range rules {
		report.Findings = append(report.Findings, l.apply(&rules[i])...)
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Index, b.Index))
	})
	return report
}

// A list is the tools under examination.
type list struct {
	profile Profile
	passes  []pass
	first   map[string]int // name to the first place it has
}

// A pass is one tool under examination, and what is known of it.
type pass struct {
	*annotary.Tool
	index  int
	claims derive.Claims
	list   *list

	misspelt, misplaced []stray // hints no client reads
}

func newList(tools []annotary.Tool, profile Profile) *list {
	l := &list{profile: profile, passes: make([]pass, len(tools)), first: map[string]int{}}
	claims := derive.Tools(tools)
	for i := range tools {
		raw := tools[i].Raw
		l.passes[i] = pass{&tools[i], i, claims[i], l, misspeltIn(raw), misplacedIn(raw)}
		if _, ok := l.first[tools[i].Name]; !ok {
			l.first[tools[i].Name] = i
		}
	}
	return l
}

// apply runs one rule and completes its findings.
func (l *list) apply(r *Rule) []Finding {
	severity := r.Severity[l.profile]
	if severity == Off {
		return nil
	}
	var all []Finding
	if r.list != nil {
		all = r.list(l)
		for i := range all {
			all[i].Index = -1
		}
	}
	for i := range l.passes {
		if r.tool == nil {
			break
		}
		for _, f := range r.tool(&l.passes[i]) {
			f.Tool, f.Index = l.passes[i].Name, i
			all = append(all, f)
		}
	}
	for i := range all {
		all[i].Rule, all[i].Severity, all[i].Fixable, all[i].Demand = r.ID, severity, r.Fixable, r.DemandOf(l.profile)
	}
	return all
}

// one returns f as the only finding.
func one(f Finding) []Finding { return []Finding{f} }
