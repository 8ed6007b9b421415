// Package agent is for builders of agents and MCP clients: it turns the calls a
// model wants to make into a plan — what may run at once, what must be asked and
// in which words, what may be retried, what must not happen — from the effective
// hints of the tools and the short rules.
//
//	model's calls ─ Plan(tools, rules, seen, calls) ─▶ []Step
//	each Step:    deny │ ask with these words │ run, together with its group
//	each result:  seen = After(seen, step.Tool, LabelOf(result))
//
// Missing hints count as the specification's pessimistic defaults. The plan is
// advice to your own loop: it keeps an honest loop safe, it does not stop a
// process that goes around it. Package agent calls no tool and keeps no state; a
// yes for the rest of a conversation (ask_once) is yours to remember.
package agent

import (
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// A Call is what a model wants to do.
type Call struct {
	Server    string // may be empty if only one server has the tool
	Tool      string
	Arguments []byte // a JSON object; empty is {}
}

// A Step is one call of a plan.
type Step struct {
	Call Call
	// Tool is the one of the given tools that the call means, nil if there
	// is none or more than one.
	Tool *annotary.Entry
	// Verdict is what the rules say; Reasons are all that stands in the way
	// of a plain yes.
	Verdict annotary.Verdict
	Reasons []annotary.Reason
	// Group says what may run at the same time: steps of one group may, and
	// a group runs when the one before it is done. A step that is denied is
	// in group 0; groups count from 1.
	Group int
	// RetrySafe says that a call which failed on its way may be sent again.
	RetrySafe bool
	// Trifecta says that the conversation has seen private data and
	// strangers' words, and that this call may carry them out.
	Trifecta bool
	// Confirm is the question for a person. It is empty for reads that need
	// no yes, and for what is denied. For a write that the rules allow it
	// says what is about to happen.
	Confirm string
}

// Ask reports whether a person must say yes before the call runs.
func (s *Step) Ask() bool { return s.Verdict.Effect() == annotary.Ask }

// Plan judges the calls of one turn of the model, in their order. All of them
// were chosen before any of their results was seen, so they are all judged by
// what the conversation has seen so far. A rule that lets a profile pass lets
// nobody pass here: profiles are the gateway's.
func Plan(tools []annotary.Entry, rules annotary.Rules, seen annotary.Label, calls []Call) []Step {
	steps := make([]Step, len(calls))
	group, concurrent := 0, false
	for i, c := range calls {
		tool, refused := resolve(tools, c)
		if refused != nil {
			steps[i] = Step{Call: c, Tool: tool, Verdict: annotary.VerdictDeny, Reasons: []annotary.Reason{*refused}}
			continue
		}
		s := judge(tool, rules, seen, c)
		if s.Verdict != annotary.VerdictDeny {
			// Only neighbours share a group: a read behind a write may
			// be there to see what was written.
			reads := tool.Hints.Vouched(annotary.ReadOnly)
			if !reads || !concurrent {
				group++
			}
			concurrent = reads
			s.Group = group
		}
		steps[i] = s
	}
	return steps
}

func judge(tool *annotary.Entry, rules annotary.Rules, seen annotary.Label, c Call) Step {
	j := rules.Judge(&tool.Hints, seen)
	s := Step{
		Call:      c,
		Tool:      tool,
		Verdict:   j.Verdict,
		Reasons:   j.Reasons,
		RetrySafe: tool.Hints.Vouched(annotary.ReadOnly) || tool.Hints.Vouched(annotary.Idempotent),
		Trifecta:  seen.Both() && tool.Hints.MayLeave(),
	}
	if j.Verdict != annotary.VerdictDeny {
		s.Confirm = confirmation(tool, &s)
	}
	return s
}

// resolve finds the tool a call means, and says why it must not run, if so: there
// is no such tool, two servers have one, or its arguments cannot be relied on.
func resolve(tools []annotary.Entry, c Call) (*annotary.Entry, *annotary.Reason) {
	var found *annotary.Entry
	for i := range tools {
		t := &tools[i]
		if t.Name != c.Tool || c.Server != "" && t.Server != c.Server {
			continue
		}
		if found != nil {
			return nil, &annotary.Reason{Code: annotary.CodeUnknownTool, Text: "several servers have a tool of this name: name the server"}
		}
		found = t
	}
	if found == nil {
		return nil, &annotary.Reason{Code: annotary.CodeUnknownTool, Text: "there is no tool of this name"}
	}
	if len(c.Arguments) == 0 {
		return found, nil
	}
	if err := strict.Check(c.Arguments, strict.Limits{}); err != nil || strict.KindOf(c.Arguments) != strict.Object {
		return found, &annotary.Reason{Code: annotary.CodeInvalid, Text: "the arguments are not one JSON object"}
	}
	if err := strict.Unambiguous(c.Arguments); err != nil {
		return found, &annotary.Reason{Code: annotary.CodeAmbiguous, Text: fmt.Sprintf("the arguments are ambiguous: %v", err)}
	}
	return found, nil
}
