package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// MetaDecision is the _meta key under which a refusal says why, for programs.
const MetaDecision = "dev.annotary/decision"

func reasonData(code annotary.Code) []byte {
	return slices.Concat([]byte(`{"code":`), strict.Quote(string(code)), []byte(`}`))
}

// unrecorded answers a call whose entry could not be written. What is not for
// the client to know stays an error for the edge to put into words.
func (m *matter) unrecorded(err error) (*upstream.Answer, error) {
	if annotary.CodeOf(err) != annotary.CodeStore {
		return nil, err
	}
	m.refuse(annotary.CodeStore, refusing(annotary.CodeStore, err.Error()))
	m.fault, m.wants = nil, nil
	return m.refusal(), nil
}

// sentences are what a model reads of each refusal.
var sentences = map[annotary.Code]string{
	annotary.CodeDenied:    "This call is not permitted. Do not try it again in another way; tell the user.",
	annotary.CodeApproval:  "A person must approve this call first, and this gateway has no way to ask yet. Tell the user what you wanted to do and why.",
	annotary.CodeAmbiguous: "This call did not happen.",
	annotary.CodeArguments: "This call did not happen: its arguments are not those the tool takes.",
	annotary.CodeStore:     "This call did not happen.",
	annotary.CodeKilled:    "The operator stopped this. Do not try again, nor in another way; tell the user.",
	annotary.CodeReadOnly:  "Only calls that are known to change nothing are served here, and this one is not. Do not try it in another way; tell the user.",
}

// refusal answers a call that does not happen with a result the model can act
// on: an error of the tool, not of the protocol, that says what would help and
// gives nothing away. Absent and hidden tools are answered alike, as the protocol
// answers what does not exist.
func (m *matter) refusal() *upstream.Answer {
	msg := &m.call.Message
	switch {
	case msg.Kind == rpc.Notification: // it has no id to answer under, only a status
		fault := &rpc.Fault{Code: rpc.CodeRefused, Message: string(m.told), Data: reasonData(m.told)}
		return &upstream.Answer{Status: http.StatusBadRequest, Body: fault.Answer(nil)}
	case m.wants != nil:
		return &upstream.Answer{Status: http.StatusForbidden, Body: m.fault.Answer(msg.ID()), Scopes: m.wants}
	case m.fault != nil:
		return &upstream.Answer{Status: http.StatusOK, Body: m.fault.Answer(msg.ID())}
	}
	return &upstream.Answer{Status: http.StatusOK, Body: m.answer(sentences[m.told])}
}

// answer is the refusal as a message: of a tool an error that it made, of all
// else, which has no such form, an error with a code of ours.
func (m *matter) answer(sentence string) []byte {
	type reason struct {
		Code annotary.Code `json:"code"`
		Rule string        `json:"rule,omitempty"`
		Hint string        `json:"hint,omitempty"`
	}
	about := struct {
		Code    annotary.Code `json:"code"`
		Call    string        `json:"call"`
		Reasons []reason      `json:"reasons"`
	}{Code: m.told, Call: m.entry.Call}
	lines := []string{string(m.told) + ": " + sentence}
	for _, r := range m.decision.Reasons {
		about.Reasons = append(about.Reasons, reason{r.Code, r.Rule, r.Hint})
		lines = append(lines, "- "+r.Text)
		if r.Hint != "" {
			lines = append(lines, "  "+r.Hint)
		}
	}
	meta, err := json.Marshal(about)
	if err != nil { // strings always marshal
		meta = []byte("{}")
	}
	if m.call.Message.Method != "tools/call" {
		return (&rpc.Fault{Code: rpc.CodeRefused, Message: strings.Join(lines, "\n"), Data: meta}).Answer(m.call.Message.ID())
	}
	result := []byte(`{"content":[{"type":"text","text":""}],"isError":true}`)
	result = strict.Set(result, slices.Concat([]byte(`[{"type":"text","text":`), strict.Quote(strings.Join(lines, "\n")), []byte(`}]`)), "content")
	result = strict.Set(result, meta, "_meta", MetaDecision)
	if m.call.Era == upstream.EraModern {
		result = strict.Set(result, []byte(`"complete"`), "resultType")
	}
	return rpc.NewResult(m.call.Message.ID(), result)
}
