package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
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
	annotary.CodeDenied:     "This call is not permitted. Do not try it again in another way; tell the user.",
	annotary.CodeApproval:   "A person must approve this call first. It has not happened.",
	annotary.CodeQuestions:  "This call did not happen, and nobody was asked about it. Make no more calls that a person must approve; tell the user what waits.",
	annotary.CodeApprovalNo: "This call did not happen. Do not try it again, nor the same in another way; tell the user.",

	annotary.CodeStateForged: againFromStart, annotary.CodeStateExpired: againFromStart, annotary.CodeStateReplayed: againFromStart,
	annotary.CodeStateMismatch: againFromStart, annotary.CodeRounds: againFromStart, annotary.CodeUnknownApproval: againFromStart,
	annotary.CodeNotApprover: "This call did not happen.", annotary.CodeScopeTooWide: againFromStart,
	annotary.CodeAmbiguous: "This call did not happen.",
	annotary.CodeArguments: "This call did not happen: its arguments are not those the tool takes.",
	annotary.CodeStore:     "This call did not happen.",
	annotary.CodeKilled:    "The operator stopped this. Do not try again, nor in another way; tell the user.",
	annotary.CodeReadOnly:  "Only calls that are known to change nothing are served here, and this one is not. Do not try it in another way; tell the user.",
	annotary.CodeDoor:      "This call did not happen.",
	annotary.CodeUnknown:   "Whether this call had its effect is not known. Do not simply repeat it: find out first whether it happened, or tell the user.",
}

const againFromStart = "This call did not happen. Call again from the start, without the state."

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
	case m.call.door != nil && m.told == annotary.CodeUnknownTool:
		return unknownTarget(m.call)
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
		Code     annotary.Code  `json:"code"`
		Call     string         `json:"call"`
		Reasons  []reason       `json:"reasons"`
		Approval *approvalTold  `json:"approval,omitempty"`
		Earlier  []approval.Gap `json:"earlier,omitempty"`
	}{Code: m.told, Call: m.entry.Call, Earlier: m.gaps}
	lines := []string{string(m.told) + ": " + sentence}
	for _, r := range m.decision.Reasons {
		about.Reasons = append(about.Reasons, reason{r.Code, r.Rule, r.Hint})
		lines = append(lines, "- "+r.Text)
		if r.Hint != "" {
			lines = append(lines, "  "+r.Hint)
		}
	}
	if m.told == annotary.CodeApproval && m.question != nil {
		about.Approval = m.tell()
		lines = append(lines, about.Approval.lines(m.gaps)...)
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

// approvalTold is what a caller needs to have its call approved.
type approvalTold struct {
	ID      string    `json:"id"`
	Link    string    `json:"link,omitempty"`
	Expires time.Time `json:"expires"`
	Command string    `json:"command"`
	Retry   string    `json:"retry"`
}

func (m *matter) tell() *approvalTold {
	what := "the same request"
	switch {
	case m.tool != nil && m.call.door != nil: // the tool's own name is none that this client has
		what = "the tool " + doorFor(*m.call.door) + " with exactly the same arguments"
	case m.tool != nil:
		what = "the tool " + m.tool.Name + " with exactly the same arguments"
	}
	return &approvalTold{
		ID: m.question.ID, Link: m.judge.Ladder.link(m.question.ID), Expires: m.question.Expires,
		Command: "annotary approvals approve " + m.question.ID, Retry: "call " + what + " again once it is approved",
	}
}

// gapTexts say why an earlier yes does not count.
var gapTexts = map[annotary.Code]string{
	annotary.CodeGrantSpent:        "it was for once, and is used up",
	annotary.CodeGrantExpired:      "its time is over",
	annotary.CodeGrantRevoked:      "it was taken back",
	annotary.CodeGrantArguments:    "it was for other arguments",
	annotary.CodeGrantDefinition:   "the tool's definition changed",
	annotary.CodeGrantConversation: "it was for another conversation",
	annotary.CodeGrantReasons:      "it does not answer every reason there is now",
	annotary.CodeGrantApprover:     "policy does not let who gave it give it",
}

// maxEarlier is how many earlier answers a model is told about: a tool that is
// approved often has dozens.
const maxEarlier = 3

// lines say it to a model: what to tell the user, what to do then, and why an
// earlier yes was not enough.
func (t *approvalTold) lines(gaps []approval.Gap) []string {
	where := "by running: " + t.Command
	if t.Link != "" {
		where = "at " + t.Link + " or " + where
	}
	lines := []string{
		"Tell the user that approval " + t.ID + " is waiting, and that they can approve it " + where,
		"Then " + t.Retry + "; anything else needs another approval. It is open until " + t.Expires.UTC().Format("15:04 MST on 2 January") + ".",
	}
	left := len(gaps) - maxEarlier
	if left > 0 { // the newest, and the last, which was for just this call
		gaps = append(slices.Clone(gaps[:maxEarlier-1]), gaps[len(gaps)-1])
	}
	for _, g := range gaps {
		text := "An earlier yes (" + g.ID + ") does not count: " + gapTexts[g.Code]
		if len(g.Changed) > 0 {
			text += ": " + approval.Line(strings.Join(g.Changed, ", "))
		}
		lines = append(lines, text+".")
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("Nor do %d others.", left))
	}
	return lines
}
