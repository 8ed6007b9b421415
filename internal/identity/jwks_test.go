package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// paper is an issuer that only publishes keys, and counts how often it is asked.
type paper struct {
	*httptest.Server
	signer jose.Signer
	asked  atomic.Int32
	down   atomic.Bool
	says   func(*paper) string // metadata; nil for the true one
}

func newPaper(t testing.TB) *paper {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &paper{}
	jwk := jose.JSONWebKey{Key: key, KeyID: "k", Algorithm: "ES256", Use: "sig"}
	if p.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jwk}, nil); err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{jwk.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if p.says != nil {
			fmt.Fprint(w, p.says(p))
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, p.URL, p.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		if p.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Write(keys)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *paper) sign(t testing.TB, claims any) string {
	t.Helper()
	token, err := jwt.Signed(p.signer).Claims(claims).Serialize() //nolint:misspell // their spelling
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (p *paper) token(t testing.TB, until time.Time) string {
	return p.sign(t, map[string]any{"iss": p.URL, "sub": "ann", "aud": resource, "exp": until.Unix()})
}

// TestRation: strangers who name keys that do not exist cannot make the gateway
// ask an issuer as often as they like, and keep nobody out meanwhile.
func TestRation(t *testing.T) {
	p, now := newPaper(t), noon
	id := New(Options{URL: gatewayURL, Issuers: []Issuer{{URL: p.URL}}, Now: func() time.Time { return now }})
	good := p.token(t, now.Add(time.Hour))
	if _, c := ask(id, "Authorization", "Bearer "+good); c != nil {
		t.Fatal(c)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 10 { // one after the other: those who come together share an answer
				unknown := signAs(t, fmt.Sprint(i, j), map[string]any{"iss": p.URL, "sub": "eve", "aud": resource, "exp": now.Add(time.Hour).Unix()})
				if _, c := ask(id, "Authorization", "Bearer "+unknown); c == nil || c.Status != http.StatusUnauthorized {
					t.Errorf("a stranger: %v", c)
				}
				if _, c := ask(id, "Authorization", "Bearer "+good); c != nil {
					t.Errorf("kept out: %v", c)
				}
			}
		})
	}
	all.Wait()
	if n := p.asked.Load(); n > 5 {
		t.Errorf("the issuer was asked %d times in no time", n)
	}
	before := p.asked.Load()
	now = now.Add(10 * time.Second)
	ask(id, "Authorization", "Bearer "+signAs(t, "late", map[string]any{"iss": p.URL, "sub": "eve"}))
	if n := p.asked.Load() - before; n != 1 {
		t.Errorf("ten seconds later it was asked %d times more, want once", n)
	}
}

// signAs signs with a key that names itself as told.
func signAs(t testing.TB, kid string, claims any) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return (&paper{signer: signer}).sign(t, claims)
}

// TestIssuerDown: an issuer that does not answer lets its tokens count for an
// hour; then, and from the start, the client is told to come again, not that its
// token is wrong.
func TestIssuerDown(t *testing.T) {
	p, now := newPaper(t), noon
	id := New(Options{URL: gatewayURL, Issuers: []Issuer{{URL: p.URL}}, Now: func() time.Time { return now }})
	token := p.token(t, now.Add(24*time.Hour))
	p.down.Store(true)
	if _, c := ask(id, "Authorization", "Bearer "+token); c == nil || c.Status != http.StatusServiceUnavailable || c.Code != "" {
		t.Errorf("down from the start: %+v", c)
	}
	p.down.Store(false)
	if _, c := ask(id, "Authorization", "Bearer "+token); c != nil {
		t.Fatal(c)
	}
	p.down.Store(true)
	now = now.Add(stale - time.Second)
	if _, c := ask(id, "Authorization", "Bearer "+token); c != nil {
		t.Errorf("down for less than an hour: %v", c)
	}
	now = now.Add(2 * time.Second)
	if _, c := ask(id, "Authorization", "Bearer "+token); c == nil || c.Status != http.StatusServiceUnavailable {
		t.Errorf("down for more than an hour: %+v", c)
	}
}

