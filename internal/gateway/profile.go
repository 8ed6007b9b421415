package gateway

import (
	"context"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/policy"
)

// A Profile is a named set of callers, and the servers that are theirs alone.
type Profile struct {
	Name          string
	Users, Groups []string
	Servers       []string
	// Rules hold for its members instead of those for everybody; nil if it has none
	// of its own. Policies judge by them; models are told by these.
	Rules *annotary.Rules
}

// Has reports whether the principal is in the profile.
func (p *Profile) Has(who *annotary.Principal) bool {
	return slices.Contains(p.Users, who.Subject) ||
		slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(who.Groups, g) })
}

// subject prepares a principal for the policies, with the profiles it is in.
func (j *Judge) subject(who *annotary.Principal) *policy.Subject {
	return j.callers.subject(who, func() *policy.Subject { return j.enrol(who) })
}

func (j *Judge) enrol(who *annotary.Principal) *policy.Subject {
	if len(j.Profiles) == 0 {
		return policy.NewSubject(who)
	}
	enrolled := *who
	enrolled.Profiles = j.profiles(who)
	return policy.NewSubject(&enrolled)
}

// profiles are the names of those the principal is in.
func (j *Judge) profiles(who *annotary.Principal) []string {
	var names []string
	for _, p := range j.Profiles {
		if p.Has(who) {
			names = append(names, p.Name)
		}
	}
	return names
}

// bars reports whether a server is for other profiles than those the principal
// is in.
func (j *Judge) bars(who *annotary.Principal, server string) bool {
	claimed := false
	for _, p := range j.Profiles {
		if slices.Contains(p.Servers, server) {
			if claimed = true; p.Has(who) {
				return false
			}
		}
	}
	return claimed
}

// errNoServer is said of a name nobody configured, and of a server that is for
// others.
func errNoServer() error {
	return annotary.E(CodeUnknownServer, "there is no server of this name", nil)
}

func barring() annotary.Decision {
	d := refusing(annotary.CodeProfile, "the server is for profiles that the caller is not in")
	d.Reasons[0].Hint = "add the caller to one of them"
	return d
}

// bar refuses the matter: to this caller the server does not exist.
func (m *matter) bar() {
	m.begin(m.call.Message.Method)
	name, _ := m.call.Message.Target()
	m.entry.Tool = recorded(name)
	m.see = barring()
	m.refuse(CodeUnknownServer, m.see)
}

// absent answers a message to a server that is for others exactly like one to a
// server that is not there. What would have been judged is recorded; nil is what
// would not.
func (m *matter) absent(ctx context.Context) error {
	if m == nil {
		return errNoServer()
	}
	m.bar()
	m.decide()
	if err := m.record(ctx)(); err == nil {
		m.finish(audit.Refused, annotary.CodeProfile, 0)
	}
	return errNoServer()
}
