// Package find chooses tools: the few that fit a question out of a catalogue of
// any size, or the list to give to a model.
//
// Tools are filtered by what they do to the world before they are ranked, so
// that a filter never costs a place in the answer. Ranking is BM25 over the
// parts of the name, the title, the description, the names of the parameters
// and, weakly, the server; a tool whose name was asked for comes first. A tool
// that fits too little of the question is not returned, at any size of
// catalogue: an empty answer is an answer.
//
//	catalogue ─ policy ─ named, always active ─┐
//	              └─ filters by hint ─ ranking ─ max, budget ─▶ Answer: hits, what each filter hid
//
// [Semantic] can rank again with word vectors of any OpenAI-compatible embeddings
// endpoint; that is the only part that touches the network, and it is off unless
// asked for. Policy is the caller's: find never decides who may call a tool.
package find

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/annotary/annotary"
)

// SmallList is how many tools a catalogue must have before a tool list is made
// shorter by what the question says.
const SmallList = 20

// A Query says what is wanted. The zero Query wants every tool.
type Query struct {
	// Text is a question in plain words, or the name of a tool. If empty,
	// all tools that pass the filters are returned.
	Text string
	// List says that a tool list for a model is being made: where the caller
	// sees fewer than SmallList tools, none is left out for not fitting Text.
	List bool

	// See reports whether policy lets the caller see a tool. It beats
	// everything else. If nil, every tool may be seen.
	See func(*annotary.Entry) bool
	// Named are tools the caller asked for by name, AlwaysActive those the
	// configuration keeps in every list; both as name or server/name. They
	// pass the filters, the maximum and the budget, and are marked.
	Named, AlwaysActive []string

	// ReadOnly leaves only tools known to change nothing.
	ReadOnly bool
	// ExcludeDestructive leaves out tools not known to be harmless.
	ExcludeDestructive bool
	// Max is how many tools are returned at most. If zero, there is no limit.
	Max int
	// Budget is how many tokens the definitions may take together, as
	// [annotary.Tokens] estimates them. If zero, there is no limit.
	Budget int
}

// An Answer is what was found and what was not shown.
type Answer struct {
	Hits []Hit
	// Hidden says for each filter how many fitting tools it kept out. What
	// policy hid has no names here: who may not see a tool does not learn
	// that it exists.
	Hidden []Hidden
	// Unknown are names of Named and AlwaysActive that no visible tool has.
	Unknown []string
	// Semantic says whether word vectors took part: "" if nobody asked for
	// them, SemanticFused, or why they did not.
	Semantic string
}

// A Hit is one tool of an answer.
type Hit struct {
	Tool  *annotary.Entry
	Match Match
	Score float64  // comparable within one answer only
	Words []string // the words of the question that the tool matched
	Kept  Kept     // why it is here whatever the filters say
}

// Match says how well a tool's name fits the question.
type Match uint8

// The matches, weakest first. A stronger one is ranked first.
const (
	NoMatch    Match = iota // nothing was asked, or nothing fits
	WordMatch               // words of it were found
	LeafMatch               // the name without what its server's names share
	NameMatch               // the words of the name
	ExactMatch              // the name
)

var matchNames = [...]string{"", "words", "leaf name", "name", "exact name"}

// String names the match for people.
func (m Match) String() string { return matchNames[m] }

// Kept says why a tool passed filters and limits. The zero value is that it did
// so on its own.
type Kept string

// The reasons for keeping a tool.
const (
	KeptNamed  Kept = "named"
	KeptActive Kept = "always_active"
)

// A Filter is the name of what kept a tool out of the answer.
type Filter string

// The filters, in the order in which they are asked.
const (
	FilterPolicy      Filter = "policy"
	FilterReadOnly    Filter = "read_only"
	FilterDestructive Filter = "exclude_destructive"
	FilterMax         Filter = "max"
	FilterBudget      Filter = "token_budget"
)

// maxHiddenNames is how many names a filter's line holds.
const maxHiddenNames = 10

// Hidden is what one filter kept out of an answer.
type Hidden struct {
	Filter Filter   `json:"filter"`
	Count  int      `json:"count"`
	Why    string   `json:"why"`
	Names  []string `json:"names,omitempty"` // the first few, best first, with their server where it is known
}

// Search answers a query.
func (x *Index) Search(q Query) Answer {
	c := x.choose(q)
	return c.answer(q)
}

// A choice is a query half answered: tools that fit and pass the filters by
// hint, ranked, before the limits.
type choice struct {
	hits    []Hit
	hidden  hiding
	unknown []string
}

