package console

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
)

// TestSign holds our signature against the example of the Standard Webhooks
// libraries.
func TestSign(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := (&Hook{Secret: secret}).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestHook_secret: an address that messages are sent to is often itself the key,
// so that no error names it.
func TestHook_secret(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	err := (&Hook{URL: dead.URL + "/services/hunter2?key=hunter2"}).send(t.Context(), "1", nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// post sends a message to the hook, signed at a time, and changed by whoever is in
// between.
func (s *site) post(id, body string, at time.Time, change func(*http.Request)) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", s.URL+"/answers", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	req.Header.Set(headerID, id)
	req.Header.Set(headerTimestamp, stamp)
	req.Header.Set(headerSignature, s.Hook.sign(id, stamp, []byte(body)))
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	status, got := s.read(res, err)
	var f struct{ Code string }
	_ = json.Unmarshal([]byte(got), &f)
	return status, f.Code
}

// TestHook is S2's part about webhooks: what is forged, changed, stale or replayed
// is refused with its code; what is genuine counts once.
func TestHook(t *testing.T) {
	s := newSite(t)
	yes := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"answer":"yes","by":{"subject":"local"},"scope":{"kind":"once"}}`, id)
	}
	now := time.Now()
	for _, tt := range []struct {
		name   string
		body   func(id string) string
		at     time.Time
		change func(*http.Request)
		status int
		code   annotary.Code
	}{
		{"genuine", yes, now, nil, 200, ""},
		{"wrong signature", yes, now, func(r *http.Request) { r.Header.Set(headerSignature, "v1,"+strings.Repeat("A", 43)+"=") }, 401, CodeHookForged},
		{"no signature", yes, now, func(r *http.Request) { r.Header.Del(headerSignature) }, 401, CodeHookForged},
		{"no id", yes, now, func(r *http.Request) { r.Header.Del(headerID) }, 401, CodeHookForged},
		{"changed body", yes, now, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"id":"x","answer":"yes"}`)), -1
		}, 401, CodeHookForged},
		{"new timestamp on an old message", yes, now.Add(-time.Hour), func(r *http.Request) {
			r.Header.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
		}, 401, CodeHookForged},
		{"stale", yes, now.Add(-hookTolerance - time.Minute), nil, 401, CodeHookStale},
		{"of the future", yes, now.Add(hookTolerance + time.Minute), nil, 401, CodeHookStale},
		{"not an approver", func(id string) string {
			return fmt.Sprintf(`{"id":%q,"answer":"yes","by":{"subject":"mallory"}}`, id)
		}, now, nil, 403, annotary.CodeNotApprover},
		{"nobody", func(id string) string { return fmt.Sprintf(`{"id":%q,"answer":"yes"}`, id) }, now, nil, 400, annotary.CodeInvalid},
		{"two answers", func(id string) string { return fmt.Sprintf(`{"id":%q,"answer":"no","answer":"yes"}`, id) }, now, nil, 400, annotary.CodeInvalid},
		{"unknown", func(string) string { return yes("aaaaaaaaaaaa") }, now, nil, 404, annotary.CodeUnknownApproval},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.ask(tt.name, `{}`)
			status, code := s.post("msg_"+tt.name, tt.body(a.ID), tt.at, tt.change)
			if status != tt.status || code != string(tt.code) {
				t.Errorf("got %d %s, want %d %s", status, code, tt.status, tt.code)
			}
			want := approval.Open
			if tt.code == "" {
				want = approval.Approved
			}
			if got := s.state(a.ID); got != want {
				t.Errorf("it is %s", got)
			}
		})
	}
	t.Run("replayed", func(t *testing.T) {
		a := s.ask("replayed", `{}`)
		if status, code := s.post("msg_genuine", yes(a.ID), now, nil); status != 409 || code != string(CodeHookReplayed) || s.state(a.ID) != approval.Open {
			t.Errorf("got %d %s", status, code)
		}
	})
}

// TestTell: another program hears of a question, signed, with a link that gives
// nothing; of two gateways one tells it.
func TestTell(t *testing.T) {
	s := newSite(t)
	type told struct{ id, body string }
	heard := make(chan told, 9)
	failed := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := s.Hook.verify(r.Header, body, time.Now()); err != nil {
			t.Error(err)
		}
		if !failed { // it is tried again
			failed = true
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		heard <- told{r.Header.Get(headerID), string(body)}
	}))
	defer srv.Close()
	s.Hook.URL = srv.URL
	other, err := New(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Console{s.Console, other} {
		go func() { _ = c.Tell(t.Context()) }()
	}
	a := s.ask("delete_note", `{"id":"1"}`)
	await := func(state approval.State) {
		t.Helper()
		select {
		case got := <-heard:
			if got.id != a.ID+"-"+string(state) || !strings.Contains(got.body, `"link":"`+s.Link(a.ID)+`"`) || !strings.Contains(got.body, `"type":"approval.`+string(state)) || strings.Contains(got.body, `"parts"`) {
				t.Errorf("got %s", got)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("nothing was told of %s", state)
		}
	}
	await(approval.Open)
	said := approval.Answer{Yes: true, By: approval.PersonOf(&owner), Channel: "cli"}
	if _, err := s.Gateway.Answer(t.Context(), a.ID, said); err != nil {
		t.Fatal(err)
	}
	await(approval.Approved)
	if len(heard) > 0 {
		t.Errorf("told twice: %v", <-heard)
	}
}

// FuzzHook: whatever is signed is read or refused; what is read says yes or no, and
// by whom.
func FuzzHook(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","answer":"yes","by":{"subject":"x","groups":["g"]},"scope":{"kind":"until","until":"2027-01-01T00:00:00Z","pattern":{"/a":{"prefix":"x"}}}}`,
		`{"id":"a","answer":"no","by":{"subject":"x"},"note":"\u202e"}`, `[]`, `{"answer":"yes"}`, `{"id":1}`, "\xff", `{"by":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		said, id, err := readAnswer([]byte(body))
		if err == nil && (id == "" || said.By.Subject == "" || said.Channel != "webhook" || strings.ContainsAny(said.Note, "\n\u202e")) {
			t.Errorf("%q was read as %+v", body, said)
		}
	})
}
