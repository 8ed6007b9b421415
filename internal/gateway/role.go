package gateway

import (
	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

// MayAct says whether somebody has a role over the gateway itself. Where nothing
// is judged, nobody has.
func (g *Gateway) MayAct(who *annotary.Principal, role policy.Role) annotary.Decision {
	judge := g.judge.Load()
	if judge == nil {
		return refusing(annotary.CodeNoPermit, "nothing permits it")
	}
	return judge.Policies.MayAct(judge.subject(who), role)
}
