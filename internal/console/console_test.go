package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/policy"
)

var owner = annotary.Principal{Tenant: annotary.DefaultTenant, Subject: annotary.LocalSubject}

// A counter is a gateway that has only a desk: whoever is its owner may answer.
type counter struct{ desk *approval.Desk }

func (c *counter) Desk() *approval.Desk { return c.desk }

func (c *counter) MayAnswer(_ context.Context, _ *approval.Approval, by *annotary.Principal, _ policy.Channel) bool {
	return by.ID() == owner.ID()
}

func (c *counter) Rehearsal(context.Context, string) *gateway.Rehearsal { return nil }

func (c *counter) Rehearse(context.Context, string, *approval.Answer) (string, error) {
	return "", errNothingHere
}

func (c *counter) Answer(ctx context.Context, id string, said approval.Answer) (*approval.Approval, error) {
	return c.desk.Answer(ctx, id, said, func(by *annotary.Principal, channel string, _ []annotary.Reason) annotary.Decision {
		if c.MayAnswer(ctx, nil, by, policy.Channel(channel)) {
			return annotary.Decision{Effect: annotary.Allow}
		}
		return annotary.Decision{}
	})
}

// A site is a console that is served, and a browser without pictures.
type site struct {
	*Console
	t      *testing.T
	desk   *approval.Desk
	client *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	desk := approval.NewDesk(memory.NewBucket(), memory.NewBucket(), approval.Options{})
	srv := httptest.NewUnstartedServer(nil)
	c, err := New(Options{
		Gateway: &counter{desk}, Store: memory.NewBucket(), Owner: owner, URL: "http://" + srv.Listener.Addr().String(),
		Hook: &Hook{Secret: []byte("0123456789abcdef01234567")},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = c.Handler()
	srv.Start()
	t.Cleanup(srv.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &site{c, t, desk, &http.Client{Jar: jar}}
}

// signedIn is a site whose browser has opened a link for one use.
func signedIn(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	link, err := s.NewLogin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := s.get(link); status != http.StatusOK {
		t.Fatalf("the login link: %d", status)
	}
	return s
}

// ask opens a question about a call.
func (s *site) ask(title, args string, rs ...annotary.Reason) *approval.Approval {
	s.t.Helper()
	if len(rs) == 0 {
		rs = []annotary.Reason{{Code: annotary.CodeClass, Rule: "destructive", Text: "tools that may destroy ask each time", Ask: annotary.VerdictAsk}}
	}
	hints := annotary.Pessimistic()
	reasons := approval.ReasonsOf(rs)
	tool := &annotary.Tool{Name: title}
	a, err := s.desk.Open(s.t.Context(), &approval.Request{
		Principal: owner, Conversation: "c", Call: "1", Arguments: []byte(args), Reasons: reasons,
		About: approval.About{Server: "notes", Method: "tools/call", Tool: title, Behaviour: "b", Arguments: args},
		Prompt: approval.NewPrompt(approval.Shown{
			Tool: tool, Server: "notes", Name: title, Hints: &hints, Principal: &owner, Arguments: []byte(args), Reasons: reasons,
			Parts: map[string]string{"inputSchema": "1"},
		}),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *site) get(link string) (int, string) {
	s.t.Helper()
	res, err := s.client.Get(link)
	return s.read(res, err)
}

func (s *site) read(res *http.Response, err error) (int, string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

var csrfIn = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)

// answer fills in the form of a question as a browser does.
func (s *site) answer(id string, fields url.Values) (int, string) {
	s.t.Helper()
	_, body := s.get(s.Link(id))
	m := csrfIn.FindStringSubmatch(body)
	if m == nil {
		s.t.Fatalf("no form in %s", body)
	}
	fields.Set("csrf", m[1])
	to := s.Link(id)
	if fields.Has("id") {
		to = s.URL + "/approvals"
	}
	res, err := s.client.PostForm(to, fields)
	return s.read(res, err)
}

func (s *site) state(id string) approval.State {
	s.t.Helper()
	a, err := s.desk.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.State
}

// TestLinkGivesNothing: every address without a session shows nothing of a
// question, not even that it is there, and changes nothing.
func TestLinkGivesNothing(t *testing.T) {
	s := newSite(t)
	a := s.ask("delete_note", `{"id":"plum pudding"}`)
	_, unknown := s.get(s.Link("aaaaaaaaaaaa"))
	for _, r := range routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		path = strings.NewReplacer("{id}", a.ID, "{$}", "").Replace(path)
		form := strings.NewReader(url.Values{"answer": {"yes"}, "scope": {"once"}, "id": {a.ID}}.Encode())
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, form)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := s.client.Do(req)
		status, body := s.read(res, err)
		if strings.Contains(body, "delete_note") || strings.Contains(body, "pudding") || (status < 400 && path != "/style.css") {
			t.Errorf("%s %s: %d %s", method, path, status, body)
		}
		if path == "/approvals/"+a.ID && method == "GET" && body != unknown {
			t.Error("an id that exists is told from one that does not")
		}
		if got := s.state(a.ID); got != approval.Open {
			t.Fatalf("%s %s made it %s", method, path, got)
		}
	}
}

func TestLogin_once(t *testing.T) {
	s := newSite(t)
	link, err := s.NewLogin(t.Context(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := s.get(link); status != http.StatusNotFound { // signed in, and there is no question abc
		t.Errorf("first: %d", status)
	}
	s.client.Jar, _ = cookiejar.New(nil)
	if status, body := s.get(link); status != http.StatusUnauthorized || strings.Contains(body, "Sign out") {
		t.Errorf("again: %d", status)
	}
	if status, _ := s.get(s.URL + "/login?token="); status != http.StatusUnauthorized {
		t.Errorf("no token: %d", status)
	}
}

// TestAnswer goes through what a person can say.
func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields url.Values
		status int
		state  approval.State
		scope  approval.ScopeKind
		shows  string
	}{
		{"yes", url.Values{"answer": {"yes"}, "scope": {"once"}}, 200, approval.Approved, approval.Once, "Approved by local, once"},
		{"yes for hours", url.Values{"answer": {"yes"}, "scope": {"until"}, "hours": {"8"}}, 200, approval.Approved, approval.Until, "until "},
		{"pattern", url.Values{"answer": {"yes"}, "scope": {"unchanged"}, "let:/path": {"begins"}, "with:/path": {"docs/"}}, 200, approval.Approved, approval.Unchanged, "until the tool changes"},
		{"no", url.Values{"answer": {"no"}, "note": {"not <b>today</b>"}}, 200, approval.Denied, "", "not &lt;b&gt;today"},
		{"neither", url.Values{"answer": {"maybe"}}, 400, approval.Open, "", "could not be read"},
		{"no hours", url.Values{"answer": {"yes"}, "scope": {"until"}}, 400, approval.Open, "", "could not be read"},
		{"for ever", url.Values{"answer": {"yes"}, "scope": {"until"}, "hours": {"100000"}}, 400, approval.Open, "", "at most"},
		{"pattern on nothing", url.Values{"answer": {"yes"}, "scope": {"unchanged"}, "let:/nope": {"any"}}, 400, approval.Open, "", "nothing at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := signedIn(t)
			a := s.ask("delete_note", `{"path":"docs/a"}`)
			status, body := s.answer(a.ID, tt.fields)
			if status != tt.status || !strings.Contains(body, tt.shows) {
				t.Errorf("%d %s", status, body)
			}
			got, err := s.desk.Get(t.Context(), a.ID)
			if err != nil || got.State != tt.state {
				t.Fatalf("state %s, %v", got.State, err)
			}
			if tt.scope != "" && (got.Answer.Scope.Kind != tt.scope || got.Answer.Channel != "page" || got.Answer.By.Subject != owner.Subject) {
				t.Errorf("answer %+v", got.Answer)
			}
		})
	}
}

// TestAnswer_trifecta: where what was seen may be carried out, only the narrow
// scopes are offered, and none else is taken.
func TestAnswer_trifecta(t *testing.T) {
	s := signedIn(t)
	a := s.ask("send", `{"to":"https://evil.example/x"}`, annotary.Reason{Code: annotary.CodeTrifecta, Rule: "t", Ask: annotary.VerdictAskOutside})
	_, body := s.get(s.Link(a.ID))
	if strings.Contains(body, `value="until"`) || !strings.Contains(body, "to evil.example only") {
		t.Errorf("offered: %s", body)
	}
	if status, _ := s.answer(a.ID, url.Values{"answer": {"yes"}, "scope": {"until"}, "hours": {"8"}}); status != 400 || s.state(a.ID) != approval.Open {
		t.Errorf("hours for the trifecta: %d", status)
	}
}

// TestBatch: what one conversation asks at once is shown and answered at once; what
// is not ticked stays.
func TestBatch(t *testing.T) {
	s := signedIn(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, s.ask(fmt.Sprintf("delete_%d", i), `{}`).ID)
	}
	_, body := s.get(s.Link(ids[2]))
	if !strings.Contains(body, "Run these 5?") || strings.Count(body, `type="checkbox"`) != 5 {
		t.Fatalf("the batch: %s", body)
	}
	if status, body := s.answer(ids[0], url.Values{"answer": {"yes"}, "scope": {"once"}, "id": ids[:4]}); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	for i, id := range ids {
		want := approval.Approved
		if i == 4 {
			want = approval.Open
		}
		if got := s.state(id); got != want {
			t.Errorf("%d is %s, want %s", i, got, want)
		}
	}
}

// TestForeign: what another site sends, or what came through another name, changes
// nothing.
func TestForeign(t *testing.T) {
	s := signedIn(t)
	a := s.ask("delete_note", `{}`)
	_, body := s.get(s.Link(a.ID))
	csrf := csrfIn.FindStringSubmatch(body)[1]
	other := signedIn(t)
	other.ask("x", "{}")
	_, body = other.get(other.URL + "/approvals")
	for _, tt := range []struct {
		name   string
		csrf   string
		header map[string]string
		host   string
		status int
	}{
		{"no token", "", nil, "", 403},
		{"a token of another session", csrfIn.FindStringSubmatch(body)[1], nil, "", 403},
		{"cross-site", csrf, map[string]string{"Sec-Fetch-Site": "cross-site"}, "", 403},
		{"same site, other port", csrf, map[string]string{"Sec-Fetch-Site": "same-site"}, "", 403},
		{"another origin", csrf, map[string]string{"Origin": "http://127.0.0.1:1"}, "", 403},
		{"null origin", csrf, map[string]string{"Origin": "null"}, "", 403},
		{"rebound name", csrf, nil, "evil.example", 421},
		{"rebound name with port", csrf, nil, "evil.example:" + s.URL[strings.LastIndex(s.URL, ":")+1:], 421},
		{"other port", csrf, nil, "127.0.0.1:1", 421},
	} {
		t.Run(tt.name, func(t *testing.T) {
			form := url.Values{"answer": {"yes"}, "scope": {"once"}, "csrf": {tt.csrf}}
			req, err := http.NewRequestWithContext(t.Context(), "POST", s.Link(a.ID), strings.NewReader(form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for k, v := range tt.header {
				req.Header.Set(k, v)
			}
			req.Host = tt.host
			res, err := s.client.Do(req)
			if status, _ := s.read(res, err); status != tt.status || s.state(a.ID) != approval.Open {
				t.Errorf("%d, %s", status, s.state(a.ID))
			}
		})
	}
}

// TestHeaders: every answer forbids frames, scripts and foreign content.
func TestHeaders(t *testing.T) {
	s := signedIn(t)
	a := s.ask("delete_note", `{}`)
	for _, path := range []string{"/approvals", "/approvals/" + a.ID, "/approvals/nope", "/nothing", "/style.css", "/login"} {
		res, err := s.client.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		for name, want := range map[string]string{
			"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "script") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%s: %s", path, csp)
		}
	}
}

// TestStrangersWords: what strangers wrote is text and nothing else.
func TestStrangersWords(t *testing.T) {
	s := signedIn(t)
	evil := `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	a := s.ask(evil, `{"`+"<b>key"+`":"</dd><form action=//evil><button name=answer value=yes>"}`)
	for _, path := range []string{"/approvals", "/approvals/" + a.ID} {
		_, body := s.get(s.URL + path)
		for _, bad := range []string{"<script", "<img", "<form action=//", "<b>key"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
	}
}

// TestLogout: after it the cookie is worth nothing, whoever kept a copy.
func TestLogout(t *testing.T) {
	s := signedIn(t)
	a := s.ask("delete_note", `{}`)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept := s.client.Jar.Cookies(u)
	_, body := s.get(s.Link(a.ID))
	res, err := s.client.PostForm(s.URL+"/logout", url.Values{"csrf": {csrfIn.FindStringSubmatch(body)[1]}})
	if status, _ := s.read(res, err); status != http.StatusOK || len(s.client.Jar.Cookies(u)) != 0 {
		t.Errorf("%d, %v", status, s.client.Jar.Cookies(u))
	}
	s.client.Jar.SetCookies(u, kept)
	if status, _ := s.get(s.Link(a.ID)); status != http.StatusUnauthorized {
		t.Errorf("after sign out: %d", status)
	}
}
