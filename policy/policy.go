// Package policy decides: may this call ever happen, and may it happen without
// a person? It is plain Cedar, asked twice.
//
//	Action::"call" (read, prompt, …)   no  → deny
//	Action::"unattended"               no  → ask
//	both yes                           → allow
//	Action::"see"                      whether the tool is listed at all
//	Action::"approve"                  who may say yes, and where
//
// Short rules ([annotary.Rules]) compile to Cedar text that [Set.Text] prints;
// files of the operator's stand beside them. Everything is checked against one
// schema ([Schema]) when it is loaded. A policy that fails to evaluate would be
// skipped by Cedar, a forbid too, so any failure on a decision denies.
//
// The package is pure: it reads no file, clock or network. It is the only one
// that imports Cedar, and no Cedar type shows in its API.
package policy

import (
	"time"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/annotary/annotary"
)

// An Action is what a call asks to do.
type Action string

// The actions that reach an upstream.
const (
	Call     Action = "call"     // tools/call
	Read     Action = "read"     // resources/read
	Prompt   Action = "prompt"   // prompts/get
	Complete Action = "complete" // completion/complete
	Sample   Action = "sample"   // an upstream asks for a model's words
	Elicit   Action = "elicit"   // an upstream asks a person
	Other    Action = "other"    // any other method
)

// The actions of policy itself.
const (
	see        Action = "see"
	unattended Action = "unattended"
	approve    Action = "approve"
)

// A Role is what a person may do with the gateway itself.
type Role Action

// The roles.
const (
	Operate Role = "operate" // look and change
	Audit   Role = "audit"   // read the log
)

// A Request is one question: may this principal do this to that target, with
// these arguments, after what the conversation has seen?
type Request struct {
	Action    Action // if empty, Call
	Who       *Subject
	Target    *Target
	Arguments []byte // a JSON object that passed the strict reader, or nil
	Seen      annotary.Label
	Now       time.Time
}

// Decide answers the request with every reason. Where the claims of a server
// that is not believed changed a hint, it decides with them and without them
// and takes the stricter, so that such a claim can never loosen anything,
// whatever the policies say. A nil or zero Set denies.
func (s *Set) Decide(r *Request) annotary.Decision {
	if s == nil || r.Who == nil || r.Target == nil {
		return deny(annotary.CodeNoPermit, "nothing permits it")
	}
	if r.Action == "" {
		q := *r
		q.Action = Call
		r = &q
	}
	world := s.newWorld(r)
	d := s.decide(r, world, r.Target.entity)
	if r.Target.unclaimed != nil {
		d = d.Stricter(s.decide(r, world, *r.Target.unclaimed))
	}
	return d
}

// Facts returns all that a decision depends on beside principal, target and
// action: requests that are alike in these four are decided alike. It is false
// where some policy could ask for the arguments themselves or for the time.
func (s *Set) Facts(r *Request) (Facts, bool) {
	if s == nil || s.argued || s.timed {
		return Facts{}, false
	}
	return factsOf(r), true
}

// decide asks the three questions about one view of the target. Of the rules
// that hide a tool only forbid(see) is asked here: the others are rules on the
// call itself, which is asked next.
func (s *Set) decide(r *Request, w *world, target types.Entity) annotary.Decision {
	w.resource = target
	if r.Action == Call && s.hides {
		if hidden := s.authorize(see, w, s.hiding(w)); hidden.refuses() {
			return hidden.decision(see)
		}
	}
	may := s.authorize(r.Action, w, s.candidates(r.Action, w))
	if !may.permits() {
		return may.decision(r.Action)
	}
	alone := s.authorize(unattended, w, s.candidates(unattended, w))
	switch {
	case alone.permits():
		return may.decision(r.Action)
	case alone.failed != nil:
		return alone.decision(unattended)
	}
	return asking(alone.decision(unattended))
}

// asking turns a no to "unattended" into a question to a person.
func asking(d annotary.Decision) annotary.Decision {
	for i := range d.Reasons { // where no rule says how, each time
		if d.Reasons[i].Ask == annotary.NoRule {
			d.Reasons[i].Ask = annotary.VerdictAsk
		}
	}
	d.Effect = annotary.Ask
	return d
}

// See says whether the principal may know that the target exists. It depends
// on the two of them only: never on arguments, conversation or time.
func (s *Set) See(who *Subject, target *Target) annotary.Decision {
	if s == nil || who == nil || target == nil {
		return deny(annotary.CodeNoPermit, "nothing permits it")
	}
	w := s.newWorld(&Request{Who: who, Target: target, Seen: annotary.CleanLabel()})
	w.resource = target.entity
	d := s.see(w)
	if target.unclaimed != nil {
		w.resource = *target.unclaimed
		d = d.Stricter(s.see(w))
	}
	return d
}

// see: hidden iff a forbid(see) holds, or a forbid(call) that does not mention
// the context holds, or no permit(call) matches when policies that mention the
// context are judged by their scope alone.
func (s *Set) see(w *world) annotary.Decision {
	if s.hides {
		if hidden := s.authorize(see, w, s.hiding(w)); hidden.refuses() {
			return hidden.decision(see)
		}
	}
	return s.authorize(Call, w, s.withoutContext(w)).decision(Call)
}

// An ApproveRequest asks whether a person may say yes to a call.
type ApproveRequest struct {
	Approver  *Subject
	Requester *Subject
	Channel   Channel
	Target    *Target
	// Asked are the reasons the yes would answer.
	Asked []annotary.Reason
	Now   time.Time
}

// A Channel is where a person says yes.
type Channel string

// The channels.
const (
	ChannelClient  Channel = "client" // the host's own dialogue, over MCP
	ChannelPage    Channel = "page"
	ChannelCLI     Channel = "cli"
	ChannelConsole Channel = "console"
	ChannelWebhook Channel = "webhook"
)

// MayApprove answers the request with its reasons.
func (s *Set) MayApprove(r *ApproveRequest) annotary.Decision {
	if s == nil || r.Approver == nil || r.Requester == nil || r.Target == nil {
		return deny(annotary.CodeNoPermit, "nothing permits it")
	}
	return s.ask(approve, newApproval(r))
}

// MayAct says whether a person has a role over the gateway itself.
func (s *Set) MayAct(who *Subject, role Role) annotary.Decision {
	if s == nil || who == nil {
		return deny(annotary.CodeNoPermit, "nothing permits it")
	}
	return s.ask(Action(role), newOperation(who))
}

// ask puts one plain question.
func (s *Set) ask(a Action, w *world) annotary.Decision {
	return s.authorize(a, w, s.candidates(a, w)).decision(a)
}

func deny(code annotary.Code, text string) annotary.Decision {
	return annotary.Decision{Effect: annotary.Deny, Reasons: []annotary.Reason{{Code: code, Text: text}}}
}
