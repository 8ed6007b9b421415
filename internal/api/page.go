package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/approval"
)

// A LoginRequest asks for a link that signs the owner in on the approval page.
type LoginRequest struct {
	ID string `json:"id,omitempty"` // the question to show; all that wait if empty
}

// A LoginAnswer is the link. It is good once and for a minute, and whoever opens it
// first is the owner: it is for a browser.
type LoginAnswer struct {
	Link string `json:"link"`
	Page string `json:"page"` // where it leads; without a session it shows nothing
}

func (s *server) login(w http.ResponseWriter, r *http.Request) error {
	var q LoginRequest
	if err := readBody(w, r, &q); err != nil {
		return err
	}
	if r.Context().Value(fromAfar{}) != nil {
		return annotary.E(annotary.CodeDenied, "the link is for whoever runs the gateway, on its machine", nil).
			WithHint("from other machines people sign in on the page itself")
	}
	a, err := s.Login(r.Context(), q.ID)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, a)
}

// ErrNoPage says that there is no approval page.
func ErrNoPage() error {
	return annotary.E(annotary.CodeConfig, "this gateway serves no approval page", nil).
		WithHint("calls must be judged ('preset: careful'), and page.listen must not be off")
}

// Login returns a link that signs the owner in.
func (c *Client) Login(ctx context.Context, id string) (LoginAnswer, error) {
	var a LoginAnswer
	return a, c.get(ctx, "POST", "/v1/login", LoginRequest{ID: id}, &a)
}

// statsSince is how far back statistics go unless told otherwise.
const statsSince = 7 * 24 * time.Hour

func (s *server) approvalStats(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	since := now.Add(-statsSince)
	if v := r.URL.Query().Get("since"); v != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, v); err != nil {
			return annotary.E(annotary.CodeInvalid, "since cannot be read: "+err.Error(), err)
		}
	}
	desk, err := s.desk()
	if err != nil {
		return err
	}
	all, err := desk.List(r.Context(), true)
	if err != nil {
		return err
	}
	calls, err := s.calls(r.Context(), since)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, approval.Tallies(all, calls, since, now))
}

// calls counts the calls in the log that nobody was asked about: neither those
// that ask nor those that come again after an answer to just them.
func (s *server) calls(ctx context.Context, since time.Time) (map[approval.ToolName]int, error) {
	out := map[approval.ToolName]int{}
	entries := s.Log()
	if entries == nil {
		return out, nil
	}
	err := entries.Read(ctx, 0, func(_ uint64, lines [][]byte) error {
		for _, line := range lines {
			e, err := audit.Decode(line)
			asked := err == nil && (e.Effect == annotary.Ask.String() || e.Approval != "" && e.Grant == "")
			if err == nil && e.Kind == audit.Decided && !asked && !e.Time.Before(since) {
				out[approval.ToolName{Server: e.Server, Tool: e.Tool}]++
			}
		}
		return nil
	})
	return out, err
}

// ApprovalStats says how much asking costs, since a time; zero is a week ago.
func (c *Client) ApprovalStats(ctx context.Context, since time.Time) (approval.Stats, error) {
	path := "/v1/approvals/stats"
	if !since.IsZero() {
		path += "?since=" + url.QueryEscape(since.Format(time.RFC3339Nano))
	}
	var a approval.Stats
	return a, c.get(ctx, "GET", path, nil, &a)
}
