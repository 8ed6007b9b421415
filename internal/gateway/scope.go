package gateway

import (
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
)

// lacking returns the first of these scopes that the principal does not have,
// "" if it has them all.
func lacking(who *annotary.Principal, scopes []string) string {
	for _, s := range scopes {
		if !slices.Contains(who.Scopes, s) {
			return s
		}
	}
	return ""
}

func refusingScope(code annotary.Code, scope string) annotary.Decision {
	d := refusing(code, "the caller lacks the scope "+scope)
	d.Reasons[0].Hint = "give the caller the scope " + scope
	return d
}

// stepUp refuses the matter for want of a scope, and says all that it wants: a
// client asks its issuer once.
func (m *matter) stepUp(scopes []string, missing string) {
	m.wants = scopes
	m.refuse(annotary.CodeStepUp, refusingScope(annotary.CodeStepUp, missing))
	m.fault = &rpc.Fault{Code: rpc.CodeInvalidRequest, Message: "this call wants the scope " + missing, Data: reasonData(m.told)}
}

// wantServerScopes refuses what is no tool to who lacks a scope that the whole
// server wants. That there is a server is no secret, so nothing is hidden.
func (m *matter) wantServerScopes() {
	stance := m.judge.Stances[m.server.Name]
	scopes := stance.ServerScopes()
	if missing := lacking(&m.call.Principal, scopes); missing != "" && m.told == "" {
		m.stepUp(scopes, missing)
	}
}
