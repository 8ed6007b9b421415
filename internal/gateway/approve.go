package gateway

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/seal"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// A Ladder is how people are asked about calls. The first rung that holds is
// taken: a yes that was given before; the client's own dialogue, where policy
// lets the client answer; a page the client can open; and, for who can do none of
// it, an answer at once that says how a person can approve.
type Ladder struct {
	Desk   *approval.Desk
	Sealer *seal.Sealer
	// Wait is how long a call is held for a person where the client can be asked
	// in no other way. If zero, 55 s: many clients give up after a minute.
	Wait time.Duration
	// Link is the address of the page for a question, empty where there is none.
	// If nil, there is none for any.
	Link func(id string) string
}

const defaultWait = 55 * time.Second

func (l *Ladder) wait() time.Duration {
	if l.Wait == 0 {
		return defaultWait
	}
	return l.Wait
}

func (l *Ladder) link(id string) string {
	if l.Link == nil {
		return ""
	}
	return l.Link(id)
}

// approve is the stage between the decision and its record: where policies want a
// person, a yes that covers the call is used, and the call is let through; without
// one a person is asked. It returns the question as the client is to get it, nil
// if the client is told by a refusal, or nothing is asked.
func (g *Gateway) approve(ctx context.Context, m *matter) (*upstream.Answer, error) {
	ladder, token := m.judge.Ladder, m.token()
	if ladder == nil || m.call.Message.Kind != rpc.Request || (m.told != "" && !m.asks()) ||
		(m.told == "" && token == "" && m.call.refused == nil) {
		return nil, nil
	}
	defer m.noteDecision()
	r, err := m.request()
	if err != nil {
		return nil, err
	}
	if token != "" {
		if err := m.resume(ctx, token, r); err != nil {
			return nil, err
		}
	}
	if m.call.refused != nil {
		m.refuseWith(m.call.refused)
	}
	if !m.asks() {
		return nil, nil
	}
	standing, err := ladder.Desk.Spend(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case standing.Yes != nil:
		m.pass(standing.Yes)
		return nil, nil
	case standing.Denied != nil:
		m.denied(standing.Denied)
		return nil, nil
	}
	return g.ask(ctx, m, r, &standing)
}

// asks reports whether the call waits for a person's yes.
func (m *matter) asks() bool {
	return m.told == annotary.CodeApproval && m.decision.Effect == annotary.Ask
}

// pass lets the call happen: the reasons against it stay, and who answered them
// stands beside them.
func (m *matter) pass(y *approval.Yes) {
	m.yes, m.told, m.decision.Effect = y, "", annotary.Allow
	m.entry.Approval, m.entry.Grant = y.Approval, y.Grant
	m.entry.ApprovedBy, m.entry.Channel = y.By.ID(), y.Channel
}

const saidNo = "a person said no to exactly this call"

// denied refuses a call that a person said no to.
func (m *matter) denied(a *approval.Approval) {
	text := saidNo
	if a.Answer.Note != "" {
		text += ": " + approval.Line(a.Answer.Note)
	}
	m.entry.Approval = a.ID
	m.entry.ApprovedBy, m.entry.Channel = a.Answer.By.ID(), a.Answer.Channel
	m.refuse(annotary.CodeApprovalNo, refusing(annotary.CodeApprovalNo, text))
}

// refuseWith refuses the call for what is wrong with what came with it.
func (m *matter) refuseWith(err error) {
	code := annotary.CodeOf(err)
	d := refusing(code, err.Error())
	if e, ok := errors.AsType[*annotary.Error](err); ok {
		d.Reasons[0].Hint = e.Hint
	}
	m.refuse(code, d)
}

// request is the call as a question to a person. What the client adds for us, and
// what it must repeat differently each time, is no part of it.
func (m *matter) request() (*approval.Request, error) {
	msg := &m.call.Message
	about := approval.About{Server: m.server.Name, Method: msg.Method, Tool: targetOf(msg), Arguments: m.entry.ArgumentsDigest}
	if about.Tool == "" {
		about.Tool = msg.Method
	}
	rest := m.params()
	if strict.KindOf(rest) == strict.Object {
		sum, err := strict.Sum(rest)
		if err != nil {
			return nil, err
		}
		about.Extra = sum.String()
	}
	r := &approval.Request{
		Principal: m.call.Principal, Conversation: Owner(&m.call.Principal), Call: m.entry.Call,
		Arguments: m.arguments(), Reasons: approval.ReasonsOf(m.decision.Reasons), May: m.mayApprove,
	}
	if !rpc.Named(msg.Method) {
		r.Arguments = rest // its params are all that it says
	}
	if m.tool != nil {
		about.Behaviour, r.Parts = m.tool.Behaviour.String(), m.tool.Parts()
	} else {
		about.Behaviour = m.hintsText()
	}
	r.About = about
	return r, nil
}

// params are what the params of the call say beside what is known of it: the tool
// or prompt and its arguments, and what goes back and forth in rounds. To a method
// that has none of these such a member is like any other. _meta is none of it: hosts
// put ids there that are new each time, and no yes would ever count.
func (m *matter) params() []byte {
	known, method := []string{"_meta"}, m.call.Message.Method
	if method == "tools/call" || method == "prompts/get" {
		known = append(known, "name", "arguments")
	}
	if m.call.Era == upstream.EraModern && goesRounds[method] {
		known = append(known, "inputResponses", "requestState")
	}
	return strict.Without(m.call.Message.Params(), known...)
}

