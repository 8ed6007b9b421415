package testenv

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/issuer.mjs
var issuerProgram []byte

// An Issuer is a running authorization server: oidc-provider, as its own
// process. It logs everybody in as "ann" of the group "writers", and knows the
// public client "host", whose redirect address is /callback on any loopback
// port, and the confidential clients "robot" and "page", for people who log in on
// a page whose redirect address is /login/callback.
type Issuer struct {
	t   testing.TB
	URL string
}

// NewIssuer starts an issuer that ends with the test.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	program := filepath.Join(t.TempDir(), "issuer.mjs")
	if err := os.WriteFile(program, issuerProgram, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(Node(t), program, NPM(t, "oidc-provider", "lib", "index.js"))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the issuer said: %s", said.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the issuer did not start: %v: %s", err, said.String())
	}
	return &Issuer{t, strings.TrimSpace(line)}
}

// Sign has the issuer sign claims with its real key. Header members replace what
// it would write itself; so does the claim iss.
func (i *Issuer) Sign(header, claims map[string]any) string {
	i.t.Helper()
	raw, err := json.Marshal(map[string]any{"header": header, "claims": claims})
	if err != nil {
		i.t.Fatal(err)
	}
	return i.post("/test/sign", "application/json", raw)
}

// Rotate gives the issuer a new key; the old one is gone.
func (i *Issuer) Rotate() {
	i.t.Helper()
	i.post("/test/rotate", "application/json", nil)
}

// RobotToken has the client "robot" ask for a token for a resource, as clients
// do.
func (i *Issuer) RobotToken(resource, scope string) string {
	i.t.Helper()
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"only for tests"},
		"resource": {resource}, "scope": {scope},
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	raw := i.post("/token", "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err := json.Unmarshal([]byte(raw), &answer); err != nil || answer.Token == "" {
		i.t.Fatalf("the issuer gave no token: %v: %s", err, raw)
	}
	return answer.Token
}

func (i *Issuer) post(path, media string, body []byte) string {
	i.t.Helper()
	res, err := http.Post(i.URL+path, media, bytes.NewReader(body))
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		i.t.Fatalf("POST %s: %s: %s, %v", path, res.Status, answer, err)
	}
	return string(answer)
}
