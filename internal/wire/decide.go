package wire

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// decidePath is where callers ask what would become of a call of their own.
const decidePath = "/v1/decide"

// errQuestion is said of what is no question.
var errQuestion = annotary.E(annotary.CodeInvalid, `ask with {"server": …, "tool": …, "arguments": {…}}; arguments may be left out`, nil)

// decide answers what would become of a tool call of the caller. It tells what a
// call would tell, and calls nothing. A token counts that is meant for the server
// in question, which its body names; the body of a stranger is not read.
func (h *Handler) decide(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Handler: h, w: w, r: r}
	if r.Method != http.MethodPost {
		x.notAllowed("POST")
		return
	}
	if !isJSON(r.Header) {
		http.Error(w, "the body is to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if err := h.trusted().Admit(r); err != nil {
		h.refuse(w, err)
		return
	}
	q, err := x.question()
	if err != nil {
		x.answerError(err)
		return
	}
	if q.Principal, err = h.trusted().Identify(r, prefix+q.Server); err != nil {
		h.refuse(w, err)
		return
	}
	x.owner = gateway.Owner(&q.Principal)
	if !x.begin(false) {
		return
	}
	defer x.leave()
	p, err := h.gateway.Predict(r.Context(), q)
	if err != nil {
		x.answerError(err)
		return
	}
	verdict, err := p.Verdict()
	if err != nil {
		x.answerError(err)
		return
	}
	x.answerJSON(http.StatusOK, verdict)
}

// question reads what is asked. Without arguments nothing is asked of them.
func (x *exchange) question() (*gateway.Question, error) {
	body, err := rpc.ReadAll(x.r.Body, x.r.ContentLength, x.opts.MaxBody)
	if err != nil {
		return nil, err
	}
	if err := strict.Check(body, strict.Limits{Bytes: x.opts.MaxBody, Depth: x.opts.MaxDepth}); err != nil {
		return nil, err
	}
	known := []string{"server", "tool", "arguments"}
	for name := range strict.Members(body) {
		if !slices.Contains(known, name) {
			return nil, errQuestion
		}
	}
	q := &gateway.Question{Arguments: strict.Get(body, "arguments")}
	q.Open = q.Arguments == nil
	var ok, named bool
	q.Server, ok = strict.Text(strict.Get(body, "server"))
	q.Tool, named = strict.Text(strict.Get(body, "tool"))
	if kind := strict.KindOf(q.Arguments); !ok || !named || kind != strict.Absent && kind != strict.Object {
		return nil, errQuestion
	}
	return q, nil
}

// answerError says what went wrong, as a call would be told.
func (x *exchange) answerError(err error) {
	if x.r.Context().Err() != nil {
		return // nobody is there any more
	}
	status, fault := faultOf(err)
	code, _ := strict.Text(strict.Get(fault.Data, "code"))
	switch of := annotary.CodeOf(err); {
	case of == gateway.CodeUnjudged:
		status, code, fault.Message = http.StatusConflict, string(of), err.Error()
	case of == annotary.CodeInvalid:
		status, code, fault.Message = http.StatusBadRequest, string(of), err.Error()
	case status == http.StatusOK:
		x.opts.Log.Warn("a question could not be answered", "error", err)
		status = http.StatusBadGateway
	}
	x.answerJSON(status, map[string]string{"code": code, "message": fault.Message})
}

func (x *exchange) answerJSON(status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // nothing in it can fail
		status, body = http.StatusInternalServerError, []byte("{}")
	}
	x.respond(status, body)
}
