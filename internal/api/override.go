package api

import (
	"context"
	"net/http"
	"os/user"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/override"
)

// Words are what the operator says of tools and servers.
type Words interface {
	// Overrides returns those in force.
	Overrides() Overrides
	// Say writes some down in somebody's name.
	Say(ctx context.Context, by string, words []override.Word) error
}

// Overrides are the operator's words in force.
type Overrides struct {
	// Shared says that more can be said here: they are kept in a store that
	// several gateways share.
	Shared    bool       `json:"shared"`
	Overrides []Override `json:"overrides"`
}

// An Override is a word of the operator's, and where it is kept.
type Override struct {
	Server  string          `json:"server"`
	Tools   string          `json:"tools,omitempty"` // a name or pattern; empty for a word about the server
	Hints   map[string]bool `json:"hints,omitempty"`
	Believe *bool           `json:"believe,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Until   string          `json:"until,omitempty"` // the last day it holds
	// Home is the file and line, or who said it and when.
	Home   string    `json:"home"`
	Stored bool      `json:"stored"` // in the store, not in the configuration
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Sayings are what the operator says, and who says it and when is not theirs to
// say. If one of them may not be said, none is written down.
type Sayings struct {
	Overrides []override.Word `json:"overrides"`
}

func (s *server) overrides(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.Words.Overrides())
}

func (s *server) say(w http.ResponseWriter, r *http.Request) error {
	var in Sayings
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	for i := range in.Overrides {
		if err := in.Overrides[i].Check(); err != nil {
			return err
		}
	}
	if err := s.Words.Say(r.Context(), speaker(r), in.Overrides); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct{}{})
}

// speaker names who says something: who asks from afar, or the user who opened the
// socket, as the system calls them.
func speaker(r *http.Request) string {
	who := operator(r)
	if who.Issuer == "" && who.Subject == annotary.LocalSubject {
		if u, err := user.Current(); err == nil {
			return u.Username
		}
	}
	return who.Subject
}
