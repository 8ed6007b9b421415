package api

import (
	"context"
	"net/http"
	"time"

	"github.com/annotary/annotary/internal/gateway"
)

// A Target is what is stopped, or let go on: a server or one of its tools, a
// user, or all.
type Target struct {
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"` // a name, or a pattern in which * stands for anything
	User   string `json:"user,omitempty"`
	All    bool   `json:"all,omitempty"`
}

// A Kill stops calls.
type Kill struct {
	Target
	// Note is what callers hear.
	Note string `json:"note,omitempty"`
}

// A Killed is a kill that holds.
type Killed struct {
	Kill
	By    string    `json:"by"`
	Since time.Time `json:"since"`
}

// A KillAnswer says what could not be checked.
type KillAnswer struct {
	Warning string `json:"warning,omitempty"`
}

func (k *Kill) kill() gateway.Kill {
	return gateway.Kill{Server: k.Server, Tool: k.Tool, User: k.User, All: k.All, Note: k.Note}
}

func (s *server) kill(w http.ResponseWriter, r *http.Request) error {
	var k Kill
	if err := readBody(w, r, &k); err != nil {
		return err
	}
	warning, err := s.Gateway.Kill(r.Context(), k.kill(), operator(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, KillAnswer{warning})
}

func (s *server) lift(w http.ResponseWriter, r *http.Request) error {
	var k Kill
	if err := readBody(w, r, &k); err != nil {
		return err
	}
	if err := s.Gateway.Lift(r.Context(), k.kill(), operator(r)); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct{}{})
}

func (s *server) kills(w http.ResponseWriter, _ *http.Request) error {
	holding, err := s.Gateway.Kills()
	if err != nil {
		return err
	}
	out := make([]Killed, len(holding))
	for i, k := range holding {
		out[i] = Killed{Kill{Target{k.Server, k.Tool, k.User, k.All}, k.Note}, k.By, k.Since}
	}
	return writeJSON(w, http.StatusOK, map[string][]Killed{"kills": out})
}

// Kill stops calls on the gateway, and returns what could not be checked.
func (c *Client) Kill(ctx context.Context, k Kill) (KillAnswer, error) {
	var a KillAnswer
	return a, c.get(ctx, "POST", "/v1/kill", k, &a)
}

// Lift lets go of a kill.
func (c *Client) Lift(ctx context.Context, k Kill) error {
	return c.get(ctx, "POST", "/v1/kill/lift", k, &struct{}{})
}

// Kills returns what is stopped, the oldest first.
func (c *Client) Kills(ctx context.Context) ([]Killed, error) {
	var a struct{ Kills []Killed }
	return a.Kills, c.get(ctx, "GET", "/v1/kill", nil, &a)
}
