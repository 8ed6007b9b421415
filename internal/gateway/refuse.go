package gateway

import (
	"encoding/json"
	"errors"
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

// unknownTool is what absent and hidden tools are called alike: who may not see
// a tool must not learn that it exists.
func unknownTool(name string) error {
	return &rpc.Fault{Code: rpc.CodeInvalidParams, Message: "unknown tool: " + name, Data: reasonData(annotary.CodeUnknownTool)}
}

func reasonData(code annotary.Code) []byte {
	return slices.Concat([]byte(`{"code":`), strict.Quote(string(code)), []byte(`}`))
}

// fault answers a call that could not even be judged. What is not for the client
// to know stays an error for the edge to put into words.
func (m *matter) fault(err error) (*upstream.Answer, error) {
	if f, ok := errors.AsType[*rpc.Fault](err); ok {
		return &upstream.Answer{Status: http.StatusOK, Body: f.Answer(m.call.Message.ID())}, nil
	}
	switch code := annotary.CodeOf(err); code {
	case annotary.CodeStore, annotary.CodeAmbiguous:
		m.decision = annotary.Decision{Reasons: []annotary.Reason{{Code: code, Text: err.Error()}}}
		return m.refusal(), nil
	default:
		return nil, err
	}
}

// refusal answers a call that does not happen with a result the model can act
// on: an error of the tool, not of the protocol, that says what would help and
// gives nothing away.
func (m *matter) refusal() *upstream.Answer {
	code, text := annotary.CodeDenied, "This call is not permitted. Do not try it again in another way; tell the user."
	if r := m.decision.Reasons; len(r) == 1 && (r[0].Code == annotary.CodeStore || r[0].Code == annotary.CodeAmbiguous) {
		code, text = r[0].Code, "This call did not happen."
	}
	if m.decision.Effect == annotary.Ask {
		code, text = annotary.CodeApproval, "A person must approve this call first, and this gateway has no way to ask yet. Tell the user what you wanted to do and why."
	}
	type reason struct {
		Code annotary.Code `json:"code"`
		Rule string        `json:"rule,omitempty"`
		Hint string        `json:"hint,omitempty"`
	}
	about := struct {
		Code    annotary.Code `json:"code"`
		Call    string        `json:"call"`
		Reasons []reason      `json:"reasons"`
	}{Code: code, Call: m.entry.Call}
	lines := []string{string(code) + ": " + text}
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
	result := []byte(`{"content":[{"type":"text","text":""}],"isError":true}`)
	result = strict.Set(result, slices.Concat([]byte(`[{"type":"text","text":`), strict.Quote(strings.Join(lines, "\n")), []byte(`}]`)), "content")
	result = strict.Set(result, meta, "_meta", MetaDecision)
	if m.call.Era == upstream.EraModern {
		result = strict.Set(result, []byte(`"complete"`), "resultType")
	}
	return &upstream.Answer{Status: http.StatusOK, Body: rpc.NewResult(m.call.Message.ID(), result)}
}
