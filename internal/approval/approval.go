// Package approval keeps the questions that people are asked about calls, and
// what they answered.
//
// A [Desk] is where calls and people meet. The line asks it what stands about a
// call ([Desk.Spend]): a yes that covers it, a no that holds, or nothing; then it
// opens a question ([Desk.Open]). People see what is open ([Desk.List],
// [Desk.Watch]) and answer ([Desk.Answer]), whatever the channel.
//
//	open ─▶ approved ─▶ spent        a yes for once
//	  │        └─ a Grant            a wider yes
//	  ├──▶ denied                    holds for its binding for an hour
//	  └──▶ expired
//
// A yes means one thing: it is bound to who asked, the server, the tool as it
// behaves, the arguments and the reasons that were shown, and counts only where
// all of them are the same again ([Grant.Covers]). Every change of state is a
// compare-and-set in the store, so that of two who spend one yes, on whichever
// replica, one gets it; reads may be old without harm, because what is read never
// lets a call through by itself unless it is a standing grant.
//
// The package decides about nobody: who may answer is for the caller to find out
// ([May]). It knows no channel.
package approval

import (
	"cmp"
	"slices"
	"time"

	"github.com/annotary/annotary"
)

// A State is how far a question has come.
type State string

// The states. The zero State is none: what has it does not exist.
const (
	Open     State = "open"
	Approved State = "approved" // and not used yet, or a grant
	Denied   State = "denied"
	Expired  State = "expired" // nobody answered in time
	Spent    State = "spent"   // its one use is over
)

// A Person is a principal as it is remembered.
type Person struct {
	Tenant   string   `json:"tenant"`
	Issuer   string   `json:"issuer,omitempty"`
	Subject  string   `json:"subject"`
	Client   string   `json:"client,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Profiles []string `json:"profiles,omitempty"`
}

// PersonOf remembers a principal.
func PersonOf(p *annotary.Principal) Person {
	return Person{p.Tenant, p.Issuer, p.Subject, p.Client, p.Groups, p.Profiles}
}

// Principal returns who is remembered.
func (p *Person) Principal() annotary.Principal {
	return annotary.Principal{
		Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject, Client: p.Client, Groups: p.Groups, Profiles: p.Profiles,
	}
}

// ID names the person within everything.
func (p *Person) ID() string {
	principal := p.Principal()
	return principal.ID()
}

// A Reason is why a person is asked.
type Reason struct {
	Code annotary.Code    `json:"code"`
	Rule string           `json:"rule,omitempty"`
	Text string           `json:"text"`
	Hint string           `json:"hint,omitempty"`
	Ask  annotary.Verdict `json:"ask,omitempty"`
	// Key names the reason for good: the same rule with other words in it has
	// another.
	Key string `json:"key"`
}

// ReasonsOf remembers the reasons of a decision, each once.
func ReasonsOf(d []annotary.Reason) []Reason {
	var out []Reason
	for _, r := range d {
		key := string(r.Code) + " " + r.Rule + " " + r.Version
		if !slices.ContainsFunc(out, func(o Reason) bool { return o.Key == key }) {
			out = append(out, Reason{r.Code, r.Rule, r.Text, r.Hint, r.Ask, key})
		}
	}
	return out
}

// Why returns the reasons for which a person is asked, as policies know them.
func (a *Approval) Why() []annotary.Reason { return decisionReasons(a.Reasons) }

// decisionReasons returns the reasons as policies know them.
func decisionReasons(rs []Reason) []annotary.Reason {
	out := make([]annotary.Reason, len(rs))
	for i, r := range rs {
		out[i] = annotary.Reason{Code: r.Code, Rule: r.Rule, Text: r.Text, Hint: r.Hint, Ask: r.Ask}
	}
	return out
}

func keys(rs []Reason) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.Key
	}
	return out
}

// Answers reports whether the keys cover every reason.
func Answers(keys []string, rs []Reason) bool {
	for _, r := range rs {
		if !slices.Contains(keys, r.Key) {
			return false
		}
	}
	return true
}

// Usual is how far a yes goes that says nothing of it: as far as the rules ask.
func (a *Approval) Usual() ScopeKind {
	if AsksOnce(a.Reasons) {
		return Conversation
	}
	return Once
}

// AsksOnce reports whether one yes is to cover the tool for the conversation.
func AsksOnce(rs []Reason) bool {
	return len(rs) > 0 && !slices.ContainsFunc(rs, func(r Reason) bool { return r.Ask != annotary.VerdictAskOnce })
}

func hasTrifecta(rs []Reason) bool {
	return slices.ContainsFunc(rs, func(r Reason) bool { return r.Code == annotary.CodeTrifecta })
}

// An Approval is one question and what became of it.
type Approval struct {
	ID    string    `json:"id"`
	State State     `json:"state"`
	Asked time.Time `json:"asked"`
	// Expires is when the question, or a yes that was not used, comes to nothing.
	Expires time.Time `json:"expires"`

	Requester    Person            `json:"requester"`
	Conversation string            `json:"conversation"`
	Call         string            `json:"call"` // the first call it was asked for
	About        About             `json:"about"`
	Leaves       map[string]string `json:"leaves,omitempty"` // of the arguments, as digests
	Destination  string            `json:"destination"`
	Reasons      []Reason          `json:"reasons"`
	Prompt       Prompt            `json:"prompt"`

	Answer *Answer `json:"answer,omitempty"`
	// SpentBy is the call that used the yes up.
	SpentBy string     `json:"spentBy,omitempty"`
	SpentAt *time.Time `json:"spentAt,omitempty"`
	// Revoked is when the grant it became was taken back.
	Revoked time.Time `json:"revoked,omitzero"`
}

// An Answer is what a person said.
type Answer struct {
	Yes     bool      `json:"yes"`
	By      Person    `json:"by"`
	Channel string    `json:"channel"`
	At      time.Time `json:"at"`
	// Scope of a yes.
	Scope Scope `json:"scope"`
	// Note is what the person said with it; for a no, the caller hears it.
	Note string `json:"note,omitempty"`
}

// DenialHolds is how long a no holds for exactly this call.
const DenialHolds = time.Hour

// At returns the state at a time: what nobody answered or used has expired.
func (a *Approval) At(now time.Time) State {
	waits := a.State == Open || (a.State == Approved && a.Answer != nil && a.Answer.Scope.Kind == Once)
	if waits && !now.Before(a.Expires) {
		return Expired
	}
	return a.State
}

// denies reports whether the question was answered with a no that still holds.
func (a *Approval) denies(now time.Time) bool {
	return a.State == Denied && a.Answer != nil && now.Before(a.Answer.At.Add(DenialHolds))
}

// asksFor reports whether a question that is open is the one the call would ask.
func (a *Approval) asksFor(r *Request) bool {
	return a.About == r.About && Answers(keys(a.Reasons), r.Reasons)
}

// Sort orders approvals by when they were asked, the oldest first.
func Sort(as []*Approval) {
	slices.SortFunc(as, func(x, y *Approval) int { return cmp.Or(x.Asked.Compare(y.Asked), cmp.Compare(x.ID, y.ID)) })
}