// TestRemembered: that a signature was checked once lets nothing pass that does
// not hold now, and for this resource.
func TestRemembered(t *testing.T) {
	p, now := newPaper(t), noon
	id := New(Options{URL: gatewayURL, Issuers: []Issuer{{URL: p.URL}}, Now: func() time.Time { return now }})
	token := p.token(t, now.Add(time.Minute))
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	for range 3 {
		if _, err := id.Identify(r, "/mcp/s/notes"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := id.Identify(r, "/mcp/s/other"); err == nil {
		t.Error("it counts for another resource")
	}
	now = now.Add(2 * time.Minute)
	if _, err := id.Identify(r, "/mcp/s/notes"); err == nil {
		t.Error("it counts although it has expired")
	}
}

// TestMemory_bounded: however many tokens come, few are remembered, and those
// that come often stay.
func TestMemory_bounded(t *testing.T) {
	p := newPaper(t)
	id := New(Options{URL: gatewayURL, Issuers: []Issuer{{URL: p.URL}}, Now: at(noon)})
	keys, err := id.issuers[p.URL].keys.find(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	known := &remembered{by: id.issuers[p.URL], keys: keys}
	often := sha256.Sum256([]byte("often"))
	id.seen.remember(often, known)
	for i := range 10 * maxRemembered {
		id.seen.remember(sha256.Sum256(fmt.Append(nil, i)), known)
		if i%100 == 0 && id.seen.recall(often) == nil {
			t.Fatalf("forgotten after %d others", i)
		}
	}
	if n := len(id.seen.young) + len(id.seen.before); n > 2*maxRemembered {
		t.Errorf("%d tokens are remembered", n)
	}
}

// TestDiscovery: metadata that speaks for another issuer, or sends us where
// anybody on the way could answer, is not believed.
func TestDiscovery(t *testing.T) {
	for name, says := range map[string]func(*paper) string{
		"another issuer": func(p *paper) string { return fmt.Sprintf(`{"issuer":"https://else","jwks_uri":%q}`, p.URL+"/keys") },
		"plain http": func(p *paper) string {
			return fmt.Sprintf(`{"issuer":%q,"jwks_uri":"http://keys.example.com/"}`, p.URL)
		},
		"no keys":     func(p *paper) string { return fmt.Sprintf(`{"issuer":%q}`, p.URL) },
		"two answers": func(p *paper) string { return fmt.Sprintf(`{"issuer":%q,"issuer":"x"}`, p.URL) },
	} {
		p := newPaper(t)
		p.says = says
		id := New(Options{URL: gatewayURL, Now: at(noon), Issuers: []Issuer{{URL: p.URL}}})
		if _, c := ask(id, "Authorization", "Bearer "+p.token(t, noon.Add(time.Hour))); c == nil || c.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestClaims reads who somebody is where issuers write it.
func TestClaims(t *testing.T) {
	p := newPaper(t)
	for _, tc := range []struct {
		name           string
		issuer         Issuer
		claims         map[string]any
		groups, scopes []string
		tenant, client string
	}{
		{"Entra", Issuer{}, map[string]any{"scp": "a b", "groups": []string{"g"}, "azp": "app"}, []string{"g"}, []string{"a", "b"}, "default", "app"},
		{"Okta", Issuer{}, map[string]any{"scp": []string{"a", "b"}}, nil, []string{"a", "b"}, "default", ""},
		{"Keycloak", Issuer{GroupsClaim: "/realm_access/roles"}, map[string]any{"realm_access": map[string]any{"roles": []string{"r"}}, "scope": "a"}, []string{"r"}, []string{"a"}, "default", ""},
		{"a tenant", Issuer{TenantClaim: "tid"}, map[string]any{"tid": "acme"}, nil, nil, "acme", ""},
		{"a fixed tenant", Issuer{Tenant: "acme"}, nil, nil, nil, "acme", ""},
		{"one group", Issuer{}, map[string]any{"groups": "all staff"}, []string{"all staff"}, nil, "default", ""},
		{"not a list", Issuer{}, map[string]any{"groups": map[string]any{"a": 1}, "scope": 7}, nil, nil, "default", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.issuer.URL = p.URL
			id := New(Options{URL: gatewayURL, Now: at(noon), Issuers: []Issuer{tc.issuer}})
			claims := map[string]any{"iss": p.URL, "sub": "ann", "aud": resource, "exp": noon.Add(time.Hour).Unix()}
			maps.Copy(claims, tc.claims)
			who, c := ask(id, "Authorization", "Bearer "+p.sign(t, claims))
			if c != nil {
				t.Fatal(c)
			}
			if fmt.Sprint(who.Groups, who.Scopes, who.Tenant, who.Client) != fmt.Sprint(tc.groups, tc.scopes, tc.tenant, tc.client) {
				t.Errorf("got %+v", who)
			}
		})
	}
	id := New(Options{URL: gatewayURL, Now: at(noon), Issuers: []Issuer{{URL: p.URL, TenantClaim: "tid"}}})
	if who, c := ask(id, "Authorization", "Bearer "+p.token(t, noon.Add(time.Hour))); c == nil {
		t.Errorf("without the tenant it must have: %+v", who)
	}
}

// FuzzIdentify: whatever a stranger sends, nobody is let in who could not make
// the signature, and the answer can be written into a header.
func FuzzIdentify(f *testing.F) {
	p := newPaper(f)
	key, hash := NewKey()
	id := New(Options{URL: gatewayURL, Now: at(noon), Issuers: []Issuer{{URL: p.URL}}, Keys: []Key{{Name: "ci", Hash: hash}}})
	good := p.token(f, noon.Add(time.Hour))
	for _, seed := range []string{"", "Bearer", "Bearer " + good[:len(good)-3], "Basic YTpi", "bearer a.b.c", "Bearer " + key[:20],
		"Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer\t" + good, "Bearer " + good + "=="} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, header, second string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp/s/notes", nil)
		r.Header["Authorization"] = []string{header}
		if second != "x" {
			r.Header["Authorization"] = append(r.Header["Authorization"], second)
		}
		who, err := id.Identify(r, "/mcp/s/notes")
		if err == nil {
			t.Fatalf("%q is %+v", header, who)
		}
		c, _ := errors.AsType[*Challenge](err)
		if c.Status != http.StatusUnauthorized && c.Status != http.StatusBadRequest {
			t.Fatalf("status %d", c.Status)
		}
		for _, b := range []byte(c.Header()) {
			if b < ' ' || b > '~' {
				t.Fatalf("%q cannot be a header", c.Header())
			}
		}
	})
}
