package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/annotary/annotary"
)

// A Login lets people in by an OpenID Connect provider: authorisation code with
// PKCE, state and nonce.
type Login struct {
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
	groups   string
	tenant   string
}

// LoginOptions say which provider, and as whom we are known there.
type LoginOptions struct {
	Issuer, ClientID, ClientSecret string
	// Groups is the claim that holds the groups of a person. If empty, "groups".
	Groups string
	// Scopes are asked for besides openid.
	Scopes []string
	// Tenant people belong to. If empty, the default one.
	Tenant string
}

// NewLogin asks the provider for its addresses. The page is at url.
func NewLogin(ctx context.Context, url string, o LoginOptions) (*Login, error) {
	provider, err := oidc.NewProvider(ctx, o.Issuer)
	if err != nil {
		return nil, annotary.E(annotary.CodeConnect, "the identity provider "+o.Issuer+" did not answer", err).
			WithHint("page.login.issuer in the configuration is its address")
	}
	l := &Login{
		verifier: provider.Verifier(&oidc.Config{ClientID: o.ClientID}),
		groups:   o.Groups, tenant: o.Tenant,
		config: oauth2.Config{
			ClientID: o.ClientID, ClientSecret: o.ClientSecret, Endpoint: provider.Endpoint(),
			RedirectURL: url + "/login/callback", Scopes: append([]string{oidc.ScopeOpenID}, o.Scopes...),
		},
	}
	if l.groups == "" {
		l.groups = "groups"
	}
	if l.tenant == "" {
		l.tenant = annotary.DefaultTenant
	}
	return l, nil
}

// A pass is what a browser carries to the provider and back, in a cookie of its own.
type pass struct {
	State, Nonce, Verifier, ID string
}

const passLife = 10 * time.Minute

func (c *Console) passName() string { return c.cookieName() + "-login" }

// begin sends the browser to the provider.
func (l *Login) begin(w http.ResponseWriter, r *http.Request, c *Console) {
	p := pass{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), ID: r.PathValue("id")}
	raw, err := json.Marshal(p)
	if err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: c.passName(), Value: encode(raw), Path: "/", MaxAge: int(passLife.Seconds()),
		HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
	to := l.config.AuthCodeURL(p.State, oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// loggedIn takes who comes back from the provider.
func (c *Console) loggedIn(w http.ResponseWriter, r *http.Request, _ *session) error {
	if c.Login == nil {
		return errNothingHere
	}
	cookie, err := r.Cookie(c.passName())
	if err != nil {
		return errForeign
	}
	var p pass
	raw, err := decode(cookie.Value)
	if err != nil || json.Unmarshal(raw, &p) != nil || p.State == "" || p.State != r.URL.Query().Get("state") {
		return errForeign
	}
	http.SetCookie(w, &http.Cookie{Name: c.passName(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode})
	who, err := c.Login.exchange(r.Context(), r.URL.Query().Get("code"), &p)
	if err != nil {
		c.Log.Warn("a login was refused", "error", err)
		return annotary.E(annotary.CodeNotApprover, "the identity provider did not let you in", nil)
	}
	if err := c.signIn(w, r, who, loginSessionLife); err != nil {
		return err
	}
	http.Redirect(w, r, target(p.ID), http.StatusSeeOther)
	return nil
}

// exchange turns the code into a principal.
func (l *Login) exchange(ctx context.Context, code string, p *pass) (annotary.Principal, error) {
	token, err := l.config.Exchange(ctx, code, oauth2.VerifierOption(p.Verifier))
	if err != nil {
		return annotary.Principal{}, err
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return annotary.Principal{}, errors.New("the provider sent no ID token")
	}
	id, err := l.verifier.Verify(ctx, raw)
	if err != nil {
		return annotary.Principal{}, err
	}
	if id.Nonce != p.Nonce {
		return annotary.Principal{}, errors.New("the ID token is for another login")
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return annotary.Principal{}, err
	}
	return annotary.Principal{Tenant: l.tenant, Issuer: id.Issuer, Subject: id.Subject, Groups: groupsIn(claims[l.groups])}, nil
}

// groupsIn reads a claim that is a list of texts; anything else is no group.
func groupsIn(claim any) []string {
	list, ok := claim.([]any)
	if !ok {
		return nil
	}
	var groups []string
	for _, v := range list {
		if g, ok := v.(string); ok {
			groups = append(groups, g)
		}
	}
	slices.Sort(groups)
	return groups
}