// choose filters and ranks.
func (x *Index) choose(q Query) choice {
	c := choice{hidden: hiding{}}
	kept := x.kept(q, &c)
	fitting := x.fitting(q)
	for _, h := range fitting {
		t := h.Tool
		switch {
		case q.See != nil && !q.See(t):
			c.hidden.add(FilterPolicy, h)
			continue
		case kept[t] != "":
			h.Kept = kept[t]
			delete(kept, t)
		case q.ReadOnly && !t.Hints.Is(annotary.ReadOnly):
			c.hidden.add(FilterReadOnly, h)
			continue
		case q.ExcludeDestructive && t.Hints.Class() == annotary.Destroy:
			c.hidden.add(FilterDestructive, h)
			continue
		}
		c.hits = append(c.hits, h)
	}
	for t, why := range kept {
		c.hits = append(c.hits, Hit{Tool: t, Kept: why})
	}
	slices.SortFunc(c.hits, compareHits)
	return c
}

// compareHits orders by match, then score, then, where nothing was asked, the
// harmless first, then by name. Two tools of one server may share a name.
func compareHits(a, b Hit) int {
	return cmp.Or(
		cmp.Compare(b.Match, a.Match), cmp.Compare(b.Score, a.Score),
		cmp.Compare(b.Tool.Hints.Class(), a.Tool.Hints.Class()),
		cmp.Compare(a.Tool.Name, b.Tool.Name), cmp.Compare(a.Tool.Server, b.Tool.Server), bytes.Compare(a.Tool.Raw, b.Tool.Raw),
	)
}

// kept returns the tools that stay whatever the filters say, and why. A name
// that only invisible tools have is as unknown as one that none has.
func (x *Index) kept(q Query, c *choice) map[*annotary.Entry]Kept {
	kept := map[*annotary.Entry]Kept{}
	keep := func(names []string, why Kept) {
		for _, name := range names {
			found := false
			for _, i := range x.exact[name] {
				t := &x.tools[i]
				if (t.Name == name || t.Server+"/"+t.Name == name) && (q.See == nil || q.See(t)) {
					kept[t] = cmp.Or(kept[t], why)
					found = true
				}
			}
			if !found {
				c.unknown = append(c.unknown, name)
			}
		}
	}
	keep(q.Named, KeptNamed)
	keep(q.AlwaysActive, KeptActive)
	return kept
}

// fitting returns the tools that fit the question, in no order.
func (x *Index) fitting(q Query) []Hit {
	if q.Text == "" {
		return x.all(nil)
	}
	hits := x.match(q.Text)
	if q.List && x.small(q) {
		return x.all(hits)
	}
	return hits
}

// small reports whether the caller sees fewer than SmallList tools.
func (x *Index) small(q Query) bool {
	seen := 0
	for i := range x.tools {
		if q.See == nil || q.See(&x.tools[i]) {
			seen++
		}
		if seen == SmallList {
			return false
		}
	}
	return true
}

// all returns a hit for every tool: the one given, else an empty one.
func (x *Index) all(have []Hit) []Hit {
	matched := make(map[*annotary.Entry]Hit, len(have))
	for _, h := range have {
		matched[h.Tool] = h
	}
	hits := make([]Hit, len(x.tools))
	for i := range x.tools {
		hits[i] = matched[&x.tools[i]]
		hits[i].Tool = &x.tools[i]
	}
	return hits
}

// answer applies the limits to ranked hits. Kept tools are counted first, since
// they stay.
func (c *choice) answer(q Query) Answer {
	a := Answer{Unknown: c.unknown}
	places, tokens := q.Max, q.Budget
	for _, h := range c.hits {
		if h.Kept != "" {
			places--
			tokens -= size(h.Tool)
		}
	}
	for _, h := range c.hits {
		switch {
		case h.Kept != "":
		case q.Max > 0 && places <= 0:
			c.hidden.add(FilterMax, h)
			continue
		case q.Budget > 0 && size(h.Tool) > tokens:
			c.hidden.add(FilterBudget, h)
			continue
		default:
			places--
			tokens -= size(h.Tool)
		}
		a.Hits = append(a.Hits, h)
	}
	a.Hidden = c.hidden.report(q)
	return a
}

// size is how many tokens a tool's definition takes: of its bytes, or of its
// parts if it was not read from bytes.
func size(t *annotary.Entry) int {
	if len(t.Raw) > 0 {
		return annotary.Tokens(len(t.Raw))
	}
	return annotary.Tokens(len(t.Name) + len(t.Title) + len(t.Description) + len(t.Input) + len(t.Output))
}
