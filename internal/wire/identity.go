package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/identity"
)

// An Identity says who sent a request to the resource at a path, and what would
// help whoever cannot prove it. [identity.Identity] is the real one.
type Identity interface {
	// Identify returns a [*identity.Challenge] as its error.
	Identify(r *http.Request, path string) (annotary.Principal, error)
	// Admit refuses who proves nothing to any resource, with the same error.
	Admit(r *http.Request) error
	// Metadata is what a client without a token reads first, nil if nothing.
	Metadata(path string) []byte
	// StepUp refuses a call for want of scopes.
	StepUp(path string, scopes []string) *identity.Challenge
}

// Trust has another identity say who sends the requests that come from now on.
func (h *Handler) Trust(id Identity) { h.identity.Store(&id) }

func (h *Handler) trusted() Identity { return *h.identity.Load() }

// metadata serves the RFC 9728 document of an endpoint. It is public, to pages of
// any origin too: whoever has no token yet starts here.
func (h *Handler) metadata(w http.ResponseWriter, r *http.Request, path string) {
	doc := h.trusted().Metadata(path)
	if doc == nil || !strings.HasPrefix(path, "/mcp/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		w.Header()["Content-Type"] = typeJSON
		_, _ = w.Write(doc) // a client that left has no use for it
	case http.MethodOptions:
		w.Header().Set("Access-Control-Allow-Headers", "*")
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// refuse tells a client why it is not let in.
func (h *Handler) refuse(w http.ResponseWriter, err error) {
	c, ok := errors.AsType[*identity.Challenge](err)
	if !ok {
		c = &identity.Challenge{Status: http.StatusUnauthorized}
	}
	if cause := errors.Unwrap(c); cause != nil {
		h.opts.Log.Info("a caller was not let in", "because", c.Error(), "error", cause)
	}
	challenge(w, c)
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(c.Status)
	_ = json.NewEncoder(w).Encode(struct {
		Error       string `json:"error,omitempty"` // empty where nothing was shown that could be wrong
		Description string `json:"error_description"`
	}{c.Code, c.Error()})
}

// challenge sets the header that says what would help.
func challenge(w http.ResponseWriter, c *identity.Challenge) {
	if c.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
		return
	}
	w.Header()["Www-Authenticate"] = []string{c.Header()}
}
