package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/seal"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// diary lists two tools over HTTP.
func diary(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	result := `{"resultType":"complete","tools":[{"name":"list_notes","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},{"name":"delete_note","inputSchema":{"type":"object"}}]}`
	if method, _ := strict.Text(strict.Get(body, "method")); method == "server/discover" {
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, strict.Get(body, "id"), result)
}

// options reach a gateway in front of the diary.
func options(t testing.TB, log Log) Options { return optionsOf(t, log, false) }

// fleetOptions reach one that has many users.
func fleetOptions(t testing.TB) Options { return optionsOf(t, &memory.Log{}, true) }

func optionsOf(t testing.TB, log Log, fleet bool) Options {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(diary))
	t.Cleanup(srv.Close)
	s, err := upstream.New(upstream.Target{Name: "notes", URL: srv.URL}, upstream.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		t.Fatal(err)
	}
	hide := `@id("closed") forbid(principal in Group::"interns", action == Action::"see", resource);`
	set, err := policy.New(policy.Options{Rules: &rules, Fleet: fleet, Files: []policy.File{{Name: "team.cedar", Text: hide}}})
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.New(s)
	g.Use(&gateway.Judge{
		Ladder: &gateway.Ladder{
			Desk:   approval.NewDesk(memory.NewBucket(), memory.NewBucket(), approval.Options{}),
			Sealer: seal.NewSealer(memory.NewBucket()),
		},
		Policies: set, Stances: map[string]catalog.Stance{}, Log: &memory.Log{}, Kills: gateway.NewKills(memory.NewBucket()),
	})
	t.Cleanup(func() { g.Replace(); g.Wait() })
	return Options{
		Gateway: g, Version: "v1", Config: "annotary.yaml", Confined: "none",
		Log:    func() Log { return log },
		Reload: func() error { return annotary.E(annotary.CodeConfig, "no such key", nil).WithHint("mend it") },
	}
}

