package gateway

import (
	"context"
	"net/http"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// A question is what a server asked of a client and was let ask.
type question struct {
	id     string // of its entry
	method string
	call   *matter // the call it was asked within; nil if none is known
}

// maxQuestions is how many questions of one session may wait for an answer, and how
// many may be asked, or answered, in one message.
const maxQuestions = 256

// remember keeps a question until its answer comes. It reports whether there is
// room.
func (s *Session) remember(id string, q *question) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.questions == nil {
		s.questions = map[string]*question{}
	}
	if len(s.questions) >= maxQuestions {
		return false
	}
	s.questions[id] = q
	return true
}

// take returns the question with this id, once.
func (s *Session) take(id string) *question {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.questions[id]
	delete(s.questions, id)
	return q
}

// reply takes a client's answer to the server that asked. It is a payload that
// leaves, so it is judged and recorded like a call; a server whose answer is
// withheld is told so. An answer to what nobody asked goes nowhere.
func (g *Gateway) reply(ctx context.Context, j *Judge, s *upstream.Server, call *Call) (*upstream.Answer, error) {
	if call.Session.answered(&call.Message) {
		return &upstream.Answer{Status: http.StatusAccepted}, nil
	}
	q := call.Session.take(string(call.Message.ID()))
	if q == nil {
		return &upstream.Answer{Status: http.StatusAccepted}, nil
	}
	m := &matter{judge: j, call: call, server: s, who: j.subject(&call.Principal), began: j.now(), answers: q}
	answer, err := g.judged(ctx, m)
	if err != nil || m.told == "" {
		return answer, err
	}
	leg, err := call.leg(ctx, s)
	if err != nil {
		return nil, err
	}
	fault := &rpc.Fault{Code: rpc.CodeRefused, Message: "the answer was withheld", Data: reasonData(m.told)}
	inbound{g, s, call, leg}.tell(ctx, fault.Answer(call.Message.ID()))
	return &upstream.Answer{Status: http.StatusAccepted}, nil
}

// resolveAnswer prepares the answer to a question. An error is one, too.
func (m *matter) resolveAnswer(msg *rpc.Message) {
	payload := msg.Result()
	if payload == nil {
		payload = msg.Error()
	}
	m.resolveQuestion(m.answers.method, payload, m.answers.call)
	m.entry.Method, m.entry.Parent = m.answers.method+" (answer)", m.answers.id
}

// along adds to a decision what goes along with the message: other targets that
// it names, and answers that a modern client repeats its call with. The strictest
// holds.
func (m *matter) along(d annotary.Decision) annotary.Decision {
	for _, t := range m.extra {
		d = d.Stricter(m.ask(m.action, t, m.arguments()))
	}
	if m.call.Era == upstream.EraModern && m.payload == nil {
		n := 0
		for key, answer := range strict.Members(strict.Get(m.call.Message.Params(), "inputResponses")) {
			if key == approvalKey {
				continue // an answer to us: it goes no further
			}
			if n++; n > maxQuestions {
				return refusing(annotary.CodeInvalid, "it answers too much at once")
			}
			d = d.Stricter(m.askAnswer(answer))
		}
	}
	return m.covered(d)
}

// approvalKey is the key of our own question in a result that needs input.
const approvalKey = "annotary/approval"

// askAnswer judges one answer of a modern client. It does not say what it
// answers; its form does.
func (m *matter) askAnswer(answer []byte) annotary.Decision {
	method := methodSample
	switch {
	case strict.Get(answer, "action") != nil:
		method = methodElicit
	case strict.Get(answer, "roots") != nil:
		method = methodRoots
	}
	a := *m
	a.reads("asking changes nothing")
	if strict.KindOf(answer) != strict.Object {
		answer = []byte("{}")
	}
	return m.ask(asked[method], a.targetFor(policy.Method, method), answer)
}

// covered says that no further yes is needed where policies want a person: an
// elicitation asks one itself, and a person who let a call happen for these
// reasons let it ask.
func (m *matter) covered(d annotary.Decision) annotary.Decision {
	if d.Effect != annotary.Ask {
		return d
	}
	toPerson := m.action == policy.Elicit && m.answers == nil
	if toPerson || (m.parent != nil && m.parent.answered(d.Reasons)) {
		d.Effect = annotary.Allow
	}
	return d
}

// answered reports whether a call was let through although all these reasons
// spoke against it.
func (m *matter) answered(reasons []annotary.Reason) bool {
	type rule struct {
		code annotary.Code
		id   string
	}
	had := map[rule]bool{}
	for _, r := range m.decision.Reasons {
		had[rule{r.Code, r.Rule}] = true
	}
	for _, r := range reasons {
		if !had[rule{r.Code, r.Rule}] {
			return false
		}
	}
	return m.decision.Effect == annotary.Allow
}
