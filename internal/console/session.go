package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
)

const (
	// loginLife is how long a link for one use is good.
	loginLife = time.Minute
	// localLife is how long whoever runs the gateway stays signed in, and
	// loginSessionLife whom an identity provider let in.
	localLife        = 7 * 24 * time.Hour
	loginSessionLife = 8 * time.Hour
)

// A session is somebody who signed in.
type session struct {
	By      approval.Person `json:"by"`
	Expires time.Time       `json:"expires"`
	// Ended says that it is over: what is in the store stays there.
	Ended bool `json:"ended,omitempty"`

	token string
}

// A key of the store does not tell the token: who reads the store is not signed in.
func sessionKey(token string) string { return "sessions/" + digest(token) }

func loginKey(token string) string { return "logins/" + digest(token) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func decode(s string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(s) }

// csrf is what forms of this session carry.
func (s *session) csrf() string {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("annotary csrf"))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *session) knows(csrf string) bool { return hmac.Equal([]byte(csrf), []byte(s.csrf())) }

func (c *Console) cookieName() string {
	if c.secure {
		return "__Host-annotary"
	}
	return "annotary"
}

// sessionOf returns the session of a request, or errNoSession.
func (c *Console) sessionOf(r *http.Request) (*session, error) {
	cookie, err := r.Cookie(c.cookieName())
	if err != nil || cookie.Value == "" {
		return nil, errNoSession
	}
	raw, _, err := c.Store.Get(r.Context(), sessionKey(cookie.Value))
	if err != nil {
		return nil, err
	}
	s := &session{token: cookie.Value}
	if raw == nil || json.Unmarshal(raw, s) != nil || s.Ended || !time.Now().Before(s.Expires) {
		return nil, errNoSession
	}
	return s, nil
}

// signIn begins a session and gives its cookie to the browser.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request, who annotary.Principal, life time.Duration) error {
	s := session{By: approval.PersonOf(&who), Expires: time.Now().Add(life).UTC(), token: rand.Text()}
	raw, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	if _, err := c.Store.Swap(r.Context(), sessionKey(s.token), raw, 0); err != nil {
		return err
	}
	// Lax and not Strict: whoever clicks a link in a chat is to arrive signed in.
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Value: s.token, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
	return nil
}

// NewLogin makes a link that signs the owner in, once, within a minute. Whoever
// opens it first is the owner: it is for a browser, never for a message or a log.
func (c *Console) NewLogin(ctx context.Context, id string) (link string, err error) {
	token := rand.Text()
	raw, err := json.Marshal(login{Expires: time.Now().Add(loginLife).UTC()})
	if err != nil {
		return "", err
	}
	if _, err := c.Store.Swap(ctx, loginKey(token), raw, 0); err != nil {
		return "", err
	}
	link = c.URL + "/login?token=" + token
	if id != "" {
		link += "&id=" + id
	}
	return link, nil
}

// A login is a link for one use.
type login struct {
	Expires time.Time `json:"expires"`
	Used    bool      `json:"used,omitempty"`
}

// login signs in whoever comes with a link, the first time.
func (c *Console) login(w http.ResponseWriter, r *http.Request, _ *session) error {
	token := r.URL.Query().Get("token")
	if token == "" && c.Login != nil {
		c.Login.begin(w, r, c)
		return nil
	}
	key := loginKey(token)
	raw, rev, err := c.Store.Get(r.Context(), key)
	if err != nil {
		return err
	}
	var l login
	if raw == nil || json.Unmarshal(raw, &l) != nil || l.Used || !time.Now().Before(l.Expires) {
		return errNoSession
	}
	l.Used = true
	if raw, err = json.Marshal(l); err != nil {
		return err
	}
	_, err = c.Store.Swap(r.Context(), key, raw, rev)
	if annotary.CodeOf(err) == annotary.CodeConflict {
		return errNoSession // another one was first
	}
	if err != nil {
		return err
	}
	if err := c.signIn(w, r, c.Owner, localLife); err != nil {
		return err
	}
	http.Redirect(w, r, target(r.URL.Query().Get("id")), http.StatusSeeOther)
	return nil
}

// target is the page of a question, or of all.
func target(id string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	if id == "" || strings.Trim(id, letters) != "" {
		return "/approvals"
	}
	return "/approvals/" + id
}

// logout ends the session, in the store too.
func (c *Console) logout(w http.ResponseWriter, r *http.Request, s *session) error {
	key := sessionKey(s.token)
	_, rev, err := c.Store.Get(r.Context(), key)
	if err == nil {
		s.Ended = true
		var raw []byte
		if raw, err = json.Marshal(s); err == nil {
			_, err = c.Store.Swap(r.Context(), key, raw, rev)
		}
	}
	if err != nil && annotary.CodeOf(err) != annotary.CodeConflict {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
	render(w, "notice.html", page{Title: "Signed out", Notice: &notice{Title: "You are signed out", Text: "Links to questions show nothing until you sign in again."}})
	return nil
}
