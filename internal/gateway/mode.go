package gateway

import (
	"slices"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/policy"
)

// The modes stand around the policies. A kill and the read-only mode come before
// them and nothing relaxes those; observing comes after them and relaxes what
// they said, and nothing else.

func (j *Judge) now() time.Time {
	if j.Now != nil {
		return j.Now()
	}
	return time.Now()
}

// absences are what a caller hears of what is not there for it.
var absences = []annotary.Code{annotary.CodeUnknownTool, annotary.CodeUnknownMethod, CodeUnknownServer}

// restrain refuses what the operator stopped, and what is no read where only
// reads are served, before anything is said of the arguments. What is absent for
// the caller stays so.
func (m *matter) restrain() {
	if slices.Contains(absences, m.told) {
		return
	}
	if k := m.judge.Kills.on(m.server.Name, m.toolName(), m.call.Principal.Subject); k != nil {
		m.refuse(annotary.CodeKilled, k.decision())
		m.fault, m.wants = nil, nil
	} else if m.judge.readOnly(m.call) && !m.hints.Vouched(annotary.ReadOnly) {
		m.refuse(annotary.CodeReadOnly, refusing(annotary.CodeReadOnly, "nobody vouches that it changes nothing"))
		m.fault, m.wants = nil, nil
	}
}

// readOnly reports whether only reads are served to this caller here.
func (j *Judge) readOnly(c *Call) bool { return j.ReadOnly || c.ReadOnly }

// observing reports whether policies decide without blocking at this time.
func (j *Judge) observing(now time.Time) bool { return j.Policies != nil && now.Before(j.Observe) }

// unobserved are the reasons that hide a tool without a policy.
var unobserved = []annotary.Code{annotary.CodeUnknownTool, annotary.CodeScope, annotary.CodeProfile, annotary.CodeAppOnly}

// hides reports whether a tool is not to be known to the caller now. While
// policies are only observed they hide nothing; what does not exist, and what the
// caller was given no scope for, stays hidden.
func (j *Judge) hides(see annotary.Decision, now time.Time) bool {
	if see.Effect == annotary.Allow || !j.observing(now) {
		return see.Effect != annotary.Allow
	}
	return slices.ContainsFunc(see.Reasons, func(r annotary.Reason) bool {
		return slices.Contains(unobserved, r.Code)
	})
}

// observe lets a call pass that policies would have blocked, and marks its entry.
func (m *matter) observe() {
	if m.told == "" || !m.judge.observing(m.began) {
		return
	}
	m.observed, m.told = m.told, ""
	if m.tool != nil && m.see.Effect != annotary.Allow {
		m.observed = annotary.CodeUnknownTool
	}
	m.entry.Observe = true
}

// offers reports whether the caller is shown the tool. Where only reads are
// served, what can never be called is left out; who calls it all the same is
// told why, since the caller may know of it.
func (j *Judge) offers(c *Call, who *policy.Subject, t *catalog.Tool) bool {
	return !j.hides(j.seeThrough(c, who, t), j.now()) && (!j.readOnly(c) || t.MayRead())
}
