package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/annotary/annotary"
)

// A Summary is what a log says of calls, in numbers.
type Summary struct {
	Calls   int            `json:"calls"`
	Users   int            `json:"users"`
	ByClass map[string]int `json:"byClass"` // what was called: read, write or destructive
	First   time.Time      `json:"first,omitzero"`
	Last    time.Time      `json:"last,omitzero"`
	// WouldBlock are the calls that went through because policies were only
	// observed, Blocked those that did not go through.
	WouldBlock Blocks `json:"wouldBlock"`
	Blocked    Blocks `json:"blocked"`
}

// Blocks are calls that something stood in the way of.
type Blocks struct {
	Calls int `json:"calls"`
	Users int `json:"users"`
	Asked int `json:"asked"` // the calls that a person was to decide
	// Prompts are the questions these come to: a rule that asks once asks once
	// for a tool and a conversation.
	Prompts int         `json:"prompts"`
	Rules   []RuleCount `json:"rules"` // those that stood in the way, the most frequent first
	Tools   []ToolCount `json:"tools"` // those that were called, the most frequent first
}

// A RuleCount is a rule and what it stood in the way of.
type RuleCount struct {
	Rule   string `json:"rule"` // its id, or the code of what is no rule
	Effect string `json:"effect"`
	Calls  int    `json:"calls"`
	Users  int    `json:"users"`
}

// A ToolCount is a tool and how often it was called.
type ToolCount struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
}

// A Counter sums entries up. Its zero value is ready.
type Counter struct {
	sum     Summary
	users   set
	would   tally
	blocked tally
}

// Add takes in an entry.
func (c *Counter) Add(e *Entry) {
	if e.Kind != Decided {
		return
	}
	if c.sum.ByClass == nil {
		c.sum.ByClass = map[string]int{}
	}
	c.sum.Calls++
	if c.sum.ByClass[cmp.Or(e.Class, "unknown")]++; c.sum.First.IsZero() || e.Time.Before(c.sum.First) {
		c.sum.First = e.Time
	}
	if e.Time.After(c.sum.Last) {
		c.sum.Last = e.Time
	}
	c.users.add(e.who())
	switch {
	case e.Observe:
		c.would.add(e)
	case e.Effect != annotary.Allow.String():
		c.blocked.add(e)
	}
}

// Summary returns the sum of what was added.
func (c *Counter) Summary() Summary {
	out := c.sum
	if out.ByClass == nil {
		out.ByClass = map[string]int{}
	}
	out.Users, out.WouldBlock, out.Blocked = len(c.users), c.would.blocks(), c.blocked.blocks()
	return out
}

// who names the caller so that no two share a name.
func (e *Entry) who() string {
	p := annotary.Principal{Tenant: e.Tenant, Issuer: e.Issuer, Subject: e.Subject}
	return p.ID()
}

type set map[string]struct{}

func (s *set) add(v string) bool {
	if *s == nil {
		*s = set{}
	}
	_, had := (*s)[v]
	(*s)[v] = struct{}{}
	return !had
}

// A tally counts blocks.
type tally struct {
	Blocks
	users, once set
	rules       map[[2]string]*ruleTally // by rule and effect
	tools       map[[2]string]int        // by server and tool
}

type ruleTally struct {
	calls int
	users set
}

func (t *tally) add(e *Entry) {
	if t.rules == nil {
		t.rules, t.tools = map[[2]string]*ruleTally{}, map[[2]string]int{}
	}
	t.Calls++
	t.users.add(e.who())
	t.tools[[2]string{e.Server, cmp.Or(e.Tool, e.Method)}]++
	for _, r := range e.Reasons {
		key := [2]string{cmp.Or(r.Rule, string(r.Code)), e.Effect}
		if t.rules[key] == nil {
			t.rules[key] = &ruleTally{}
		}
		t.rules[key].calls++
		t.rules[key].users.add(e.who())
	}
	if e.Effect == annotary.Ask.String() {
		t.Asked++
		t.prompt(e)
	}
}

// prompt counts a question, unless one yes covers it together with another.
func (t *tally) prompt(e *Entry) {
	each := slices.ContainsFunc(e.Reasons, func(r Reason) bool { return r.Ask != annotary.VerdictAskOnce.String() })
	if each || t.once.add(strings.Join([]string{e.who(), e.Client, e.Conversation, e.Server, e.Tool}, "\x00")) {
		t.Prompts++
	}
}

func (t *tally) blocks() Blocks {
	b := t.Blocks
	b.Users, b.Rules, b.Tools = len(t.users), []RuleCount{}, []ToolCount{}
	for _, key := range slices.SortedFunc(maps.Keys(t.rules), func(x, y [2]string) int {
		return cmp.Or(-cmp.Compare(t.rules[x].calls, t.rules[y].calls), slices.Compare(x[:], y[:]))
	}) {
		b.Rules = append(b.Rules, RuleCount{key[0], key[1], t.rules[key].calls, len(t.rules[key].users)})
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.tools), func(x, y [2]string) int {
		return cmp.Or(-cmp.Compare(t.tools[x], t.tools[y]), slices.Compare(x[:], y[:]))
	}) {
		b.Tools = append(b.Tools, ToolCount{key[0], key[1], t.tools[key]})
	}
	return b
}
