package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"github.com/annotary/annotary"
)

// An answer is what all policies on one question said. Cedar asks every one,
// even after the first forbid, so every reason and every failure is known.
type answer struct {
	yes    bool
	why    []*compiled // the forbids, else the permits
	failed []annotary.Reason
}

// permits: nothing failed, nothing forbids, something permits.
func (a answer) permits() bool { return a.yes && a.failed == nil }

// refuses: something failed or forbids; the mere lack of a permit does not.
func (a answer) refuses() bool { return a.failed != nil || (!a.yes && len(a.why) > 0) }

// authorize puts a question to the given policies.
func (s *Set) authorize(a Action, w *world, policies policies) answer {
	decision, diag := cedar.Authorize(policies, w, types.Request{
		Principal: w.principal.UID, Action: actionUIDs[a], Resource: w.resource.UID, Context: w.context,
	})
	out := answer{yes: decision == types.Allow}
	for _, r := range diag.Reasons {
		out.why = append(out.why, s.byID[r.PolicyID])
	}
	for _, e := range diag.Errors {
		p := s.byID[e.PolicyID]
		out.failed = append(out.failed, annotary.Reason{
			Code: annotary.CodePolicyError, Rule: p.id, At: p.at,
			Text: "the policy could not be evaluated: " + e.Message,
		})
	}
	return out
}

// decision: a failure denies, then a forbid, then the lack of a permit.
func (a answer) decision(action Action) annotary.Decision {
	switch {
	case a.failed != nil:
		return annotary.Decision{Reasons: a.failed}
	case len(a.why) == 0:
		return deny(annotary.CodeNoPermit, fmt.Sprintf("no policy permits %s", action))
	}
	d := annotary.Decision{Reasons: make([]annotary.Reason, len(a.why))}
	if a.yes {
		d.Effect = annotary.Allow
	}
	for i, p := range a.why {
		d.Reasons[i] = p.reason
	}
	slices.SortStableFunc(d.Reasons, func(x, y annotary.Reason) int {
		return cmp.Or(cmp.Compare(x.At.File, y.At.File), cmp.Compare(x.At.Line, y.At.Line))
	})
	return d
}
