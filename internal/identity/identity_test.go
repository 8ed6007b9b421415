package identity

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// ask identifies a request with these headers.
func ask(id *Identity, header ...string) (annotary.Principal, *Challenge) {
	r := httptest.NewRequest(http.MethodPost, "/mcp/s/notes", nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	who, err := id.Identify(r, "/mcp/s/notes")
	c, _ := errors.AsType[*Challenge](err)
	return who, c
}

func TestLocal(t *testing.T) {
	for name, id := range map[string]*Identity{"nil": nil, "zero": New(Options{})} {
		who, c := ask(id, "Authorization", "Bearer whatever")
		if diff := cmp.Diff(Local(), who); diff != "" || c != nil {
			t.Errorf("%s: %s, %v", name, diff, c)
		}
	}
}

func TestKeys(t *testing.T) {
	ci, hash := NewKey()
	old, oldHash := NewKey()
	gone, goneHash := NewKey()
	stranger, _ := NewKey()
	id := New(Options{Now: at(noon), Keys: []Key{
		{Name: "ci", Hash: hash, Groups: []string{"builders"}, Scopes: []string{"a"}, Expires: noon.Add(time.Second)},
		{Name: "old", Hash: oldHash, Expires: noon},
		{Name: "gone", Hash: goneHash, Revoked: true},
	}})
	who, c := ask(id, "Authorization", "bearer "+ci)
	want := annotary.Principal{Tenant: "default", Issuer: "keys", Subject: "ci", Client: "ci", Groups: []string{"builders"}, Scopes: []string{"a"}}
	if diff := cmp.Diff(want, who); diff != "" || c != nil {
		t.Errorf("a key that holds: %s, %v", diff, c)
	}
	for name, key := range map[string]string{"expired": old, "revoked": gone, "unknown": stranger, "cut short": ci[:len(ci)-1], "its hash": keyPrefix + hash.String()} {
		if _, c := ask(id, "Authorization", "Bearer "+key); c == nil || c.Status != http.StatusUnauthorized && c.Status != http.StatusBadRequest {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestKeys_lastRevoked: a gateway whose last key was revoked lets nobody in.
func TestKeys_lastRevoked(t *testing.T) {
	key, hash := NewKey()
	id := New(Options{Keys: []Key{{Name: "ci", Hash: hash, Revoked: true}}})
	for name, header := range map[string][]string{"nothing": nil, "the key": {"Authorization", "Bearer " + key}} {
		if _, c := ask(id, header...); c == nil || c.Status != http.StatusUnauthorized {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestKeyHash(t *testing.T) {
	_, hash := NewKey()
	var back KeyHash
	if err := back.UnmarshalText([]byte(hash.String())); err != nil || back != hash {
		t.Errorf("%v, %v", back, err)
	}
	for _, text := range []string{"", "sha256:", "md5:00", hash.String() + "00", hash.String()[7:]} {
		if back.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is a hash", text)
		}
	}
}

func TestChallenges(t *testing.T) {
	key, hash := NewKey()
	keys := New(Options{Keys: []Key{{Name: "ci", Hash: hash}}})
	oauth := New(Options{URL: "https://gw.example.com", Scopes: []string{"mcp:use", "openid"}, Issuers: []Issuer{{URL: "https://issuer.example.com"}}})
	const metadata = `resource_metadata="https://gw.example.com/.well-known/oauth-protected-resource/mcp/s/notes"`
	for _, tc := range []struct {
		name   string
		id     *Identity
		header []string
		status int
		want   string
	}{
		{"nothing, keys only", keys, nil, 401, `Bearer realm="annotary"`},
		{"nothing", oauth, nil, 401, `Bearer scope="mcp:use openid", ` + metadata},
		{"twice", keys, []string{"Authorization", "Bearer " + key, "Authorization", "Bearer " + key}, 400, `Bearer error="invalid_request", error_description="the header Authorization stands there twice"`},
		{"another scheme", keys, []string{"Authorization", "Basic YTpi"}, 400, `Bearer error="invalid_request", error_description="the header Authorization must carry a Bearer token"`},
		{"empty", keys, []string{"Authorization", "Bearer "}, 400, `Bearer error="invalid_request", error_description="the header Authorization carries no token that could be read"`},
		{"two tokens", keys, []string{"Authorization", "Bearer " + key + " " + key}, 400, `Bearer error="invalid_request", error_description="the header Authorization carries no token that could be read"`},
		{"not a token", oauth, []string{"Authorization", "Bearer a.b.c"}, 401, `Bearer error="invalid_token", error_description="the token is not valid", scope="mcp:use openid", ` + metadata},
		{"unknown key", keys, []string{"Authorization", "Bearer annotary_x"}, 401, `Bearer error="invalid_token", error_description="the key is not known or no longer holds"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			who, c := ask(tc.id, tc.header...)
			if c == nil {
				t.Fatalf("let in as %+v", who)
			}
			if c.Status != tc.status || c.Header() != tc.want {
				t.Errorf("got  %d %s\nwant %d %s", c.Status, c.Header(), tc.status, tc.want)
			}
		})
	}
	step := oauth.StepUp("/mcp/s/notes", []string{"notes:write"})
	if want := `Bearer error="insufficient_scope", error_description="the call wants a scope that the caller lacks", scope="notes:write", ` + metadata; step.Status != 403 || step.Header() != want {
		t.Errorf("got  %d %s\nwant 403 %s", step.Status, step.Header(), want)
	}
}

func TestMetadata(t *testing.T) {
	id := New(Options{URL: "https://gw.example.com", Scopes: []string{"mcp:use"}, Issuers: []Issuer{{URL: "https://b.example.com"}, {URL: "https://a.example.com"}}})
	want := `{"resource":"https://gw.example.com/mcp/s/notes","authorization_servers":["https://a.example.com","https://b.example.com"],"scopes_supported":["mcp:use"],"bearer_methods_supported":["header"],"resource_name":"Annotary"}`
	if got := string(id.Metadata("/mcp/s/notes")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := New(Options{Keys: []Key{{}}}).Metadata("/mcp/s/notes"); got != nil {
		t.Errorf("without an issuer: %s", got)
	}
}
