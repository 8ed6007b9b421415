package api

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// asked has the local user call delete_note, and returns the question.
func asked(t *testing.T, o Options, args string) *approval.Approval {
	t.Helper()
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_note","arguments":`+args+`}}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	who := annotary.Principal{Tenant: annotary.DefaultTenant, Subject: annotary.LocalSubject}
	a, err := o.Gateway.Call(t.Context(), &gateway.Call{Principal: who, Server: "notes", Era: upstream.EraModern, Message: m})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	list, err := o.Gateway.Desk().List(t.Context(), false)
	if err != nil || len(list) == 0 {
		t.Fatalf("nothing is asked: %v", err)
	}
	return list[len(list)-1]
}

// TestApprovals walks the routes of questions and grants.
func TestApprovals(t *testing.T) {
	o := options(t, &memory.Log{})
	h := Handler(o)
	one, two := asked(t, o, `{"id":"1"}`), asked(t, o, `{"id":"2"}`)
	until, err := json.Marshal(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, target, body string
		status               int
		schema, has          string
	}{
		{"GET", "/v1/approvals", "", 200, "Approvals", one.ID},
		{"GET", "/v1/approvals?all=perhaps", "", 400, "Failure", "true or false"},
		{"GET", "/v1/approvals/" + one.ID, "", 200, "Approval", `"state":"open"`},
		{"GET", "/v1/approvals/none", "", 404, "Failure", "unknown_approval"},
		{"POST", "/v1/approvals/none/answer", `{"yes":true}`, 404, "Failure", "unknown_approval"},
		{"POST", "/v1/approvals/" + one.ID + "/answer", `{"yes":true,"scope":{"kind":"always"}}`, 400, "Failure", "scope_too_wide"},
		{"POST", "/v1/approvals/" + one.ID + "/answer", `{"yes":true,"scope":{"kind":"until","until":` + string(until) + `,"pattern":{"/id":{"prefix":""}}}}`, 200, "Approval", `"state":"approved"`},
		{"POST", "/v1/approvals/" + one.ID + "/answer", `{"yes":true}`, 409, "Failure", "already_answered"},
		{"POST", "/v1/approvals/" + two.ID + "/answer", `{"yes":false,"note":"no"}`, 200, "Approval", `"state":"denied"`},
		{"GET", "/v1/approvals", "", 200, "Approvals", `{"approvals":[]}`},
		{"GET", "/v1/approvals?all=true", "", 200, "Approvals", two.ID},
		{"GET", "/v1/grants", "", 200, "Grants", one.ID},
		{"POST", "/v1/grants/none/revoke", "", 404, "Failure", "unknown_approval"},
		{"POST", "/v1/grants/" + one.ID + "/revoke", "", 200, "", "{}"},
		{"GET", "/v1/grants", "", 200, "Grants", `{"grants":[]}`},
		{"GET", "/v1/grants?all=true", "", 200, "Grants", `"live":false`},
	} {
		w := request(h, tt.method, tt.target, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.has) {
			t.Errorf("%s %s %.80s: %d %s, want %d with %s", tt.method, tt.target, tt.body, w.Code, w.Body, tt.status, tt.has)
		} else if tt.schema != "" {
			conforms(t, tt.schema, w.Body.Bytes())
		}
	}
	o.Gateway.Use(nil)
	if w := request(h, "GET", "/v1/approvals", ""); w.Code != 409 || !strings.Contains(w.Body.String(), "nobody_asks") {
		t.Errorf("without a judge: %d %s", w.Code, w.Body)
	}
}

// TestWatchApprovals: what is open, then what becomes of it.
func TestWatchApprovals(t *testing.T) {
	o := options(t, &memory.Log{})
	srv := httptest.NewServer(Handler(o))
	defer srv.Close()
	c := NewClient(func() (net.Conn, error) { return net.Dial("tcp", srv.Listener.Addr().String()) }, func() (string, error) { return "", nil })
	defer c.Close()
	first := asked(t, o, `{"id":"1"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var seen []string
	err := c.WatchApprovals(ctx, func(a Approval) error {
		seen = append(seen, a.Tool+" "+string(a.State))
		switch len(seen) {
		case 1:
			_, err := c.Answer(ctx, first.ID, AnswerRequest{Note: "no"})
			return err
		case 2:
			cancel()
		}
		return nil
	})
	if got := strings.Join(seen, ", "); got != "delete_note open, delete_note denied" {
		t.Errorf("saw %s (%v)", got, err)
	}
}

// TestApprovals_tenants: in a fleet as shipped, approvers of one tenant find, watch
// and answer the questions of theirs, and none of another's.
func TestApprovals_tenants(t *testing.T) {
	o := fleetOptions(t)
	one := asked(t, o, `{"id":"1"}`)
	for _, tt := range []struct {
		tenant               string
		method, target, body string
		status               int
		has                  bool
	}{
		{"other", "GET", "/v1/approvals", "", 200, false},
		{"other", "GET", "/v1/approvals?all=true", "", 200, false},
		{"other", "GET", "/v1/approvals/" + one.ID, "", 403, false},
		{"other", "POST", "/v1/approvals/" + one.ID + "/answer", `{"yes":true}`, 403, false},
		{"other", "POST", "/v1/approvals/" + one.ID + "/answer", `{"yes":false}`, 403, false},
		{annotary.DefaultTenant, "GET", "/v1/approvals", "", 200, true},
		{annotary.DefaultTenant, "GET", "/v1/approvals/" + one.ID, "", 200, true},
		{annotary.DefaultTenant, "POST", "/v1/approvals/" + one.ID + "/answer", `{"yes":true}`, 200, true},
	} {
		who := &annotary.Principal{Tenant: tt.tenant, Issuer: "i", Subject: "bob", Groups: []string{"approvers"}}
		h := handler(o, func(r *http.Request, _ policy.Role) (*http.Request, error) {
			return r.WithContext(context.WithValue(r.Context(), fromAfar{}, who)), nil
		})
		if w := request(h, tt.method, tt.target, tt.body); w.Code != tt.status || strings.Contains(w.Body.String(), one.ID) != tt.has {
			t.Errorf("%s: %s %s: %d %s", tt.tenant, tt.method, tt.target, w.Code, w.Body)
		}
	}
}
