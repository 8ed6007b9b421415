package gateway

import "github.com/annotary/annotary"

// A Verdict is a prediction as the caller itself may know it: what a call of its
// own would be answered with, and no more.
type Verdict struct {
	Effect string `json:"effect"` // allow, ask or deny
	// Code is what a refused call hears; empty if it would go through.
	Code    annotary.Code   `json:"code,omitempty"`
	Reasons []VerdictReason `json:"reasons"`
	// Scopes are what to ask the issuer for first.
	Scopes []string `json:"scopes,omitempty"`
}

// A VerdictReason is one rule's part in a verdict.
type VerdictReason struct {
	Code annotary.Code `json:"code"`
	Rule string        `json:"rule,omitempty"`
	Text string        `json:"text"`
	Hint string        `json:"hint,omitempty"`
}

// Verdict says what the caller may know. What is hidden from it and what is not
// there are one and the same; so is a server that is for others.
func (p *Prediction) Verdict() (Verdict, error) {
	v := Verdict{Effect: annotary.Deny.String(), Code: p.Told, Reasons: []VerdictReason{}, Scopes: p.Scopes}
	switch p.Told {
	case "":
		v.Effect = annotary.Allow.String()
		return v, nil
	case CodeUnknownServer:
		return v, errNoServer()
	case annotary.CodeUnknownTool:
		v.Reasons = []VerdictReason{{Code: p.Told, Text: "the server has no tool of this name"}}
		return v, nil
	case annotary.CodeApproval:
		v.Effect = annotary.Ask.String()
	default: // all else is refused
	}
	for _, r := range p.Call.Reasons {
		v.Reasons = append(v.Reasons, VerdictReason{r.Code, r.Rule, r.Text, r.Hint})
	}
	return v, nil
}
