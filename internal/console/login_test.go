package console

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/testenv"
)

// TestLogin_provider signs in with a real provider: the link of a question leads
// there and back to the question; what comes back without having been sent there
// signs nobody in.
func TestLogin_provider(t *testing.T) {
	issuer := testenv.NewIssuer(t)
	s := newSite(t)
	login, err := NewLogin(t.Context(), s.URL, LoginOptions{
		Issuer: issuer.URL, ClientID: "page", ClientSecret: "only for tests", Scopes: []string{"groups"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Login = login
	// The owner of this site is whoever the provider says ann is.
	owner.Issuer, owner.Subject = issuer.URL, "ann"
	t.Cleanup(func() { owner.Issuer, owner.Subject = "", "local" })
	a := s.ask("delete_note", `{}`)

	var returned string
	s.client.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.Path, "/login/callback") {
			returned = req.URL.String()
		}
		return nil
	}
	status, body := s.get(s.Link(a.ID))
	if status != http.StatusOK || !strings.Contains(body, "delete_note") || !strings.Contains(body, "<span>ann</span>") {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := s.answer(a.ID, url.Values{"answer": {"yes"}, "scope": {"once"}}); status != http.StatusOK {
		t.Errorf("the answer: %d %s", status, body)
	}
	got, err := s.desk.Get(t.Context(), a.ID)
	if err != nil || got.Answer == nil || got.Answer.By.Issuer != issuer.URL || len(got.Answer.By.Groups) != 1 || got.Answer.By.Groups[0] != "writers" {
		t.Errorf("answered by %+v, %v", got.Answer, err)
	}

	if status, _ := s.get(returned); status != http.StatusForbidden {
		t.Errorf("the way back a second time: %d", status)
	}
	s.client.Jar, _ = cookiejar.New(nil)
	if status, _ := s.get(returned); status != http.StatusForbidden {
		t.Errorf("the way back in another browser: %d", status)
	}
	if status, _ := s.get(s.URL + "/login/callback?state=&code=x"); status != http.StatusForbidden {
		t.Errorf("no state: %d", status)
	}
}
