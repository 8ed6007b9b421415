package gateway

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// The methods by which servers ask.
const (
	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
	methodRoots  = "roots/list"
)

// asked are the questions of the protocol, and what policies call them.
var asked = map[string]policy.Action{
	methodSample: policy.Sample,
	methodElicit: policy.Elicit,
	methodRoots:  policy.Other,
}

// judgeWithin is how long a question may take to be judged and recorded. It does
// not end with the patience of whoever reads the stream.
const judgeWithin = 30 * time.Second

// An inbound judges what a server says on its way to a client.
type inbound struct {
	gateway *Gateway
	server  *upstream.Server
	call    *Call // what the server answers, or a bare one for what belongs to no call
	leg     upstream.Leg
}

// hear has everything that comes back for a call judged, where there is a judge.
func (in inbound) hear(ctx context.Context, a *upstream.Answer, err error) (*upstream.Answer, error) {
	switch {
	case err != nil:
		return a, err
	case a.Stream != nil:
		a.Stream = &heard{a.Stream, in}
	case a.Body != nil:
		body, err := in.pass(ctx, a.Body)
		if err == nil && body == nil {
			err = fmt.Errorf("%w: it asked where it was to answer", upstream.ErrBroken)
		}
		if err != nil {
			a.Close()
			return nil, err
		}
		a.Body = body
	}
	return a, nil
}

// heard is a stream on which questions are judged.
type heard struct {
	upstream.Stream
	in inbound
}

// Next returns the next item that may pass.
func (h *heard) Next(ctx context.Context) (upstream.Item, error) {
	for {
		it, err := h.Stream.Next(ctx)
		if err != nil || len(it.Msg) == 0 {
			return it, err
		}
		msg, err := h.in.pass(context.WithoutCancel(ctx), it.Msg)
		switch {
		case err != nil:
			return upstream.Item{}, err
		case msg == nil:
			continue
		case it.Event != nil && !bytes.Equal(msg, it.Msg):
			it.Event = rpc.AppendEvent(nil, it.ID, msg)
		}
		it.Msg = msg
		return it, nil
	}
}

// pass returns a server's message as the client is to see it, nil if it is not
// to see it at all. What asks for nothing passes as it is.
func (in inbound) pass(ctx context.Context, msg []byte) ([]byte, error) {
	judge := in.gateway.judge.Load()
	if judge == nil || !mayAsk(msg) {
		return msg, nil
	}
	m, err := rpc.Parse(msg, strict.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", upstream.ErrBroken, err)
	}
	ctx, cancel := context.WithTimeout(ctx, judgeWithin)
	defer cancel()
	switch m.Kind {
	case rpc.Request:
		return in.request(ctx, judge, &m)
	case rpc.Notification:
		if !strings.HasPrefix(m.Method, "notifications/") && !judge.passes(in.server.Name, m.Method) {
			return nil, nil
		}
		out, _ := in.within(ctx, judge, msg, "params")
		return out, nil
	default:
		return in.response(ctx, judge, msg)
	}
}

// mayAsk reports whether a message could hold a question: whether it is anything
// but a plain response. It errs on the side of yes.
func mayAsk(msg []byte) bool {
	if strict.KindOf(msg) != strict.Object {
		return true
	}
	for name := range strict.Spans(msg, strict.Span{To: len(msg)}) {
		if bytes.EqualFold(name, []byte("method")) {
			return true
		}
	}
	return bytes.Contains(msg, []byte("inputRequests")) || bytes.Contains(msg, []byte("elicitations")) || bytes.Contains(msg, []byte(`\u`))
}

// request judges a question that waits for an answer. Who refuses it answers it:
// the server must not wait for ever.
func (in inbound) request(ctx context.Context, j *Judge, m *rpc.Message) ([]byte, error) {
	if m.Method == "ping" {
		return m.Raw, nil
	}
	against := ""
	if !in.call.canAnswer() {
		against = "the client has no way to answer it"
	}
	q := in.judge(ctx, j, m.Method, m.Params(), against)
	if q.told == "" && in.call.Session.remember(string(m.ID()), &question{q.entry.Call, m.Method, in.call.matter}) {
		return in.attributed(m.Raw, m.Method, "params"), nil
	}
	fault := &rpc.Fault{Code: rpc.CodeRefused, Message: "the client's gateway does not pass this question on", Data: reasonData(q.told)}
	if q.told == annotary.CodeUnknownMethod {
		fault.Code = rpc.CodeMethodNotFound
	}
	in.tell(ctx, fault.Answer(m.ID()))
	return nil, nil
}

// canAnswer reports whether a client could answer a request of the server: it
// has a session that leads to this server alone.
func (c *Call) canAnswer() bool {
	return c.Session != nil && !c.Session.mute && c.Era == upstream.EraLegacy
}

