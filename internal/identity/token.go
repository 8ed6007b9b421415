package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// An Issuer is an authorization server whose tokens count.
type Issuer struct {
	// URL is the issuer as its tokens name it.
	URL string
	// JWKS is where its keys are. If empty, its metadata says.
	JWKS string
	// Audiences count besides the address of the resource itself.
	Audiences []string
	// Tenant is that of its users, TenantClaim the claim that names it instead.
	// If both are empty, it is the default one.
	Tenant, TenantClaim string
	// GroupsClaim is the claim with the groups of a user. If empty, "groups".
	GroupsClaim string
	// ScopesClaim is the claim with the scopes of a token. If empty, "scope",
	// and where there is none, "scp".
	ScopesClaim string
}

// Why a token does not count.
var (
	errExpired     = errors.New("the token has expired")
	errEarly       = errors.New("the token does not hold yet")
	errAudience    = errors.New("the token is meant for another resource")
	errIssuer      = errors.New("the token is of an issuer that does not count here")
	errBound       = errors.New("the token is bound to a key that the client did not show")
	errToken       = errors.New("the token cannot be read or its signature is wrong")
	errUnavailable = errors.New("the issuer of the token could not be asked; try again")
)

// algorithms are the signatures that count: those with a public key. "none" is
// no signature, and one with a shared secret could be made with a public key.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// types are what a token may call itself. Others are signed by the same issuer
// for other ends, such as logging a user out.
var types = []string{"", "jwt", "at+jwt", "application/at+jwt"}

// A verifier checks the tokens of one issuer.
type verifier struct {
	Issuer
	keys *keySet
	skew time.Duration
	now  func() time.Time
}

// claims are the payload of a token, read twice: by the library, which knows
// what each of the registered claims means, and as it was sent.
type claims struct {
	jwt.Claims
	raw payload
}

// payload keeps the bytes of a document.
type payload []byte

// UnmarshalJSON copies the document.
func (p *payload) UnmarshalJSON(raw []byte) error {
	*p = append((*p)[:0], raw...)
	return strict.Check(raw, strict.Limits{Bytes: maxToken, Depth: 16})
}

// verify says whom a token speaks for, if it counts for this resource.
func (id *Identity) verify(r *http.Request, token, resource string) (annotary.Principal, error) {
	sum := sha256.Sum256([]byte(token))
	known := id.seen.recall(sum)
	if known == nil {
		var err error
		if known, err = id.read(r.Context(), token); err != nil {
			return annotary.Principal{}, err
		}
		id.seen.remember(sum, known)
	}
	if err := known.by.check(known.claims, resource); err != nil {
		return annotary.Principal{}, err
	}
	if err := known.claims.heldBy(r.TLS); err != nil {
		return annotary.Principal{}, err
	}
	return known.by.principal(known.claims)
}

// read checks the signature of a token and returns what was signed.
func (id *Identity) read(ctx context.Context, token string) (*remembered, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errToken, err)
	}
	var said jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&said); err != nil {
		return nil, fmt.Errorf("%w: %w", errToken, err)
	}
	v := id.issuers[said.Issuer] // whose keys to check with; nothing else of it counts yet
	if v == nil {
		return nil, errIssuer
	}
	return v.read(ctx, parsed)
}

func (v *verifier) read(ctx context.Context, token *jwt.JSONWebToken) (*remembered, error) {
	header := token.Headers[0]
	if kind, _ := header.ExtraHeaders[jose.HeaderType].(string); !slices.Contains(types, strings.ToLower(kind)) {
		return nil, fmt.Errorf("%w: it calls itself %q", errToken, kind)
	}
	keys, err := v.keys.find(ctx, header.KeyID)
	if err != nil {
		return nil, err
	}
	for _, key := range keys.named(header.KeyID) {
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		c := new(claims)
		if err := token.Claims(key.Key, &c.Claims, &c.raw); err == nil {
			return &remembered{v, c, keys}, nil
		}
	}
	return nil, fmt.Errorf("%w: no key of the issuer made the signature", errToken)
}

// check holds the claims against what this resource wants. A token that never
// expires is none.
func (v *verifier) check(c *claims, resource string) error {
	if c.Expiry == nil || c.Subject == "" {
		return fmt.Errorf("%w: it lacks exp or sub", errToken)
	}
	err := c.ValidateWithLeeway(jwt.Expected{
		Issuer:      v.URL,
		AnyAudience: append(jwt.Audience{resource}, v.Audiences...),
		Time:        v.now(),
	}, v.skew)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return errExpired
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return errEarly
	case errors.Is(err, jwt.ErrInvalidAudience):
		return errAudience
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return errIssuer
	case err != nil:
		return fmt.Errorf("%w: %w", errToken, err)
	}
	return nil
}

// heldBy refuses a token that is bound to a key (RFC 8705, RFC 9449) unless the
// connection shows that key: who stole it must not use it.
func (c *claims) heldBy(conn *tls.ConnectionState) error {
	bound := strict.Get(c.raw, "cnf")
	if bound == nil {
		return nil
	}
	want, _ := strict.Text(strict.Get(bound, "x5t#S256"))
	if conn == nil || len(conn.PeerCertificates) == 0 || want == "" {
		return errBound
	}
	sum := sha256.Sum256(conn.PeerCertificates[0].Raw)
	if base64.RawURLEncoding.EncodeToString(sum[:]) != want {
		return errBound
	}
	return nil
}

// principal reads whom the claims speak for.
func (v *verifier) principal(c *claims) (annotary.Principal, error) {
	who := annotary.Principal{
		Tenant: annotary.DefaultTenant, Issuer: v.URL, Subject: c.Subject,
		Groups: words(c.claim(cmp.Or(v.GroupsClaim, "groups")), false),
	}
	if v.Tenant != "" {
		who.Tenant = v.Tenant
	}
	if v.TenantClaim != "" {
		if who.Tenant, _ = strict.Text(c.claim(v.TenantClaim)); who.Tenant == "" {
			return who, fmt.Errorf("%w: it names no tenant", errToken)
		}
	}
	scopes := c.claim(cmp.Or(v.ScopesClaim, "scope"))
	if scopes == nil && v.ScopesClaim == "" {
		scopes = c.claim("scp")
	}
	who.Scopes = words(scopes, true)
	if who.Client, _ = strict.Text(c.claim("client_id")); who.Client == "" {
		who.Client, _ = strict.Text(c.claim("azp"))
	}
	return who, nil
}

// claim returns a claim by its name, or by its JSON Pointer if it stands inside
// another.
func (c *claims) claim(name string) strict.Raw {
	if strings.HasPrefix(name, "/") {
		return strict.At(c.raw, name)
	}
	return strict.Get(c.raw, name)
}

// words reads a list of strings. A single string is one word, or words with
// spaces between them.
func words(raw strict.Raw, spaced bool) []string {
	if s, ok := strict.Text(raw); ok {
		if spaced {
			return strings.Fields(s)
		}
		return []string{s}
	}
	var out []string
	for _, e := range strict.Elements(raw) {
		if s, ok := strict.Text(e); ok {
			out = append(out, s)
		}
	}
	return out
}
