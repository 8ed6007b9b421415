package approval

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/annotary/annotary"
)

// A Tally is how often people were asked, and what they said.
type Tally struct {
	Rule   string `json:"rule,omitempty"`
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Calls is how many calls there were; 0 where they are not counted.
	Calls int `json:"calls,omitempty"`
	// Asked is how many questions were opened; Again is how many of them had been
	// answered with yes before, for the same caller, tool and arguments.
	Asked    int `json:"asked"`
	Again    int `json:"again"`
	Approved int `json:"approved"`
	Denied   int `json:"denied"`
	// Unanswered is how many nobody answered in time; Open is how many wait.
	Unanswered int `json:"unanswered"`
	Open       int `json:"open"`
	// Median and Slow are how long an answer took: half were faster, nine of ten.
	Median time.Duration `json:"medianNanoseconds"`
	Slow   time.Duration `json:"p90Nanoseconds"`

	took []time.Duration
}

// PerHundred is how many questions came on a hundred calls.
func (t *Tally) PerHundred() float64 {
	if t.Calls == 0 {
		return 0
	}
	return 100 * float64(t.Asked) / float64(t.Calls)
}

// A Proposal is a rule that people always say yes to: asking for it taught nobody
// anything.
type Proposal struct {
	Rule     string        `json:"rule"`
	Approved int           `json:"approved"`
	Median   time.Duration `json:"medianNanoseconds"`
	Text     string        `json:"text"`
}

// Stats are how much asking costs.
type Stats struct {
	Since     time.Time  `json:"since"`
	All       Tally      `json:"all"`
	Rules     []Tally    `json:"rules"`
	Tools     []Tally    `json:"tools"`
	Proposals []Proposal `json:"proposals"`
}

// alwaysYes is how many answers it takes, all of them yes, to propose that a rule
// be relaxed.
const alwaysYes = 20

// A ToolName names a tool of a server.
type ToolName struct{ Server, Tool string }

// Tallies counts what was asked since a time, beside how many calls there were:
// those given, which nobody was asked about, and one for each question.
func Tallies(all []*Approval, calls map[ToolName]int, since, now time.Time) Stats {
	s := Stats{Since: since, Rules: []Tally{}, Tools: []Tally{}, Proposals: []Proposal{}}
	rules, tools := map[string]*Tally{}, map[ToolName]*Tally{}
	for name, n := range calls {
		s.All.Calls += n
		tools[name] = &Tally{Server: name.Server, Tool: name.Tool, Calls: n}
	}
	answered := map[string]bool{} // who asked for what and heard yes
	for _, a := range sorted(all) {
		name, again := ToolName{a.About.Server, a.About.Tool}, answered[a.asking()]
		if a.Answer != nil && a.Answer.Yes {
			answered[a.asking()] = true
		}
		if a.Asked.Before(since) {
			continue
		}
		if tools[name] == nil {
			tools[name] = &Tally{Server: name.Server, Tool: name.Tool}
		}
		if !a.granted() {
			s.All.Calls++
			tools[name].Calls++
		}
		for _, t := range append(a.rules(rules), &s.All, tools[name]) {
			t.add(a, again, now)
		}
	}
	s.All.settle()
	s.Rules, s.Tools = settled(rules), settled(tools)
	s.Tools = slices.DeleteFunc(s.Tools, func(t Tally) bool { return t.Asked == 0 })
	for i := range s.Rules {
		if p, ok := s.Rules[i].proposal(); ok {
			s.Proposals = append(s.Proposals, p)
		}
	}
	return s
}

func sorted(all []*Approval) []*Approval {
	all = slices.Clone(all)
	Sort(all)
	return all
}

// granted reports whether the answer was a yes for more than this call: who asked
// calls by it like everybody else.
func (a *Approval) granted() bool {
	return a.Answer != nil && a.Answer.Yes && a.Answer.Scope.Kind != Once
}

// asking names who asked for what.
func (a *Approval) asking() string {
	return a.Requester.ID() + "\x00" + a.About.Server + "\x00" + a.About.Tool + "\x00" + a.About.Arguments
}

// rules are the tallies of the rules that asked.
func (a *Approval) rules(by map[string]*Tally) []*Tally {
	var out []*Tally
	for _, r := range a.Reasons {
		name := cmp.Or(r.Rule, string(r.Code))
		if by[name] == nil {
			by[name] = &Tally{Rule: name}
		}
		if !slices.Contains(out, by[name]) {
			out = append(out, by[name])
		}
	}
	return out
}

func (t *Tally) add(a *Approval, again bool, now time.Time) {
	t.Asked++
	if again {
		t.Again++
	}
	switch {
	case a.Answer != nil && a.Answer.Yes:
		t.Approved++
	case a.Answer != nil:
		t.Denied++
	case a.At(now) == Open:
		t.Open++
	default:
		t.Unanswered++
	}
	if a.Answer != nil {
		t.took = append(t.took, a.Answer.At.Sub(a.Asked))
	}
}

func (t *Tally) settle() {
	slices.Sort(t.took)
	if n := len(t.took); n > 0 {
		t.Median, t.Slow = t.took[n/2], t.took[min(n-1, n*9/10)]
	}
}

// settled orders tallies by how often they asked.
func settled[K comparable](by map[K]*Tally) []Tally {
	out := make([]Tally, 0, len(by))
	for _, t := range by {
		t.settle()
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y Tally) int {
		return cmp.Or(cmp.Compare(y.Asked, x.Asked), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool))
	})
	return out
}

// proposal says that a rule could be relaxed. What may carry out what was seen is
// never proposed: the one no is worth all the others.
func (t *Tally) proposal() (Proposal, bool) {
	if t.Approved < alwaysYes || t.Denied > 0 || t.Rule == string(annotary.CodeTrifecta) {
		return Proposal{}, false
	}
	return Proposal{t.Rule, t.Approved, t.Median, fmt.Sprintf(
		"rule %s asked %d times and was answered yes %d times, never no: let it ask once, or allow", t.Rule, t.Asked, t.Approved)}, true
}
