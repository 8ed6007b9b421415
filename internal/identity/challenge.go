package identity

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// What can be wrong with an Authorization header.
var (
	errTwice   = errors.New("the header Authorization stands there twice")
	errScheme  = errors.New("the header Authorization must carry a Bearer token")
	errNoToken = errors.New("the header Authorization carries no token that could be read")
)

// The error codes of RFC 6750, section 3.1.
const (
	invalidToken      = "invalid_token"
	insufficientScope = "insufficient_scope"
)

// A Challenge refuses a request and says what would help. Its texts hold nothing
// that the client did not send itself.
type Challenge struct {
	// Status is 400, 401, 403, or 503 if an issuer could not be asked.
	Status int
	// Code is that of RFC 6750; empty if the client sent no proof at all.
	Code string
	// Text says what is wrong.
	Text string
	// Scopes are what to ask the issuer for.
	Scopes []string
	// Metadata is where the client learns which issuers count; empty if none do.
	Metadata string

	cause error
}

// Error says what is wrong.
func (c *Challenge) Error() string {
	if c.Text == "" {
		return "this gateway wants to know who calls"
	}
	return c.Text
}

// Unwrap returns what the operator may know.
func (c *Challenge) Unwrap() error { return c.cause }

// Header is the value of WWW-Authenticate.
func (c *Challenge) Header() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+`="`+quotable(value)+`"`)
		}
	}
	add("error", c.Code)
	add("error_description", c.Text)
	add("scope", strings.Join(c.Scopes, " "))
	add("resource_metadata", c.Metadata)
	if len(parts) == 0 {
		parts = []string{`realm="annotary"`}
	}
	return "Bearer " + strings.Join(parts, ", ")
}

// quotable leaves out what cannot stand between quotes in the header.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
}

func (id *Identity) challenge(path string, status int, code, text string) *Challenge {
	c := &Challenge{Status: status, Code: code, Text: text, Scopes: id.opts.Scopes}
	if len(id.issuers) > 0 {
		c.Metadata = id.opts.URL + MetadataPath + path
	}
	return c
}

// StepUp refuses a call to the resource at path that wants these scopes.
func (id *Identity) StepUp(path string, scopes []string) *Challenge {
	c := &Challenge{Text: "the call wants a scope that the caller lacks"}
	if id != nil {
		c = id.challenge(path, 0, "", c.Text)
	}
	c.Status, c.Code, c.Scopes = http.StatusForbidden, insufficientScope, scopes
	return c
}

// refused says to the client why its token does not count.
func (id *Identity) refused(path string, err error) *Challenge {
	c := id.challenge(path, http.StatusUnauthorized, invalidToken, "the token is not valid")
	c.cause = err
	for _, known := range []error{errExpired, errEarly, errAudience, errIssuer, errBound} {
		if errors.Is(err, known) {
			c.Text = known.Error()
		}
	}
	if errors.Is(err, errUnavailable) {
		c.Status, c.Code, c.Text = http.StatusServiceUnavailable, "", errUnavailable.Error()
	}
	return c
}

// MetadataPath is where RFC 9728 has the metadata of the resource whose path
// follows it.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Metadata is the RFC 9728 document of the resource at path, nil if there is
// nothing to tell: no issuer's tokens count.
func (id *Identity) Metadata(path string) []byte {
	if id == nil || len(id.issuers) == 0 {
		return nil
	}
	doc := struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{id.opts.URL + path, nil, id.opts.Scopes, []string{"header"}, "Annotary"}
	for url := range id.issuers {
		doc.Issuers = append(doc.Issuers, url)
	}
	slices.Sort(doc.Issuers)
	out, err := json.Marshal(doc)
	if err != nil { // strings always marshal
		return nil
	}
	return out
}
