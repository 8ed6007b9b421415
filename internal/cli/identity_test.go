package cli_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/annotary/annotary/internal/cli"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/testenv"
)

// notes is a real MCP server with a tool that reads and one that deletes. It
// remembers what it was asked, and with which headers.
type notes struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []string
	header []http.Header
}

func newNotes(t *testing.T) *notes {
	n := &notes{}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	for _, name := range []string{"list_notes", "delete_note"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.calls = append(n.calls, name)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
		})
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.header = append(n.header, r.Header.Clone())
		n.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *notes) called(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, c := range n.calls {
		if c == name {
			count++
		}
	}
	return count
}

// sawSecret reports whether any header of any request held one of these texts.
func (n *notes) sawSecret(secrets ...string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.header {
		var all bytes.Buffer
		_ = h.Write(&all)
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(all.String(), s) }) {
			return true
		}
	}
	return false
}

// serve runs 'annotary serve' in this process until the test ends and returns
// the address it prints for its one server.
func serve(t *testing.T, configuration string) string {
	t.Helper()
	said := &record{}
	return serveInto(t, said, configuration)
}

// serveInto does the same and keeps what it says.
func serveInto(t *testing.T, said *record, configuration string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "annotary.yaml")
	if err := os.WriteFile(path, []byte(configuration+"\ndata: "+filepath.Join(dir, "data")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, &cli.Streams{In: strings.NewReader(""), Out: said, Err: said}, []string{"serve", "--config", path})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("serve said: %s", said)
		}
	})
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if u := said.find("http"); u != "" {
			return u
		}
		select {
		case code := <-ended:
			ended <- code
			t.Fatalf("serve ended with %d: %s", code, said)
		default:
		}
	}
	t.Fatalf("serve did not print an address: %s", said)
	return ""
}