// hintsText is the behaviour of what is no tool: what is held to be true of it.
func (m *matter) hintsText() string {
	var held [annotary.NumHints]string
	for n := range annotary.HintName(annotary.NumHints) {
		held[n] = n.String() + "=" + m.hints[n].Value.String()
	}
	return strings.Join(held[:], " ")
}

// mayApprove says whether a person may say yes to this call.
func (m *matter) mayApprove(by *annotary.Principal, channel string, rs []annotary.Reason) annotary.Decision {
	return m.judge.Policies.MayApprove(&policy.ApproveRequest{
		Approver: m.judge.subject(by), Requester: m.who, Channel: policy.Channel(channel), Target: m.target, Asked: rs, Now: m.began,
	})
}

// ask opens the question and takes the first rung that holds.
func (g *Gateway) ask(ctx context.Context, m *matter, r *approval.Request, s *approval.Standing) (*upstream.Answer, error) {
	ladder := m.judge.Ladder
	r.Prompt = approval.NewPrompt(approval.Shown{
		Tool: m.definition(), Server: m.server.Name, Name: r.About.Tool, Hints: &m.hints, Principal: &m.call.Principal,
		Arguments: r.Arguments, Reasons: r.Reasons, Parts: r.Parts, Changed: s.Changed(),
	})
	question := s.Asked
	if question == nil {
		var err error
		question, err = ladder.Desk.Open(ctx, r)
		if annotary.CodeOf(err) == annotary.CodeQuestions {
			m.refuseWith(err)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	m.question, m.gaps, m.entry.Approval = question, s.Gaps, question.ID
	g.keepDraft(m, question.ID)
	if m.call.asked {
		return nil, nil
	}
	form, page := m.call.elicits()
	form = form && m.mayApprove(&m.call.Principal, string(policy.ChannelClient), m.decision.Reasons).Effect == annotary.Allow
	page = page && ladder.link(question.ID) != ""
	switch {
	case !form && !page:
		return nil, nil
	case m.call.Era == upstream.EraModern && goesRounds[m.call.Message.Method]:
		return m.inputRequired(ctx, r, form)
	case m.call.canAnswer() && m.call.streams():
		return g.hold(m, form), nil
	}
	return nil, nil
}

func (m *matter) definition() *annotary.Tool {
	if m.tool == nil {
		return nil
	}
	return &m.tool.Tool
}

// elicits says how the client lets us ask its person: by a form, by a page.
func (c *Call) elicits() (form, page bool) {
	caps := strict.Get(c.Message.Meta(), rpc.MetaCapabilities)
	if c.Era == upstream.EraLegacy {
		if c.Session == nil {
			return false, false
		}
		caps = c.Session.capabilities()
	}
	declared := strict.Get(caps, "elicitation")
	page = strict.KindOf(strict.Get(declared, "url")) == strict.Object
	form = strict.KindOf(declared) == strict.Object && (!page || strict.Get(declared, "form") != nil)
	return form, page
}

// hear takes in what a client answered to a question of ours. It reports whether
// the person is not to be asked again at once, and returns an error where what was
// said does not count.
func (m *matter) hear(ctx context.Context, id string, form bool, response []byte) (bool, error) {
	ladder, action := m.judge.Ladder, textAt(response, "action")
	said := approval.Answer{By: approval.PersonOf(&m.call.Principal), Channel: string(policy.ChannelClient)}
	switch {
	case action == "":
		return false, nil
	case action == "accept" && !form: // the page was opened: what the person does there counts
		ctx, cancel := context.WithTimeout(ctx, ladder.wait())
		defer cancel()
		_, err := ladder.Desk.Await(ctx, id)
		return true, err
	case action == "accept":
		said.Yes = true
		said.Scope.Kind = approval.ScopeKind(textAt(response, "content", "scope"))
		if said.Scope.Kind == approval.Until || said.Scope.Kind == approval.Unchanged {
			return false, annotary.E(annotary.CodeScopeTooWide, "the form does not offer this scope", nil)
		}
	case action == "decline" && form:
	default:
		return true, nil
	}
	_, err := ladder.Desk.Answer(ctx, id, said, m.mayApprove)
	switch {
	case annotary.CodeOf(err) == annotary.CodeAnswered: // somebody else did, and what they said holds
		return false, nil
	case err == nil && !said.Yes:
		err = annotary.E(annotary.CodeApprovalNo, saidNo, nil)
	}
	return false, err
}

// foresee says what approve would find for a call: the yes that it would use.
// What the caller would hear is set as approve would set it.
func (m *matter) foresee(ctx context.Context) (*approval.Yes, error) {
	if m.judge.Ladder == nil || !m.asks() {
		return nil, nil
	}
	r, err := m.request()
	if err != nil {
		return nil, err
	}
	standing, err := m.judge.Ladder.Desk.Look(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case standing.Yes != nil:
		m.told = ""
	case standing.Denied != nil:
		m.told = annotary.CodeApprovalNo
	case standing.Asked == nil:
		full, err := m.judge.Ladder.Desk.Full(ctx, &m.call.Principal)
		if err != nil {
			return nil, err
		}
		if full {
			m.told = annotary.CodeQuestions
		}
	}
	return standing.Yes, nil
}

var errStates = map[error]annotary.Code{
	seal.ErrForged:  annotary.CodeStateForged,
	seal.ErrExpired: annotary.CodeStateExpired,
}

// stateError names what is wrong with a state; the error itself if it is not the
// state's fault.
func stateError(err error) error {
	for known, code := range errStates {
		if errors.Is(err, known) {
			return annotary.E(code, known.Error(), err)
		}
	}
	return err
}