func request(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

// TestHandler: every answer is of the form the document gives it.
func TestHandler(t *testing.T) {
	h := Handler(options(t, &memory.Log{}))
	for _, tt := range []struct {
		method, target, body string
		status               int
		schema, has          string
	}{
		{"GET", "/v1/status", "", 200, "Status", `"servers":["notes"]`},
		{"GET", "/v1/tools?server=notes", "", 200, "Tools", `"by":"declared"`},
		{"GET", "/v1/tools?server=notes&group=interns", "", 200, "Tools", `"rule":"closed"`},
		{"GET", "/v1/tools?server=nobody", "", 404, "Failure", "unknown_server"},
		{"GET", "/v1/status?verbose=1", "", 400, "Failure", "no parameter verbose"},
		{"POST", "/v1/why", `{"server":"notes","tool":"delete_note","arguments":{"id":"1"}}`, 200, "WhyAnswer", `"told":"approval_required"`},
		{"POST", "/v1/why", `{"server":"notes","tool":"delete_note","as":{"subject":"ann","groups":["interns"]}}`, 200, "WhyAnswer", `"rule":"closed"`},
		{"POST", "/v1/why", `{"server":"notes","tool":"none"}`, 200, "WhyAnswer", `"code":"unknown_tool"`},
		{"POST", "/v1/why", `{"server":"notes","server":"x"}`, 400, "Failure", "same key twice"},
		{"POST", "/v1/why", `{"tool":"` + strings.Repeat("x", maxBody) + `"}`, 400, "Failure", "too large"},
		{"POST", "/v1/why", strings.Repeat("[", 100) + strings.Repeat("]", 100), 400, "Failure", "nested too deeply"},
		{"GET", "/v1/audit?last=-1", "", 400, "Failure", "filter"},
		{"GET", "/v1/audit?since=yesterday", "", 400, "Failure", "filter"},
		{"POST", "/v1/reload", "", 409, "Failure", "mend it"},
		{"POST", "/v1/kill", `{"server":"notes","tool":"delete_*","note":"no more"}`, 200, "KillAnswer", "{}"},
		{"POST", "/v1/kill", `{"server":"notes","tool":"none","note":"no more"}`, 400, "Failure", "has no tool none"},
		{"POST", "/v1/kill", `{"server":"nobody","note":"no more"}`, 404, "Failure", "unknown_server"},
		{"POST", "/v1/kill", `{"server":"notes"}`, 400, "Failure", "note"},
		{"POST", "/v1/kill", `{"server":"notes","all":true,"note":"no more"}`, 400, "Failure", "names"},
		{"POST", "/v1/kill", `{"note":"no more"}`, 400, "Failure", "names"},
		{"POST", "/v1/kill", `{"server":"notes","tol":"delete_*","note":"no more"}`, 400, "Failure", "tol"},
		{"GET", "/v1/kill", "", 200, "Kills", `"tool":"delete_*"`},
		{"POST", "/v1/why", `{"server":"notes","tool":"delete_note"}`, 200, "WhyAnswer", `"told":"killed"`},
		{"POST", "/v1/kill/lift", `{"server":"notes","tool":"delete_*"}`, 200, "", "{}"},
		{"POST", "/v1/kill/lift", `{"server":"notes","tool":"delete_*"}`, 400, "Failure", "nothing stops"},
		{"POST", "/v1/why", `{"server":"notes","tool":"delete_note","readOnly":true}`, 200, "WhyAnswer", `"told":"read_only_mode"`},
	} {
		w := request(h, tt.method, tt.target, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.has) {
			t.Errorf("%s %s %.80s: %d %s, want %d with %s", tt.method, tt.target, tt.body, w.Code, w.Body, tt.status, tt.has)
			continue
		}
		if tt.schema != "" {
			conforms(t, tt.schema, w.Body.Bytes())
		}
	}
	if w := request(h, "GET", "/v1/reload", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET /v1/reload: %d", w.Code)
	}
}

func entry(i int, tool, effect string) string {
	e := audit.Entry{
		Kind: audit.Decided, Call: fmt.Sprint(i), Time: time.Date(2026, 11, 15, i, 0, 0, 0, time.UTC), Subject: "ann",
		Server: "notes", Tool: tool, Effect: effect, Class: "read", Severity: audit.Info, Method: "tools/call",
	}
	line, err := e.Encode()
	if err != nil {
		panic(err)
	}
	return string(line)
}

func logOf(t *testing.T, entries ...string) *memory.Log {
	t.Helper()
	log := &memory.Log{}
	for _, e := range entries {
		if err := log.Append(t.Context(), []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// dial serves the options on a socket and returns a client of it.
func dial(t *testing.T, o Options) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "o.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o.Token = "open sesame"
	go func() { ended <- Serve(ctx, l, o) }()
	c := NewClient(func() (net.Conn, error) { return net.Dial("unix", path) }, tokenOf(o.Token))
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func tokenOf(token string) func() (string, error) {
	return func() (string, error) { return token, nil }
}

// TestServe_token: who reaches the socket but cannot read the token hears nothing.
func TestServe_token(t *testing.T) {
	c := dial(t, options(t, &memory.Log{}))
	if err := c.get(t.Context(), "GET", "/v1/status", nil, &Status{}); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "open sesam", "open sesame2"} {
		c.token = tokenOf(token)
		for _, r := range routes {
			_, err := c.do(t.Context(), r.method, r.path, struct{}{})
			if err == nil || !strings.Contains(err.Error(), "token") {
				t.Errorf("%s %s with %q: %v", r.method, r.path, token, err)
			}
		}
	}
	if err := Serve(t.Context(), nil, Options{}); err == nil {
		t.Error("a channel without a token")
	}
}

// TestAudit: a filter keeps what it says, byte for byte, in order.
func TestAudit(t *testing.T) {
	log := []string{entry(1, "a", "allow"), entry(2, "b", "deny"), entry(3, "a", "deny"), entry(4, "c", "ask")}
	c := dial(t, options(t, logOf(t, log...)))
	for _, tt := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"everything", Filter{}, log},
		{"the latest", Filter{Last: 2}, log[2:]},
		{"more than there are", Filter{Last: 9}, log},
		{"the latest that match", Filter{Tool: "a", Last: 1}, log[2:3]},
		{"effect", Filter{Effect: "deny"}, log[1:3]},
		{"pattern", Filter{Server: "n*", Tool: "c"}, log[3:]},
		{"since", Filter{Since: time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)}, log[2:]},
		{"who", Filter{Who: "bob"}, nil},
		{"class", Filter{Class: "write"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := c.Audit(t.Context(), tt.filter, func(line []byte) error { got = append(got, string(line)); return nil })
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAudit_follow: what is written later comes later, each line once.
func TestAudit_follow(t *testing.T) {
	all := []string{entry(1, "a", "allow"), entry(2, "b", "deny"), entry(3, "a", "deny"), entry(4, "c", "ask")}
	log := logOf(t, all[:2]...)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var got []string
	_ = dial(t, options(t, log)).Audit(ctx, Filter{Last: 1, Follow: true}, func(line []byte) error {
		got = append(got, string(line))
		switch len(got) {
		case 1, 2:
			return log.Append(ctx, []byte(all[len(got)+1]))
		default:
			return errors.New("enough")
		}
	})
	if diff := cmp.Diff(all[1:], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// broken fails after its first line.
type broken struct{ *memory.Log }

func (b *broken) Read(ctx context.Context, from uint64, each func(uint64, [][]byte) error) error {
	if err := b.Log.Read(ctx, from, each); err != nil {
		return err
	}
	return errors.New("disk gone")
}

// TestAudit_cutShort: a log that could not be read to its end does not look whole.
func TestAudit_cutShort(t *testing.T) {
	o := options(t, &memory.Log{})
	o.Log = func() Log { return &broken{logOf(t, entry(1, "a", "allow"))} }
	err := dial(t, o).Audit(t.Context(), Filter{}, func([]byte) error { return nil })
	if annotary.CodeOf(err) != annotary.CodeConnect {
		t.Errorf("the log looks whole: %v", err)
	}
}

func TestClient_nobodyThere(t *testing.T) {
	c := NewClient(func() (net.Conn, error) { return net.Dial("unix", filepath.Join(t.TempDir(), "none")) }, tokenOf("x"))
	if err := c.Reload(t.Context()); annotary.CodeOf(err) != annotary.CodeConnect {
		t.Errorf("got %v", err)
	}
}

// FuzzWhy: whatever is asked is answered, with JSON, and nothing breaks.
func FuzzWhy(f *testing.F) {
	for _, seed := range []string{
		`{"server":"notes","tool":"list_notes","arguments":{"a":1}}`, `{"server":"notes","tool":"x","arguments":[{}]}`,
		`{"as":{"subject":null}}`, `{"server":"notes","tool":"delete_note","arguments":"}}"}`, `[]`, `{"server":1}`, "\xff",
	} {
		f.Add(seed)
	}
	h := Handler(options(f, &memory.Log{}))
	f.Fuzz(func(t *testing.T, body string) {
		w := request(h, "POST", "/v1/why", body)
		if !json.Valid(w.Body.Bytes()) || w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