// record keeps what a command prints.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// find returns the first whole line that begins so.
func (r *record) find(prefix string) string {
	for line := range strings.Lines(r.String()) {
		if strings.HasPrefix(line, prefix) && strings.HasSuffix(line, "\n") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// browser is a person with a browser: it follows every redirect and keeps
// cookies, until the issuer sends it back to the client.
func browser(asked *[]string) auth.AuthorizationCodeFetcher {
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Path == "/callback" || len(via) > 20 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		u, err := url.Parse(args.URL)
		if err != nil {
			return nil, err
		}
		scopes := strings.Fields(u.Query().Get("scope")) // in any order
		slices.Sort(scopes)
		*asked = append(*asked, strings.Join(scopes, " ")+" for "+u.Query().Get("resource"))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		back, err := res.Location()
		if err != nil {
			page, _ := io.ReadAll(res.Body)
			return nil, fmt.Errorf("the issuer did not send us back: %s: %s", res.Status, page)
		}
		q := back.Query()
		if q.Get("error") != "" {
			return nil, errors.New(q.Get("error") + ": " + q.Get("error_description"))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
}

// TestStepUp: a real client, the official SDK's, meets a real issuer. It comes
// without a token, follows the challenge to the metadata and the issuer, and
// lists; it calls a tool that wants more, follows that challenge too, and the
// call goes through in the same session. The server never sees a token.
func TestStepUp(t *testing.T) {
	issuer, up := testenv.NewIssuer(t), newNotes(t)
	endpoint := serve(t, fmt.Sprintf(`
listen: 127.0.0.1:0
preset: relaxed
rules: {read: allow, write: allow, destructive: allow, irreversible: allow}
on_missing_scope: challenge
scopes: {notes: ["notes:read"], "notes/delete_*": ["notes:write"]}
identity:
  scopes: ["notes:read"]
  issuers: {%q: {}}
servers: {notes: {url: %q}}
`, issuer.URL, up.URL))
	var asked []string
	oauth, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient:      &oauthex.ClientCredentials{ClientID: "host"},
		RedirectURL:              "http://127.0.0.1:1/callback",
		AuthorizationCodeFetcher: browser(&asked),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: oauth, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 2 {
		t.Fatalf("listed %v, %v: both tools are listed, one wants more", list, err)
	}
	for _, name := range []string{"list_notes", "delete_note"} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v, %+v", name, err, res)
		}
		if n := up.called(name); n != 1 {
			t.Errorf("%s reached the server %d times, want once", name, n)
		}
	}
	want := []string{"notes:read for " + endpoint, "notes:read notes:write for " + endpoint}
	if !slices.Equal(asked, want) {
		t.Errorf("the issuer was asked for %q, want %q", asked, want)
	}
	source, err := oauth.TokenSource(ctx)
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	if up.sawSecret("Bearer", token.AccessToken) {
		t.Error("the server saw a client's token")
	}
}

// TestPassthrough: a token that is good for the server behind the gateway is not
// good for the gateway, and never gets through to it.
func TestPassthrough(t *testing.T) {
	issuer, up := testenv.NewIssuer(t), newNotes(t)
	endpoint := serve(t, fmt.Sprintf(`
listen: 127.0.0.1:0
identity: {issuers: {%q: {}}}
servers: {notes: {url: %q}}
`, issuer.URL, up.URL))
	ours, theirs := issuer.RobotToken(endpoint, "notes:read"), issuer.RobotToken(up.URL, "notes:read")
	for _, tc := range []struct {
		name, token string
		status      int
	}{{"theirs", theirs, http.StatusUnauthorized}, {"ours", ours, http.StatusOK}} {
		if status := statusOf(t, http.MethodPost, endpoint, tc.token); status != tc.status {
			t.Errorf("%s: %d, want %d", tc.name, status, tc.status)
		}
	}
	if up.sawSecret("Bearer", ours, theirs) {
		t.Error("the server saw a client's token")
	}
}

// TestSessionOfAnother: a session belongs to who opened it; with another's key it
// does not exist.
func TestSessionOfAnother(t *testing.T) {
	ann, annHash := identity.NewKey()
	eve, eveHash := identity.NewKey()
	endpoint := serve(t, fmt.Sprintf(`
listen: 127.0.0.1:0
identity: {keys: {ann: {hash: %q}, eve: {hash: %q}}}
servers: {notes: {url: %q}}
`, annHash, eveHash, newNotes(t).URL))
	post := func(key, session, body string) *http.Response {
		req := request(t, http.MethodPost, endpoint, key, body)
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	session := post(ann, "", hello).Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("no session was opened")
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, tc := range []struct {
		name, key string
		status    int
	}{{"another's", eve, http.StatusNotFound}, {"nobody's", "", http.StatusUnauthorized}, {"its own", ann, http.StatusOK}} {
		if res := post(tc.key, session, list); res.StatusCode != tc.status {
			t.Errorf("%s key: %s, want %d", tc.name, res.Status, tc.status)
		}
	}
}

// TestOperatorTokens: a token for the operator's channel opens that and not MCP,
// and the other way round; and only to who has the role.
func TestOperatorTokens(t *testing.T) {
	issuer, up, said := testenv.NewIssuer(t), newNotes(t), &record{}
	policies := filepath.Join(t.TempDir(), "roles.cedar")
	if err := os.WriteFile(policies, []byte(`permit(principal in Group::"writers", action == Action::"operate", resource);`), 0o600); err != nil {
		t.Fatal(err)
	}
	endpoint := serveInto(t, said, fmt.Sprintf(`
listen: 127.0.0.1:0
operator: {listen: 127.0.0.1:0}
preset: careful
policies: [%q]
identity: {issuers: {%q: {}}}
servers: {notes: {url: %q}}
`, policies, issuer.URL, up.URL))
	_, channel, _ := strings.Cut(said.String(), "url=")
	channel = strings.Fields(channel)[0]
	forMCP, forOperators := issuer.RobotToken(endpoint, "notes:read"), issuer.RobotToken(channel+"/v1", "notes:read")
	for _, tc := range []struct {
		name, method, url, token string
		status                   int
	}{
		{"the channel with its token", http.MethodGet, channel + "/v1/status", forOperators, http.StatusOK},
		{"another role", http.MethodGet, channel + "/v1/audit", forOperators, http.StatusForbidden},
		{"the channel with another", http.MethodGet, channel + "/v1/status", forMCP, http.StatusUnauthorized},
		{"MCP with its token", http.MethodPost, endpoint, forMCP, http.StatusOK},
		{"MCP with another", http.MethodPost, endpoint, forOperators, http.StatusUnauthorized},
		{"metadata", http.MethodGet, channel + "/.well-known/oauth-protected-resource/v1", "", http.StatusOK},
	} {
		if status := statusOf(t, tc.method, tc.url, tc.token); status != tc.status {
			t.Errorf("%s: %d, want %d", tc.name, status, tc.status)
		}
	}
}

// statusOf greets with a token and says how that was taken.
func statusOf(t *testing.T, method, url, token string) int {
	t.Helper()
	res, err := http.DefaultClient.Do(request(t, method, url, token, hello))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// request carries a message and a token, if there is one.
func request(t *testing.T, method, url, token, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestCertificates: with TLS and nothing but certificates, who has one of the
// authority is let in, and nobody else gets a connection.
func TestCertificates(t *testing.T) {
	up, dir := newNotes(t), t.TempDir()
	ca := newAuthority(t)
	server, client := ca.issue(t, "localhost", "127.0.0.1"), ca.issue(t, "ann", "")
	stranger := newAuthority(t).issue(t, "ann", "")
	for name, content := range map[string][]byte{"ca.pem": ca.pem(), "server.pem": pemOf("CERTIFICATE", server.Certificate[0]), "server.key": keyOf(t, server)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	endpoint := serve(t, fmt.Sprintf(`
listen: 127.0.0.1:0
tls: {certificate: %[1]s/server.pem, key: %[1]s/server.key, client_ca: %[1]s/ca.pem}
identity: {certificates: {}}
servers: {notes: {url: %[2]q}}
`, dir, up.URL))
	if !strings.HasPrefix(endpoint, "https://") {
		t.Fatalf("it prints %s", endpoint)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.pem())
	for _, tc := range []struct {
		name  string
		certs []tls.Certificate
		ok    bool
	}{{"ann", []tls.Certificate{client}, true}, {"nobody", nil, false}, {"of another authority", []tls.Certificate{stranger}, false}} {
		c := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: tc.certs}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).
			Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: c, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err == nil {
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_notes"}); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			session.Close()
		}
		cancel()
		c.CloseIdleConnections()
	}
}

// An authority signs certificates.
type authority struct{ cert tls.Certificate }

func newAuthority(t *testing.T) *authority {
	a := &authority{}
	a.cert = a.make(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) pem() []byte { return pemOf("CERTIFICATE", a.cert.Certificate[0]) }

// issue makes a certificate for a server on an address, or for a client.
func (a *authority) issue(t *testing.T, name, address string) tls.Certificate {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{"staff"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if address != "" {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		c.IPAddresses = append(c.IPAddresses, []byte{127, 0, 0, 1})
	}
	return a.make(t, c)
}

func (a *authority) make(t *testing.T, c *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := c, any(key)
	if a.cert.PrivateKey != nil {
		signer = a.cert.PrivateKey
		if parent, err = x509.ParseCertificate(a.cert.Certificate[0]); err != nil {
			t.Fatal(err)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func keyOf(t *testing.T, c tls.Certificate) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("PRIVATE KEY", der)
}
