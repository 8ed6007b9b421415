package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/seal"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// goesRounds are the methods of the modern era whose result may ask for input:
// the client then repeats its request with the answers, and with the state it was
// given.
var goesRounds = map[string]bool{"tools/call": true, "resources/read": true, "prompts/get": true}

// maxRounds is how often a call may go back and forth.
const maxRounds = 10

// fromServer is put before the keys of a server's questions, so that none can be
// taken for ours.
const fromServer = "server/"

// token returns the state that the request carries, if it is one of ours.
func (m *matter) token() string {
	if m.call.Era != upstream.EraModern || !goesRounds[m.call.Message.Method] {
		return ""
	}
	token, _ := strict.Text(strict.Get(m.call.Message.Params(), "requestState"))
	if !strings.HasPrefix(token, seal.Prefix) {
		return ""
	}
	return token
}

// resume takes a call up where its state left it. The call was judged anew; the
// state says what was asked and answered before. What is wrong with the state
// refuses the call; an error says that it could not be looked at.
func (m *matter) resume(ctx context.Context, token string, r *approval.Request) error {
	ladder := m.judge.Ladder
	st, err := ladder.Sealer.Open(ctx, token)
	if err == nil {
		err = m.fits(ctx, st, r)
	}
	if err = stateError(err); err != nil {
		if annotary.CodeOf(err) == annotary.CodeStore || annotary.CodeOf(err) == annotary.CodeInternal {
			return err
		}
		m.refuseWith(err)
		return nil
	}
	m.state, m.entry.Parent, m.entry.Approval = st, st.Call, st.Approval
	response := strict.Get(m.call.Message.Params(), "inputResponses", approvalKey)
	if err := m.strip(st); err != nil {
		return err
	}
	asks := m.asks()
	switch {
	case asks && st.Passed: // it needs no new yes, as long as no new reason speaks against it
		if approval.Answers(st.Answered, r.Reasons) {
			m.told, m.decision.Effect, m.entry.Grant = "", annotary.Allow, st.Grant
		}
		m.call.asked = true
	case !st.Passed && (asks || textAt(response, "action") != "accept"):
		m.call.asked, m.call.refused = m.hear(ctx, st.Approval, st.Form, response)
	}
	return nil
}

// fits holds a state against the call it came with, and uses it up.
func (m *matter) fits(ctx context.Context, st *seal.State, r *approval.Request) error {
	switch {
	case st.Principal != Owner(&m.call.Principal), st.Binding != r.Binding():
		return annotary.E(annotary.CodeStateMismatch, "the state belongs to another call or caller", nil)
	case st.Round > maxRounds:
		return annotary.E(annotary.CodeRounds, "the call went back and forth too often", nil)
	}
	first, err := m.judge.Ladder.Desk.Consume(ctx, st.Nonce)
	if err == nil && !first {
		err = annotary.E(annotary.CodeStateReplayed, "the state was used before", nil)
	}
	return err
}

// strip makes the request the one the server is to see: without our question and
// state, with its own.
func (m *matter) strip(st *seal.State) error {
	msg := &m.call.Message
	params := strict.Without(msg.Params(), "requestState", "inputResponses")
	answers := []byte("{}")
	for key, v := range strict.Members(strict.Get(msg.Params(), "inputResponses")) {
		if own, ok := strings.CutPrefix(key, fromServer); ok && st.Passed {
			answers = strict.Set(answers, v, own)
		}
	}
	if string(answers) != "{}" {
		params = strict.Set(params, answers, "inputResponses")
	}
	if st.Upstream != nil {
		params = strict.Set(params, strict.Quote(*st.Upstream), "requestState")
	}
	next, err := rpc.Parse(strict.Set(msg.Raw, params, "params"), strict.Limits{})
	if err != nil {
		return err
	}
	call := *m.call
	call.Message = next
	m.call = &call
	return nil
}

// inputRequired answers the request with our question, in the form of its era.
func (m *matter) inputRequired(ctx context.Context, r *approval.Request, form bool) (*upstream.Answer, error) {
	token, err := m.seal(ctx, &seal.State{
		Principal: Owner(&m.call.Principal), Binding: r.Binding(), Approval: m.question.ID, Form: form,
	})
	if err != nil {
		if annotary.CodeOf(err) == annotary.CodeRounds {
			m.refuseWith(err)
			return nil, nil
		}
		return nil, err
	}
	request := slices.Concat([]byte(`{"method":"elicitation/create","params":`), m.elicitation(form), []byte("}"))
	result := strict.Set([]byte(`{"resultType":"input_required"}`), request, "inputRequests", approvalKey)
	result = strict.Set(result, strict.Quote(token), "requestState")
	return &upstream.Answer{Status: http.StatusOK, Body: rpc.NewResult(m.call.Message.ID(), result)}, nil
}

// seal makes the state of the next round.
func (m *matter) seal(ctx context.Context, st *seal.State) (string, error) {
	st.Call, st.Round, st.Nonce = m.entry.Call, 1, rand.Text()
	if m.state != nil {
		st.Call, st.Round = m.state.Call, m.state.Round+1
	}
	if st.Round > maxRounds {
		return "", annotary.E(annotary.CodeRounds, "the call went back and forth too often", nil)
	}
	return m.judge.Ladder.Sealer.Seal(ctx, st, m.judge.Ladder.Desk.OpenFor())
}

// carryOn has a server's own questions come back to us: a call that a person let
// through stays let through when it is repeated with their answers.
func (m *matter) carryOn(a *upstream.Answer, err error) (*upstream.Answer, error) {
	if m.judge.Ladder == nil || m.call.Era != upstream.EraModern || !goesRounds[m.call.Message.Method] {
		return a, err
	}
	return onFinal(a, err, m.sealed)
}

// sealed puts the state of a server into one of ours, where the call must be known
// again, or where its own could be taken for ours.
func (m *matter) sealed(msg []byte) ([]byte, error) {
	if !bytes.Contains(msg, []byte("input_required")) {
		return msg, nil // quick, and true of nearly every result
	}
	state, has := strict.Text(strict.Get(msg, "result", "requestState"))
	if textAt(msg, "result", "resultType") != "input_required" ||
		(m.yes == nil && m.state == nil && !strings.HasPrefix(state, seal.Prefix)) {
		return msg, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), judgeWithin)
	defer cancel()
	r, err := m.request()
	if err != nil {
		return nil, err
	}
	st := &seal.State{Principal: Owner(&m.call.Principal), Binding: r.Binding(), Passed: true, Approval: m.entry.Approval, Grant: m.entry.Grant}
	if has {
		st.Upstream = &state
	}
	switch {
	case m.yes != nil:
		st.Answered = m.yes.Answered
	case m.state != nil:
		st.Answered = m.state.Answered
	}
	token, err := m.seal(ctx, st)
	if annotary.CodeOf(err) == annotary.CodeRounds {
		m.refuseWith(err)
		return m.answer("The server asked too often, and the call ended there. What it did until then is unknown."), nil
	}
	if err != nil {
		return nil, err
	}
	questions := []byte("{}")
	for key, q := range strict.Members(strict.Get(msg, "result", "inputRequests")) {
		questions = strict.Set(questions, q, fromServer+key)
	}
	if strict.Get(msg, "result", "inputRequests") != nil {
		msg = strict.Set(msg, questions, "result", "inputRequests")
	}
	return strict.Set(msg, strict.Quote(token), "result", "requestState"), nil
}
