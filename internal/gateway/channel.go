package gateway

import (
	"context"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/policy"
)

// Desk is where questions are kept, nil where nobody is asked.
func (g *Gateway) Desk() *approval.Desk {
	if judge := g.judge.Load(); judge != nil && judge.Ladder != nil {
		return judge.Ladder.Desk
	}
	return nil
}

// CodeNobodyAsks is said of questions and answers where people are not asked.
const CodeNobodyAsks annotary.Code = "nobody_asks"

// Answer records what a person says about a question, if policy lets this person
// answer it through this channel and the tool is still what was shown.
func (g *Gateway) Answer(ctx context.Context, id string, said approval.Answer) (*approval.Approval, error) {
	desk := g.Desk()
	if desk == nil {
		return nil, annotary.E(CodeNobodyAsks, "this gateway asks nobody", nil).
			WithHint("write 'preset: careful' into the configuration")
	}
	a, err := desk.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := g.revisit(ctx, a)
	if err != nil {
		return nil, err
	}
	if m.tool != nil && said.Yes && m.tool.Behaviour.String() != a.About.Behaviour {
		return nil, annotary.E(annotary.CodeGrantDefinition, "the tool is no longer what was shown", nil).
			WithHint("have the call made again; it will ask anew and say what changed")
	}
	return desk.Answer(ctx, id, said, m.mayApprove)
}

// MayAnswer reports whether policy lets a person say yes to a question through a
// channel, as things are now.
func (g *Gateway) MayAnswer(ctx context.Context, a *approval.Approval, who *annotary.Principal, channel policy.Channel) bool {
	m, err := g.revisit(ctx, a)
	return err == nil && m.mayApprove(who, string(channel), a.Why()).Effect == annotary.Allow
}

// revisit finds out what a question is about as it is now.
func (g *Gateway) revisit(ctx context.Context, a *approval.Approval) (*matter, error) {
	server, judge, err := g.judging(a.About.Server)
	if err != nil {
		return nil, err
	}
	defer server.Release()
	who := a.Requester.Principal()
	m := &matter{judge: judge, server: server, call: &Call{Principal: who}, who: judge.subject(&who), began: judge.now()}
	action := actions[a.About.Method]
	if action != policy.Call {
		m.hints = annotary.Pessimistic()
		kind, ok := kinds[action]
		if ok {
			m.reads("the protocol calls it a read")
		} else {
			kind = policy.Method
		}
		m.aim(kind, a.About.Tool)
		return m, nil
	}
	if m.tool, err = judge.tool(ctx, server, a.About.Tool); err != nil {
		return nil, err
	}
	if m.tool == nil {
		return nil, annotary.E(annotary.CodeUnknownTool, "the server no longer has this tool", nil)
	}
	m.target = m.tool.Target()
	return m, nil
}
