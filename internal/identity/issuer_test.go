package identity

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/testenv"
)

const (
	gatewayURL = "https://gw.example.com"
	resource   = gatewayURL + "/mcp/s/notes"
)

// trusting is a gateway that believes one real issuer, at a time that the test
// can change.
func trusting(issuer *testenv.Issuer) (*Identity, *time.Time) {
	now := time.Now()
	return New(Options{URL: gatewayURL, Issuers: []Issuer{{URL: issuer.URL}}, Now: func() time.Time { return now }}), &now
}

// TestRobot: a token that a client got as clients do is believed, and says who
// it is.
func TestRobot(t *testing.T) {
	issuer := testenv.NewIssuer(t)
	id, _ := trusting(issuer)
	who, c := ask(id, "Authorization", "Bearer "+issuer.RobotToken(resource, "notes:read notes:write"))
	want := annotary.Principal{
		Tenant: "default", Issuer: issuer.URL, Subject: "robot", Client: "robot",
		Groups: []string{"writers"}, Scopes: []string{"notes:read", "notes:write"},
	}
	if diff := cmp.Diff(want, who); diff != "" || c != nil {
		t.Errorf("%s, %v", diff, c)
	}
}

// admit asks whether a token proves anything, for whichever resource: an issuer
// that counts signed it.
func admit(id *Identity, token string) error {
	r := httptest.NewRequest(http.MethodPost, "/v1/decide", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return id.Admit(r)
}

// TestTokens: what does not hold is refused, though the issuer's own key signed
// it, and the client learns why.
func TestTokens(t *testing.T) {
	issuer := testenv.NewIssuer(t)
	id, now := trusting(issuer)
	sec := now.Unix()
	claims := func(change ...any) map[string]any {
		c := map[string]any{"sub": "ann", "aud": resource, "exp": sec + 60, "iat": sec}
		for i := 0; i+1 < len(change); i += 2 {
			if name := change[i].(string); change[i+1] == nil {
				delete(c, name)
			} else {
				c[name] = change[i+1]
			}
		}
		return c
	}
	good := issuer.Sign(nil, claims())
	parts := strings.Split(good, ".")
	b64 := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, tc := range []struct {
		name, token, why string // no why: let in
	}{
		{"good", good, ""},
		{"expired within the skew", issuer.Sign(nil, claims("exp", sec-20)), ""},
		{"expired", issuer.Sign(nil, claims("exp", sec-40)), "the token has expired"},
		{"never expires", issuer.Sign(nil, claims("exp", nil)), "the token is not valid"},
		{"not yet within the skew", issuer.Sign(nil, claims("nbf", sec+20)), ""},
		{"not yet", issuer.Sign(nil, claims("nbf", sec+40)), "the token does not hold yet"},
		{"made in the future", issuer.Sign(nil, claims("iat", sec+40)), "the token does not hold yet"},
		{"for another resource", issuer.Sign(nil, claims("aud", gatewayURL+"/mcp/s/other")), "the token is meant for another resource"},
		{"for the whole host", issuer.Sign(nil, claims("aud", gatewayURL)), "the token is meant for another resource"},
		{"for a longer path", issuer.Sign(nil, claims("aud", resource+"/x")), "the token is meant for another resource"},
		{"for several", issuer.Sign(nil, claims("aud", []string{"https://else.example.com", resource})), ""},
		{"for nobody", issuer.Sign(nil, claims("aud", nil)), "the token is meant for another resource"},
		{"of another issuer", issuer.Sign(nil, claims("iss", "https://else.example.com")), "the token is of an issuer that does not count here"},
		{"of an issuer with a slash more", issuer.Sign(nil, claims("iss", issuer.URL+"/")), "the token is of an issuer that does not count here"},
		{"of nobody", issuer.Sign(nil, claims("sub", "")), "the token is not valid"},
		{"alg none", b64(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + ".", "the token is not valid"},
		{"alg none, signed", b64(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + "." + parts[2], "the token is not valid"},
		{"a shared secret", issuer.Sign(map[string]any{"alg": "HS256"}, claims()), "the token is not valid"},
		{"another algorithm than its key's", issuer.Sign(map[string]any{"alg": "RS512"}, claims()), "the token is not valid"},
		{"for another end", issuer.Sign(map[string]any{"typ": "logout+jwt"}, claims()), "the token is not valid"},
		{"an unknown key", issuer.Sign(map[string]any{"kid": "nobody's"}, claims()), "the token is not valid"},
		{"claims changed", parts[0] + "." + b64(`{"iss":"`+issuer.URL+`","sub":"eve"}`) + "." + parts[2], "the token is not valid"},
		{"bound to a key", issuer.Sign(nil, claims("cnf", map[string]any{"jkt": "x"})), "the token is bound to a key that the client did not show"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			who, c := ask(id, "Authorization", "Bearer "+tc.token)
			signed := tc.why != "the token is not valid" && tc.why != errIssuer.Error()
			if err := admit(id, tc.token); (err == nil) != signed {
				t.Errorf("admitted: %v", err)
			}
			switch {
			case tc.why == "" && (c != nil || who.Subject != "ann"):
				t.Errorf("refused: %v", c)
			case tc.why != "" && c == nil:
				t.Errorf("let in as %+v", who)
			case tc.why != "" && (c.Status != http.StatusUnauthorized || c.Code != invalidToken || c.Text != tc.why):
				t.Errorf("got %d %s %q, want 401 %s %q", c.Status, c.Code, c.Text, invalidToken, tc.why)
			}
		})
	}
}

// TestRotation: a key that the issuer brings in counts with the first token that
// names it; one that it withdrew, no longer than ten minutes.
func TestRotation(t *testing.T) {
	issuer := testenv.NewIssuer(t)
	id, now := trusting(issuer)
	token := func() string {
		return issuer.Sign(nil, map[string]any{"sub": "ann", "aud": resource, "exp": now.Add(2 * time.Hour).Unix()})
	}
	before := token()
	for range 2 {
		if _, c := ask(id, "Authorization", "Bearer "+before); c != nil {
			t.Fatal(c)
		}
	}
	issuer.Rotate()
	if _, c := ask(id, "Authorization", "Bearer "+before); c != nil {
		t.Errorf("before anybody could know: %v", c)
	}
	if _, c := ask(id, "Authorization", "Bearer "+token()); c != nil {
		t.Errorf("the new key: %v", c)
	}
	if _, c := ask(id, "Authorization", "Bearer "+before); c == nil {
		t.Error("the old key still counts although the keys were read again")
	}
	last := token()
	issuer.Rotate()
	*now = now.Add(fresh + time.Second)
	if _, c := ask(id, "Authorization", "Bearer "+last); c == nil {
		t.Error("a key that was withdrawn ten minutes ago still counts")
	}
}
