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
	return deriveWith(shipped, tools)
}

// Verb returns the word in action position of a name or a title, as [Tools]
// reads it, or "" if there is none.
func Verb(name string) string {
	names := [][]string{splitName(name)}
	server := readServer(names)
	verb, _ := server.findVerb(server.step(names[0]))
	return verb
}

func deriveWith(m model, tools []annotary.Tool) []Claims {
	readings := read(tools)
	all := make([]Claims, len(tools))
	for i := range readings {
		all[i] = readings[i].judge(m)
	}
	return all
}

// judge makes the eight claims of a tool. They rest on the first: a tool that
// changes nothing destroys nothing, can be repeated and needs no way back.
func (r *reading) judge(m model) Claims {
	var v [annotary.NumHints]verdict
	v[annotary.ReadOnly] = r.judgeReadOnly(m)
	switch ro := v[annotary.ReadOnly]; ro.value {
	case annotary.Yes:
		v[annotary.Destructive] = verdict{annotary.No, ro.confidence, "it is read-only: " + ro.why}
	default:
		v[annotary.Destructive] = r.judgeDestructive()
		if d := v[annotary.Destructive]; ro.value == annotary.Unknown && d.value == annotary.Yes {
			v[annotary.ReadOnly] = verdict{annotary.No, d.confidence, d.why}
		}
	}
	v[annotary.Idempotent] = r.judgeIdempotent(v[annotary.ReadOnly])
	v[annotary.OpenWorld] = r.judgeOpenWorld()
	v[annotary.Sensitive] = r.judgeSensitive(v[annotary.ReadOnly])
	v[annotary.Untrusted] = r.judgeUntrusted(v[annotary.ReadOnly])
	v[annotary.Egress] = r.judgeEgress(v[annotary.OpenWorld])
	v[annotary.Reversible] = r.judgeReversible(v[annotary.ReadOnly], v[annotary.Destructive])
	var c Claims
	for n, verdict := range v {
		c[n] = annotary.Claim{
			Hint: annotary.HintName(n), Value: verdict.value, By: annotary.FromDerived,
			Confidence: verdict.confidence, Why: verdict.why,
		}
	}
	return c
}
