package detect

import (
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/strict"
)

// planted are secrets of each shape. They are put together here so that nobody
// who looks for secrets in this repository finds one.
var planted = map[string]string{
	"AWS access key":     "AKIA" + "IOSFODNN7EXAMPLE",
	"AWS secret key":     "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
	"GitHub token":       "ghp_" + strings.Repeat("aB3d", 9),
	"GitLab token":       "glpat-" + strings.Repeat("x7", 12),
	"Slack token":        "xoxb-" + "123456789012-abcdefABCDEF",
	"Stripe key":         "sk_live_" + strings.Repeat("4e", 12),
	"model provider key": "sk-ant-" + strings.Repeat("api03", 8),
	"Google key":         "AIza" + strings.Repeat("S", 35),
	"npm token":          "npm_" + strings.Repeat("q", 36),
	"token":              "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl",
	"private key":        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----",
	"Twilio key":         "SK" + strings.Repeat("0a", 16),
}

func TestSecrets(t *testing.T) {
	for kind, secret := range planted {
		for _, text := range []string{secret, "use " + secret + " please", "(" + secret + ")", "k: " + secret + "\n"} {
			found := Secrets(text)
			if len(found) != 1 || found[0].Kind != kind {
				t.Errorf("%q: found %v, want one %s", text, found, kind)
			}
			if clean := Text(text); strings.Contains(clean, secret) {
				t.Errorf("Text(%q) = %q", text, clean)
			}
		}
	}
}

func TestSecrets_places(t *testing.T) {
	const head, foot = "-----BEGIN RSA PRIVATE" + " KEY-----\n", "-----END RSA PRIVATE" + " KEY-----"
	aws := planted["AWS secret key"]
	for text, want := range map[string]string{
		"postgres://app:hunter2@db/x":            "postgres://app:[hidden: password]@db/x",
		"Authorization: Bearer abcdefghijklmnop": "Authorization: Bearer [hidden: credential]",
		`set password="correct horse"`:           `set password="[hidden: secret] horse"`,
		"DB_PASSWORD=tr0ub4dor&x":                "DB_PASSWORD=[hidden: secret]&x",
		"postgres://app:hunt@r2@db/x":            "postgres://app:[hidden: password]@db/x",
		aws + " " + aws:                          "[hidden: AWS secret key] [hidden: AWS secret key]",
		head + "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\nMIIEow\n" + foot + " x": "[hidden: private key] x",
		head + "DEK-Info: AES-128-CBC,0A\n\nMIIEow\n":                                       "[hidden: private key]",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSecrets_none(t *testing.T) {
	for _, text := range []string{
		"", "list my notes", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "https://example.com/a?b=c#d",
		"src/internal/gateway/really/long/path/x.go", "the password is wrong", "2026-11-15T05:02:29Z",
		"AKIA", "token bucket", "user@example.com", "SELECT * FROM keys WHERE id = 'k1'",
	} {
		if found := Secrets(text); found != nil {
			t.Errorf("%q: found %v", text, found)
		}
	}
}

func TestJSON(t *testing.T) {
	aws := planted["AWS access key"]
	clean, hidden := JSON([]byte(`{"q":"x","n":9007199254740993,"user":{"password":"p","apiKey":["a",1]},"text":"key ` + aws + `","` + aws + `":null,"pageToken":"next"}`))
	want := `{"q":"x","n":9007199254740993,"user":{"password":"[hidden: secret]","apiKey":["[hidden: secret]","[hidden: secret]"]},` +
		`"text":"key [hidden: AWS access key]","[hidden: AWS access key]":null,"pageToken":"next"}`
	if string(clean) != want {
		t.Errorf("got  %s\nwant %s", clean, want)
	}
	if want := []string{"/user/password", "/user/apiKey", "/text"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden = %v, want %v", hidden, want)
	}
}

// FuzzJSON: what comes out is valid, holds no secret that can be found, and is
// left alone by a second pass.
func FuzzJSON(f *testing.F) {
	for _, secret := range planted {
		f.Add(`{"a":` + string(strict.Quote(secret)) + `,"token":["x"]}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strict.Check([]byte(text), strict.Limits{}) != nil {
			t.Skip()
		}
		clean, _ := JSON([]byte(text))
		if err := strict.Check(clean, strict.Limits{}); err != nil {
			t.Fatalf("%s became %s: %v", text, clean, err)
		}
		if again, hidden := JSON(clean); string(again) != string(clean) && len(hidden) > 0 && !named(clean) {
			t.Errorf("%s became %s, and then %s", text, clean, again)
		}
	})
}

// named reports whether some name in the value is that of a secret: what stands
// under it is hidden every time.
func named(raw []byte) bool {
	for at := range strict.Leaves(raw) {
		if slices.ContainsFunc(strings.Split(at, "/"), Named) {
			return true
		}
	}
	return false
}