// tell sends an answer of ours to the server. One that does not take it must not
// end the stream it asked on. A modern server may not ask this way, and has no
// place where it could be answered.
func (in inbound) tell(ctx context.Context, raw []byte) {
	m, err := rpc.Parse(raw, strict.Limits{})
	if err != nil || in.call.Era == upstream.EraModern {
		return
	}
	if a, err := in.leg.Send(ctx, &m, nil); err == nil {
		a.Close()
	}
}

// judge decides about one question and records it. What speaks against it whatever
// policies say, if anything does, refuses it.
func (in inbound) judge(ctx context.Context, j *Judge, method string, params []byte, against string) *matter {
	q := &matter{judge: j, call: in.call, server: in.server, who: j.subject(&in.call.Principal), began: j.now()}
	q.begin(method)
	q.resolveQuestion(method, params, in.call.matter)
	if against != "" && q.told == "" {
		q.refuse(annotary.CodeUnknownMethod, refusing(annotary.CodeUnknownMethod, against))
	}
	q.decide()
	if err := q.record(ctx)(); err != nil {
		q.refuse(annotary.CodeStore, refusing(annotary.CodeStore, "the question could not be recorded"))
	}
	if q.told != "" {
		q.finish(audit.Refused, q.decision.Reasons[0].Code, 0)
	}
	return q
}

// resolveQuestion prepares a question, or the answer to one. Asking changes
// nothing; what is answered goes where the call goes that it belongs to.
func (m *matter) resolveQuestion(method string, payload []byte, parent *matter) {
	action, known := asked[method]
	if !known {
		action = policy.Other
	}
	m.action, m.parent, m.hints = action, parent, annotary.Pessimistic()
	if parent != nil {
		m.hints, m.entry.Parent = parent.hints, parent.entry.Call
	}
	m.reads("asking changes nothing")
	if !known {
		m.mustBeNamed(method, false)
	}
	m.aim(policy.Method, method)
	m.carry(payload)
}

// carry sets what policies see of the message, and the log a digest of.
func (m *matter) carry(payload []byte) {
	if strict.KindOf(payload) != strict.Object {
		payload = []byte("{}")
	}
	m.payload = payload
	if sum, err := strict.Sum(payload); err == nil {
		m.entry.ArgumentsDigest = sum.String()
	}
}

// response judges the questions in a response: those of a result that needs
// input, and those of an error that sends the person to a page.
func (in inbound) response(ctx context.Context, j *Judge, msg []byte) ([]byte, error) {
	out, refused := in.within(ctx, j, msg, "result")
	if refused == nil {
		out, refused = in.pages(ctx, j, out)
	}
	if refused == nil {
		return out, nil
	}
	refused.call, refused.fault = in.call, nil
	return refused.answer("The server asked for " + refused.entry.Method + ", which is not let through, and the call ended there. What it did until then is unknown."), nil
}

// within judges the questions of an object "inputRequests". One that is refused
// refuses all: the server wants every answer.
func (in inbound) within(ctx context.Context, j *Judge, msg []byte, member string) ([]byte, *matter) {
	requests := strict.Members(strict.Get(msg, member, "inputRequests"))
	against := tooMuch(requests)
	for key, raw := range requests {
		method := textAt(raw, "method")
		if q := in.judge(ctx, j, method, strict.Get(raw, "params"), against); q.told != "" {
			return nil, q
		}
		msg = in.attributed(msg, method, member, "inputRequests", key, "params")
	}
	return msg, nil
}

// tooMuch says what speaks against the questions of a message that has very many:
// each would be judged and recorded while the call waits.
func tooMuch[K any](questions iter.Seq2[K, strict.Raw]) string {
	n := 0
	for range questions {
		if n++; n > maxQuestions {
			return "the server asks too much at once"
		}
	}
	return ""
}

// pages judges the elicitations that an error of the legacy era carries.
func (in inbound) pages(ctx context.Context, j *Judge, msg []byte) ([]byte, *matter) {
	list := strict.Get(msg, "error", "data", "elicitations")
	if strict.KindOf(list) != strict.Array {
		return msg, nil
	}
	shown, against := []byte{'['}, tooMuch(strict.Elements(list))
	for i, page := range strict.Elements(list) {
		if q := in.judge(ctx, j, methodElicit, page, against); q.told != "" {
			return nil, q
		}
		if i > 0 {
			shown = append(shown, ',')
		}
		shown = append(shown, in.attributed(page, methodElicit)...)
	}
	return strict.Set(msg, append(shown, ']'), "error", "data", "elicitations"), nil
}

// attributed writes the server's name before the text of an elicitation, whose
// params stand where names lead to. Other questions are as they were.
func (in inbound) attributed(msg []byte, method string, names ...string) []byte {
	if method != methodElicit {
		return msg
	}
	params := strict.Get(msg, names...)
	if schema := strict.Get(params, "requestedSchema"); schema != nil {
		params = strict.Set(params, cleaned(schema), "requestedSchema")
	}
	return strict.Set(msg, strict.Set(params, strict.Quote(attribute(in.server.Name, textAt(params, "message"))), "message"), names...)
}
