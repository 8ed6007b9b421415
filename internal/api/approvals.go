package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/policy"
)

// An Approval is a question and what became of it, without what only the gateway
// needs to know.
type Approval struct {
	ID        string          `json:"id"`
	State     approval.State  `json:"state"`
	Asked     time.Time       `json:"asked"`
	Expires   time.Time       `json:"expires"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Method    string          `json:"method"`
	Requester string          `json:"requester"`
	Prompt    approval.Prompt `json:"prompt"`
	// Usual is how far a yes goes that says nothing of it.
	Usual   approval.ScopeKind `json:"usual"`
	Answer  *ApprovalAnswer    `json:"answer,omitempty"`
	SpentBy string             `json:"spentBy,omitempty"` // the call that used the yes up
}

// An ApprovalAnswer is what a person said.
type ApprovalAnswer struct {
	Yes     bool           `json:"yes"`
	By      string         `json:"by"`
	Channel string         `json:"channel"`
	At      time.Time      `json:"at"`
	Scope   approval.Scope `json:"scope"`
	Note    string         `json:"note,omitempty"`
}

func approvalOf(a *approval.Approval) Approval {
	out := Approval{
		ID: a.ID, State: a.At(time.Now()), Asked: a.Asked, Expires: a.Expires,
		Server: a.About.Server, Tool: a.About.Tool, Method: a.About.Method, Requester: a.Requester.ID(),
		Prompt: a.Prompt, Usual: a.Usual(), SpentBy: a.SpentBy,
	}
	out.Prompt.Parts = nil
	if said := a.Answer; said != nil {
		out.Answer = &ApprovalAnswer{said.Yes, said.By.ID(), said.Channel, said.At, said.Scope, said.Note}
	}
	return out
}

// desk returns where questions are kept.
func (s *server) desk() (*approval.Desk, error) {
	if d := s.Gateway.Desk(); d != nil {
		return d, nil
	}
	return nil, annotary.E(gateway.CodeNobodyAsks, "this gateway asks nobody", nil).
		WithHint("write 'preset: careful' into the configuration")
}

// wantsAll reads the parameter "all".
func wantsAll(r *http.Request) (bool, error) {
	v := r.URL.Query().Get("all")
	if v == "" {
		return false, nil
	}
	all, err := strconv.ParseBool(v)
	if err != nil {
		return false, annotary.E(annotary.CodeInvalid, "all is true or false", err)
	}
	return all, nil
}

func (s *server) approvals(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	all, err := wantsAll(r)
	if err != nil {
		return err
	}
	list, err := desk.List(r.Context(), all)
	if err != nil {
		return err
	}
	out := []Approval{}
	for _, a := range list {
		if s.shows(r, a) {
			out = append(out, approvalOf(a))
		}
	}
	return writeJSON(w, http.StatusOK, map[string][]Approval{"approvals": out})
}

func (s *server) approval(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	a, err := desk.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !s.shows(r, a) {
		return annotary.E(annotary.CodeNotApprover, "this question is neither yours nor yours to answer", nil)
	}
	return writeJSON(w, http.StatusOK, approvalOf(a))
}

// watchApprovals streams questions, one on a line: those that are open, then each
// whenever something becomes of it.
func (s *server) watchApprovals(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	enc, rc := json.NewEncoder(w), http.NewResponseController(w)
	old := true
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	_ = desk.Watch(ctx, sync.OnceFunc(func() { old = false; _ = rc.Flush() }), func(a *approval.Approval) {
		if old && a.At(time.Now()) != approval.Open || !s.shows(r, a) {
			return
		}
		if enc.Encode(approvalOf(a)) != nil || rc.Flush() != nil {
			cancel()
		}
	})
	if r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // a stream cut short must not look whole
	}
	return nil
}

// An AnswerRequest is what a person says about a question.
type AnswerRequest struct {
	Yes   bool           `json:"yes"`
	Scope approval.Scope `json:"scope,omitzero"`
	Note  string         `json:"note,omitempty"`
}

func (s *server) answerApproval(w http.ResponseWriter, r *http.Request) error {
	var q AnswerRequest
	if err := readBody(w, r, &q); err != nil {
		return err
	}
	who := operator(r)
	a, err := s.Gateway.Answer(r.Context(), r.PathValue("id"), approval.Answer{
		Yes: q.Yes, Scope: q.Scope, Note: q.Note, By: approval.PersonOf(who), Channel: string(policy.ChannelCLI),
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, approvalOf(a))
}

// A Grant is a standing yes.
type Grant struct {
	ID           string           `json:"id"`
	Principal    string           `json:"principal"`
	Client       string           `json:"client,omitempty"`
	Server       string           `json:"server"`
	Tool         string           `json:"tool"`
	Title        string           `json:"title"`
	AnyArguments bool             `json:"anyArguments,omitempty"`
	Pattern      approval.Pattern `json:"pattern,omitempty"`
	Destination  string           `json:"destination,omitempty"`
	Conversation bool             `json:"conversation,omitempty"` // while the conversation lasts
	Expires      time.Time        `json:"expires,omitzero"`       // if left out, when the definition changes
	By           string           `json:"by"`
	Channel      string           `json:"channel"`
	Given        time.Time        `json:"given"`
	Revoked      time.Time        `json:"revoked,omitzero"`
	Live         bool             `json:"live"`
}

func grantOf(g *approval.Grant) Grant {
	return Grant{
		ID: g.ID, Principal: g.Principal.ID(), Client: g.Principal.Client, Server: g.About.Server, Tool: g.About.Tool, Title: g.Title,
		AnyArguments: g.AnyArguments, Pattern: g.Pattern, Destination: g.Destination, Conversation: g.Conversation != "",
		Expires: g.Expires, By: g.By.ID(), Channel: g.Channel, Given: g.Given, Revoked: g.Revoked, Live: g.Live(time.Now()),
	}
}

func (s *server) grants(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	all, err := wantsAll(r)
	if err != nil {
		return err
	}
	list, err := desk.Grants(r.Context(), all)
	if err != nil {
		return err
	}
	out := make([]Grant, len(list))
	for i := range list {
		out[i] = grantOf(&list[i])
	}
	return writeJSON(w, http.StatusOK, map[string][]Grant{"grants": out})
}

func (s *server) revokeGrant(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	if err := desk.Revoke(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct{}{})
}

// Approvals returns the questions that are open, or all that are remembered.
func (c *Client) Approvals(ctx context.Context, all bool) ([]Approval, error) {
	var a struct {
		Approvals []Approval `json:"approvals"`
	}
	return a.Approvals, c.get(ctx, "GET", "/v1/approvals?all="+strconv.FormatBool(all), nil, &a)
}

// Approval returns one question.
func (c *Client) Approval(ctx context.Context, id string) (Approval, error) {
	var a Approval
	return a, c.get(ctx, "GET", "/v1/approvals/"+url.PathEscape(id), nil, &a)
}

// WatchApprovals calls each for every question that is open, and then whenever
// something becomes of one.
func (c *Client) WatchApprovals(ctx context.Context, each func(Approval) error) error {
	res, err := c.do(ctx, "GET", "/v1/approvals/watch", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	dec := json.NewDecoder(res.Body)
	for {
		var a Approval
		if err := dec.Decode(&a); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return annotary.E(annotary.CodeConnect, "the gateway stopped", err).WithHint("watch again when it runs")
		}
		if err := each(a); err != nil {
			return err
		}
	}
}

// Answer answers a question.
func (c *Client) Answer(ctx context.Context, id string, q AnswerRequest) (Approval, error) {
	var a Approval
	return a, c.get(ctx, "POST", "/v1/approvals/"+url.PathEscape(id)+"/answer", q, &a)
}

// Grants returns the grants that are alive, or all that are remembered.
func (c *Client) Grants(ctx context.Context, all bool) ([]Grant, error) {
	var a struct {
		Grants []Grant `json:"grants"`
	}
	return a.Grants, c.get(ctx, "GET", "/v1/grants?all="+strconv.FormatBool(all), nil, &a)
}

// Revoke ends a grant.
func (c *Client) Revoke(ctx context.Context, id string) error {
	return c.get(ctx, "POST", "/v1/grants/"+url.PathEscape(id)+"/revoke", struct{}{}, &struct{}{})
}
