// Package identity says who sent a request: it turns headers and the
// certificate of a connection into an [annotary.Principal], or into a
// [Challenge] that says what would help.
//
// Three kinds of proof count: an access token of an issuer the operator trusts
// (the gateway is an OAuth 2.1 resource server: RFC 9728 metadata, RFC 8707
// audiences), an API key, and a client certificate. Where none is configured,
// everybody is the local user.
//
// The package gives out no tokens, opens no browser and knows no policies. What
// a client proved itself with ends here and goes on to nobody.
package identity

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/annotary/annotary"
)

// Options say whose word counts. The zero Options take everybody for the local
// user.
type Options struct {
	// URL is where clients reach the gateway, without a path. Tokens must be
	// meant for an address below it.
	URL string
	// Issuers are whose tokens count.
	Issuers []Issuer
	// Scopes are what a client without a token is told to ask for.
	Scopes []string
	// Keys are the API keys there are.
	Keys []Key
	// Certificates says what a client certificate proves. If nil, nothing.
	Certificates *Certificates
	// Skew is how far the clock of an issuer may be off. If zero, 30 seconds.
	Skew time.Duration
	// Client fetches what issuers publish. If nil, one that gives up after ten
	// seconds and follows no redirect.
	Client *http.Client
	// Now is the clock. If nil, the system's.
	Now func() time.Time
}

// An Identity knows whose word counts. It does not change, apart from the keys
// of issuers, which it reads again when they may have changed, and from the
// tokens whose signature it has checked.
type Identity struct {
	opts    Options
	issuers map[string]*verifier
	keys    keyring
	seen    memory
}

// New makes an identity.
func New(o Options) *Identity {
	if o.Skew == 0 {
		o.Skew = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	id := &Identity{opts: o, issuers: map[string]*verifier{}, keys: newKeyring(o.Keys)}
	for _, i := range o.Issuers {
		id.issuers[i.URL] = &verifier{Issuer: i, keys: newKeySet(i, o.Client, o.Now), skew: o.Skew, now: o.Now}
	}
	return id
}

// Local is the principal of a gateway that serves one user only.
func Local() annotary.Principal {
	return annotary.Principal{Tenant: annotary.DefaultTenant, Subject: annotary.LocalSubject}
}

// Asks reports whether callers must prove who they are. A key that was revoked
// asks like any other: to revoke the last one must not open the gateway.
func (id *Identity) Asks() bool {
	return id != nil && (len(id.issuers) > 0 || len(id.opts.Keys) > 0 || id.opts.Certificates != nil)
}

// Identify says who sent a request to the resource at path. The error is a
// [*Challenge].
func (id *Identity) Identify(r *http.Request, path string) (annotary.Principal, error) {
	if !id.Asks() {
		return Local(), nil
	}
	token, err := bearer(r.Header)
	if err != nil {
		return annotary.Principal{}, id.challenge(path, http.StatusBadRequest, "invalid_request", err.Error())
	}
	if token == "" {
		if who, ok := id.opts.Certificates.principal(r.TLS); ok {
			return who, nil
		}
		return annotary.Principal{}, id.challenge(path, http.StatusUnauthorized, "", "")
	}
	if strings.HasPrefix(token, keyPrefix) {
		if who, ok := id.keys.principal(token, id.opts.Now()); ok {
			return who, nil
		}
		return annotary.Principal{}, id.challenge(path, http.StatusUnauthorized, invalidToken, "the key is not known or no longer holds")
	}
	who, err := id.verify(r, token, id.opts.URL+path)
	if err != nil {
		return annotary.Principal{}, id.refused(path, err)
	}
	return who, nil
}

// Admit refuses who proves nothing, whatever it is that is asked for: where that
// stands in the body of a request, a stranger's is not to be read for it. Whether a
// token is meant for the resource is for [Identity.Identify] to say. The error is a
// [*Challenge].
func (id *Identity) Admit(r *http.Request) error {
	_, err := id.Identify(r, "")
	if errors.Is(err, errAudience) {
		return nil
	}
	if c, ok := errors.AsType[*Challenge](err); ok {
		c.Metadata = "" // nobody knows of which resource
	}
	return err
}

// maxToken is the longest token that is looked at.
const maxToken = 16 << 10

// bearer returns the token of a request, "" if it carries none. Tokens in the
// query are never read: addresses end up in logs.
func bearer(h http.Header) (string, error) {
	sent := h["Authorization"]
	switch {
	case len(sent) == 0:
		return "", nil
	case len(sent) > 1:
		return "", errTwice
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", errScheme
	}
	if token = strings.Trim(token, " "); token == "" || len(token) > maxToken || strings.ContainsFunc(token, notToken) {
		return "", errNoToken
	}
	return token, nil
}

// notToken reports what cannot stand in a token (RFC 6750, section 2.1).
func notToken(r rune) bool {
	letter := r|0x20 >= 'a' && r|0x20 <= 'z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
}
