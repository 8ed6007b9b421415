// Package derive reads off a tool's definition what the tool does to the world.
//
// [Tools] takes the definitions of one server and makes a claim for each of
// the eight hints of each tool: a value, how sure it is of it, and why in a
// sentence a person understands. Unknown is an answer. It looks at the name (in
// any casing, with the product's prefix stepped over), at the verb in the place
// where the name has its action, at the title, the description, the schemas and
// at the rest of the server. It does not look at the tool's annotations: what a
// server says of its tools is a claim of its own.
//
// A description alone never makes a tool read-only. Words are cheap, so it may
// confirm what name and schema say, or speak against it. What a tool is about
// (a secret, a message) says nothing about what it does.
//
// The package is pure: no clock, file or network, and the same tools give the
// same claims. It proposes; it vouches for nothing (see [annotary.Resolve]).
package derive

import "github.com/annotary/annotary"

// Claims are what was derived for one tool, indexed by hint. Every claim has a
// reason; where nothing could be told its value is Unknown and its confidence
// zero.
type Claims [annotary.NumHints]annotary.Claim

// Tools derives claims for all tools of one server, in their order. The server
// as a whole is context: what all names share is no evidence about one.
func Tools(tools []annotary.Tool) []Claims {
	readings := read(tools)
	all := make([]Claims, len(tools))
	for i := range readings {
		all[i] = judge(&readings[i])
	}
	return all
}

// judge makes the eight claims of a tool.
func judge(r *reading) Claims {
	var c Claims
	for n := range c {
		c[n] = annotary.Claim{Hint: annotary.HintName(n), By: annotary.FromDerived, Why: "nothing in the definition says"}
	}
	judgeByVerb(r, &c)
	return c
}

func (c *Claims) say(n annotary.HintName, v annotary.Value, confidence float64, why string) {
	c[n].Value, c[n].Confidence, c[n].Why = v, confidence, why
}

func judgeByVerb(r *reading, c *Claims) {
	if r.verb == "" {
		return
	}
	why := "its name has the verb '" + r.verb + "', which " + deeds[r.kind]
	if r.kind.reads() {
		c.say(annotary.ReadOnly, annotary.Yes, 0.9, why)
		c.say(annotary.Destructive, annotary.No, 0.9, why)
		c.say(annotary.Idempotent, annotary.Yes, 0.8, why)
		return
	}
	c.say(annotary.ReadOnly, annotary.No, 0.9, why)
	switch r.kind {
	case destroy:
		c.say(annotary.Destructive, annotary.Yes, 0.9, why)
	case add, put:
		c.say(annotary.Destructive, annotary.No, 0.7, why)
	}
}
