package approval

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/annotary/annotary"
)

// A ScopeKind is how long a yes lasts.
type ScopeKind string

// The scopes of a yes. The zero ScopeKind is the one the reasons ask for: the
// conversation where every rule asks once, else once.
const (
	Once         ScopeKind = "once"         // this call, one time
	Conversation ScopeKind = "conversation" // this tool, while the conversation lasts
	Until        ScopeKind = "until"        // these arguments or a pattern, until a time
	Unchanged    ScopeKind = "unchanged"    // these arguments or a pattern, until the definition changes
)

// A Scope is how far a yes goes.
type Scope struct {
	Kind ScopeKind `json:"kind,omitempty"`
	// Until is the end of a yes until a time.
	Until time.Time `json:"until,omitzero"`
	// Pattern says which arguments may differ; empty means none may.
	Pattern Pattern `json:"pattern,omitempty"`
}

// MaxUntil is the longest time a yes can be given for.
const MaxUntil = 30 * 24 * time.Hour

// IdleWindow is how long a conversation is taken to last without a call.
const IdleWindow = 8 * time.Hour

// settle makes the scope definite for a question, or says why it cannot be given.
func (s Scope) settle(a *Approval, now time.Time) (Scope, error) {
	if s.Kind == "" {
		s.Kind = a.Usual()
	}
	wide := func(text string, args ...any) (Scope, error) {
		return s, annotary.E(annotary.CodeScopeTooWide, fmt.Sprintf(text, args...), nil)
	}
	switch s.Kind {
	case Once, Conversation:
		if len(s.Pattern) > 0 {
			return wide("a pattern needs a time, or 'until changed'")
		}
	case Until:
		if !s.Until.After(now) || s.Until.After(now.Add(MaxUntil)) {
			return wide("a yes lasts at most %d days from now", int(MaxUntil.Hours()/24))
		}
	case Unchanged:
	default:
		return wide("there is no scope %q", string(s.Kind))
	}
	if s.Kind != Until {
		s.Until = time.Time{}
	}
	if hasTrifecta(a.Reasons) && s.Kind != Once && s.Kind != Conversation {
		return wide("what may carry out what the conversation has seen is answered once, or for this conversation and destination")
	}
	if len(s.Pattern) > 0 {
		if err := s.Pattern.check(a.Leaves); err != nil {
			return wide("%v", err)
		}
	}
	return s, nil
}

// A Grant is a person's yes that covers more than one call.
type Grant struct {
	ID        string `json:"id"` // of the approval it came from
	Principal Person `json:"principal"`
	About     About  `json:"about"` // its arguments count where nothing below is said
	Title     string `json:"title"`
	// AnyArguments covers the tool, whatever the arguments.
	AnyArguments bool              `json:"anyArguments,omitempty"`
	Pattern      Pattern           `json:"pattern,omitempty"`
	Leaves       map[string]string `json:"leaves,omitempty"` // of the arguments, where there is a pattern
	// Destination is where it must go, where the grant answers a trifecta reason.
	Destination  string            `json:"destination,omitempty"`
	Answers      []string          `json:"answers"` // the keys of the reasons
	Conversation string            `json:"conversation,omitempty"`
	Expires      time.Time         `json:"expires,omitzero"`
	Parts        map[string]string `json:"parts,omitempty"`

	By      Person    `json:"by"`
	Channel string    `json:"channel"`
	Given   time.Time `json:"given"`
	Used    time.Time `json:"used"` // at most a quarter window out of date
	Revoked time.Time `json:"revoked,omitzero"`
}

// grantOf makes the grant of a yes that is wider than once.
func grantOf(a *Approval) Grant {
	s := a.Answer.Scope
	g := Grant{
		ID: a.ID, Principal: a.Requester, About: a.About, Title: a.Prompt.Title,
		Answers: keys(a.Reasons), Parts: a.Prompt.Parts,
		By: a.Answer.By, Channel: a.Answer.Channel, Given: a.Answer.At, Used: a.Answer.At,
		Expires: s.Until, Pattern: s.Pattern, Revoked: a.Revoked,
	}
	if len(s.Pattern) > 0 {
		g.Leaves = a.Leaves
	}
	if s.Kind == Conversation {
		g.Conversation, g.AnyArguments = a.Conversation, true
		if hasTrifecta(a.Reasons) {
			g.Destination = a.Destination
		}
	}
	return g
}

// A Gap is why an earlier yes does not count.
type Gap struct {
	ID   string        `json:"id"` // of the grant or approval
	Code annotary.Code `json:"code"`
	// Changed names what is different in the definition.
	Changed []string `json:"changed,omitempty"`
}

// Covers reports whether the grant covers the call now, and if not, why.
func (g *Grant) Covers(r *Request, now time.Time) (bool, Gap) {
	gap := Gap{ID: g.ID}
	switch {
	case g.Principal.ID() != r.Principal.ID(), g.Principal.Client != r.Principal.Client,
		g.About.Server != r.About.Server, g.About.Method != r.About.Method, g.About.Tool != r.About.Tool, g.About.Extra != r.About.Extra:
		gap.Code = annotary.CodeGrantArguments
	case !g.Revoked.IsZero():
		gap.Code = annotary.CodeGrantRevoked
	case !g.Live(now):
		gap.Code = annotary.CodeGrantExpired
	case g.About.Behaviour != r.About.Behaviour:
		gap.Code, gap.Changed = annotary.CodeGrantDefinition, changed(g.Parts, r.Parts)
	case g.Conversation != "" && g.Conversation != r.Conversation:
		gap.Code = annotary.CodeGrantConversation
	case !g.coversArguments(r):
		gap.Code = annotary.CodeGrantArguments
	case !Answers(g.Answers, r.Reasons), hasTrifecta(r.Reasons) && !g.coversTrifecta(r):
		gap.Code = annotary.CodeGrantReasons
	case !r.May.allows(&g.By, g.Channel, r.Reasons):
		gap.Code = annotary.CodeGrantApprover
	default:
		return true, gap
	}
	return false, gap
}

// Live reports whether the grant has neither expired nor been revoked. One for a
// conversation ends when it was not used for as long as a conversation may be
// silent.
func (g *Grant) Live(now time.Time) bool {
	switch {
	case !g.Revoked.IsZero():
		return false
	case g.Conversation != "":
		return now.Sub(g.Used) < IdleWindow
	default:
		return g.Expires.IsZero() || now.Before(g.Expires)
	}
}

func (g *Grant) coversArguments(r *Request) bool {
	switch {
	case g.AnyArguments:
		return true
	case len(g.Pattern) > 0:
		return g.Pattern.fits(g.Leaves, r.Arguments)
	default:
		return g.About.Arguments == r.About.Arguments
	}
}

// coversTrifecta: only what was given for this conversation and this destination.
func (g *Grant) coversTrifecta(r *Request) bool {
	return g.Conversation != "" && g.Destination != "" && g.Destination == Destination(r.About.Server, r.Arguments)
}

// changed names the parts that differ, and how.
func changed(was, is map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		switch old, ok := was[name]; {
		case !ok:
			out = append(out, name+" (new)")
		case old != is[name] && plain(old) && plain(is[name]):
			out = append(out, fmt.Sprintf("%s (%s → %s)", name, old, is[name]))
		case old != is[name]:
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			out = append(out, name+" (gone)")
		}
	}
	return out
}

// plain reports whether a part is a word of ours, not a digest.
func plain(s string) bool { return s == "true" || s == "false" || s == "unknown" }
