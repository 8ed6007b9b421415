package approval_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/memory"
)

var (
	ann = annotary.Principal{Tenant: "default", Subject: "ann"}
	bob = annotary.Principal{Tenant: "default", Subject: "bob"}

	asks     = annotary.Reason{Code: annotary.CodeClass, Rule: "r", Version: "1", Ask: annotary.VerdictAsk}
	asksOnce = annotary.Reason{Code: annotary.CodeClass, Rule: "w", Version: "1", Ask: annotary.VerdictAskOnce}
	trifecta = annotary.Reason{Code: annotary.CodeTrifecta, Rule: "t", Version: "1", Ask: annotary.VerdictAskOutside}
)

func anybody(*annotary.Principal, string, []annotary.Reason) annotary.Decision {
	return annotary.Decision{Effect: annotary.Allow}
}

func nobody(*annotary.Principal, string, []annotary.Reason) annotary.Decision {
	return annotary.Decision{}
}

// request is a call that asks for the reasons.
func request(args string, rs ...annotary.Reason) *approval.Request {
	return &approval.Request{
		Principal: ann, Conversation: "c1", Call: "call", Arguments: []byte(args), May: anybody,
		About:   approval.About{Server: "s", Method: "tools/call", Tool: "t", Behaviour: "b1", Arguments: args},
		Parts:   map[string]string{"readOnly": "false", "input": "1"},
		Prompt:  approval.Prompt{Parts: map[string]string{"readOnly": "true", "output": "1"}},
		Reasons: approval.ReasonsOf(rs),
	}
}

func newDesk() *approval.Desk {
	return approval.NewDesk(memory.NewBucket(), memory.NewBucket(), approval.Options{})
}

// given opens a question and says yes to it.
func given(t *testing.T, d *approval.Desk, r *approval.Request, s approval.Scope) *approval.Approval {
	t.Helper()
	a, err := d.Open(t.Context(), r)
	if err == nil {
		a, err = d.Answer(t.Context(), a.ID, approval.Answer{Yes: true, By: approval.PersonOf(&ann), Channel: "cli", Scope: s}, anybody)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestScope holds every way a yes can be used outside what it was given for
// against the code it is refused with, for each scope.
func TestScope(t *testing.T) {
	prefix, empty := "docs/", ""
	in := func(h time.Duration) time.Time { return time.Now().Add(h) }
	scopes := map[string]approval.Scope{
		"once":         {Kind: approval.Once},
		"conversation": {Kind: approval.Conversation},
		"until":        {Kind: approval.Until, Until: in(time.Hour)},
		"pattern":      {Kind: approval.Until, Until: in(time.Hour), Pattern: approval.Pattern{"/path": {Prefix: &prefix}, "/n": {Prefix: &empty}}},
		"unchanged":    {Kind: approval.Unchanged},
	}
	const args = `{"path":"docs/a","n":1}`
	edited := asks
	edited.Version = "2"
	for _, tt := range []struct {
		name   string
		change func(*approval.Request)
		want   annotary.Code
		covers []string // the scopes that cover it all the same
		unseen []string // the scopes that know nothing of it
	}{
		{"the same", func(*approval.Request) {}, "", []string{"once", "conversation", "until", "pattern", "unchanged"}, nil},
		{"another argument", func(r *approval.Request) { r.Arguments, r.About.Arguments = []byte(`{"path":"docs/a","n":2}`), "2" },
			annotary.CodeGrantArguments, []string{"conversation", "pattern"}, []string{"once"}},
		{"outside the pattern", func(r *approval.Request) { r.Arguments, r.About.Arguments = []byte(`{"path":"x","n":1}`), "3" },
			annotary.CodeGrantArguments, []string{"conversation"}, []string{"once"}},
		{"one more argument", func(r *approval.Request) {
			r.Arguments, r.About.Arguments = []byte(`{"path":"docs/a","n":1,"force":true}`), "4"
		}, annotary.CodeGrantArguments, []string{"conversation"}, []string{"once"}},
		{"other params", func(r *approval.Request) { r.About.Extra = "task" }, annotary.CodeGrantArguments, nil, []string{"once"}},
		{"definition changed", func(r *approval.Request) { r.About.Behaviour = "b2" }, annotary.CodeGrantDefinition, nil, nil},
		{"new reason", func(r *approval.Request) {
			r.Reasons = approval.ReasonsOf([]annotary.Reason{asks, {Code: annotary.CodePolicy, Rule: "new"}})
		}, annotary.CodeGrantReasons, nil, nil},
		{"rule edited", func(r *approval.Request) { r.Reasons = approval.ReasonsOf([]annotary.Reason{edited}) }, annotary.CodeGrantReasons, nil, nil},
		{"leg raised", func(r *approval.Request) { r.Reasons = approval.ReasonsOf([]annotary.Reason{asks, trifecta}) }, annotary.CodeGrantReasons, nil, nil},
		{"approver may no longer", func(r *approval.Request) { r.May = nobody }, annotary.CodeGrantApprover, nil, nil},
		{"nobody was asked", func(r *approval.Request) { r.May = nil }, annotary.CodeGrantApprover, nil, nil},
		{"another conversation", func(r *approval.Request) { r.Conversation = "c2" },
			annotary.CodeGrantConversation, []string{"once", "until", "pattern", "unchanged"}, nil},
		{"another principal", func(r *approval.Request) { r.Principal = bob }, "", nil, []string{"once", "conversation", "until", "pattern", "unchanged"}},
		{"another client", func(r *approval.Request) { r.Principal.Client = "cursor" }, "", nil, []string{"once", "conversation", "until", "pattern", "unchanged"}},
	} {
		for name, scope := range scopes {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				d := newDesk()
				given(t, d, request(args, asks), scope)
				r := request(args, asks)
				tt.change(r)
				s, err := d.Spend(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case slices.Contains(tt.covers, name):
					if s.Yes == nil {
						t.Errorf("not covered: %+v", s)
					}
				case s.Yes != nil:
					t.Errorf("covered by %+v", s.Yes)
				case slices.Contains(tt.unseen, name):
					if len(s.Gaps) > 0 {
						t.Errorf("somebody else's yes is told of: %+v", s.Gaps)
					}
				case len(s.Gaps) != 1 || s.Gaps[0].Code != tt.want:
					t.Errorf("got %+v, want %s", s.Gaps, tt.want)
				}
			})
		}
	}
}

// TestScope_changed: a yes that a changed definition voids says what changed.
func TestScope_changed(t *testing.T) {
	d := newDesk()
	given(t, d, request(`{}`, asks), approval.Scope{Kind: approval.Unchanged})
	r := request(`{}`, asks)
	r.About.Behaviour = "b2"
	s, err := d.Spend(t.Context(), r)
	if got, want := strings.Join(s.Changed(), ", "), "input (new), readOnly (true → false), output (gone)"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestScope_refused: what cannot be given.
func TestScope_refused(t *testing.T) {
	prefix, host := "x", "https://a.example"
	hour := time.Now().Add(time.Hour)
	for name, tt := range map[string]struct {
		scope   approval.Scope
		reasons []annotary.Reason
	}{
		"hours for the trifecta":     {approval.Scope{Kind: approval.Until, Until: hour}, []annotary.Reason{asks, trifecta}},
		"unchanged for the trifecta": {approval.Scope{Kind: approval.Unchanged}, []annotary.Reason{trifecta}},
		"no time":                    {approval.Scope{Kind: approval.Until}, []annotary.Reason{asks}},
		"the past":                   {approval.Scope{Kind: approval.Until, Until: time.Now()}, []annotary.Reason{asks}},
		"for ever":                   {approval.Scope{Kind: approval.Until, Until: time.Now().AddDate(1, 0, 0)}, []annotary.Reason{asks}},
		"a pattern for once":         {approval.Scope{Kind: approval.Once, Pattern: approval.Pattern{"/a": {Prefix: &prefix}}}, []annotary.Reason{asks}},
		"a pattern on nothing":       {approval.Scope{Kind: approval.Unchanged, Pattern: approval.Pattern{"/b": {Prefix: &prefix}}}, []annotary.Reason{asks}},
		"a pattern on an object":     {approval.Scope{Kind: approval.Unchanged, Pattern: approval.Pattern{"/o": {Prefix: &prefix}}}, []annotary.Reason{asks}},
		"a pattern of nothing":       {approval.Scope{Kind: approval.Unchanged, Pattern: approval.Pattern{"/a": {}}}, []annotary.Reason{asks}},
		"half a host":                {approval.Scope{Kind: approval.Unchanged, Pattern: approval.Pattern{"/a": {Prefix: &host}}}, []annotary.Reason{asks}},
		"an unknown word":            {approval.Scope{Kind: "always"}, []annotary.Reason{asks}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			a, err := d.Open(t.Context(), request(`{"a":"x","o":{}}`, tt.reasons...))
			if err != nil {
				t.Fatal(err)
			}
			said := approval.Answer{Yes: true, By: approval.PersonOf(&ann), Channel: "cli", Scope: tt.scope}
			if _, err = d.Answer(t.Context(), a.ID, said, anybody); annotary.CodeOf(err) != annotary.CodeScopeTooWide {
				t.Errorf("got %v", err)
			}
			if a, _ := d.Get(t.Context(), a.ID); a.State != approval.Open {
				t.Errorf("the question is %s", a.State)
			}
		})
	}
}

// TestScope_trifecta: the destination is part of a yes to the trifecta.
func TestScope_trifecta(t *testing.T) {
	d := newDesk()
	given(t, d, request(`{"to":"x@a.example"}`, asks, trifecta), approval.Scope{Kind: approval.Conversation})
	for args, want := range map[string]bool{
		`{"to":"x@a.example"}`:                        true,
		`{"to":"y@a.example"}`:                        true,
		`{"to":"x@b.example"}`:                        false,
		`{"to":"x@a.example","cc":"https://evil.io"}`: false,
		`{}`: false,
	} {
		s, err := d.Spend(t.Context(), request(args, asks, trifecta))
		if got := s.Yes != nil; got != want || err != nil {
			t.Errorf("%s: covered %v, want %v (%v)", args, got, want, err)
		}
	}
}

// TestScope_default: where every rule asks once, a plain yes is for the tool in
// this conversation; where one asks each time, it is for once.
func TestScope_default(t *testing.T) {
	for _, tt := range []struct {
		reasons []annotary.Reason
		want    approval.ScopeKind
	}{{[]annotary.Reason{asksOnce}, approval.Conversation}, {[]annotary.Reason{asksOnce, asks}, approval.Once}, {[]annotary.Reason{asks}, approval.Once}} {
		if got := given(t, newDesk(), request(`{}`, tt.reasons...), approval.Scope{}).Answer.Scope.Kind; got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestTime: questions, answers, denials and conversations end when they should.
func TestTime(t *testing.T) {
	spend := func(t *testing.T, d *approval.Desk, r *approval.Request) approval.Standing {
		s, err := d.Spend(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	yes := approval.Answer{Yes: true, By: approval.PersonOf(&ann), Channel: "cli"}
	for name, test := range map[string]func(t *testing.T, d *approval.Desk){
		"question": func(t *testing.T, d *approval.Desk) {
			a, _ := d.Open(t.Context(), request(`{}`, asks))
			time.Sleep(approval.DefaultOpen)
			if _, err := d.Answer(t.Context(), a.ID, yes, anybody); annotary.CodeOf(err) != annotary.CodeAnswered {
				t.Errorf("answered after its time: %v", err)
			}
			if again, _ := d.Open(t.Context(), request(`{}`, asks)); again.ID == a.ID {
				t.Error("the expired question was asked again")
			}
		},
		"once": func(t *testing.T, d *approval.Desk) {
			given(t, d, request(`{}`, asks), approval.Scope{})
			time.Sleep(approval.DefaultOpen)
			if s := spend(t, d, request(`{}`, asks)); s.Yes != nil || s.Gaps[0].Code != annotary.CodeGrantExpired {
				t.Errorf("stands %+v", s)
			}
		},
		"until": func(t *testing.T, d *approval.Desk) {
			given(t, d, request(`{}`, asks), approval.Scope{Kind: approval.Until, Until: time.Now().Add(8 * time.Hour)})
			time.Sleep(8*time.Hour - time.Second)
			if s := spend(t, d, request(`{}`, asks)); s.Yes == nil {
				t.Errorf("before its end stands %+v", s)
			}
			time.Sleep(time.Second)
			if s := spend(t, d, request(`{}`, asks)); s.Yes != nil || s.Gaps[0].Code != annotary.CodeGrantExpired {
				t.Errorf("stands %+v", s)
			}
		},
		"conversation": func(t *testing.T, d *approval.Desk) {
			given(t, d, request(`{}`, asksOnce), approval.Scope{})
			for range 5 { // kept alive by its use
				time.Sleep(approval.IdleWindow / 2)
				if s := spend(t, d, request(`{"n":1}`, asksOnce)); s.Yes == nil {
					t.Errorf("in use stands %+v", s)
				}
			}
			time.Sleep(approval.IdleWindow)
			if s := spend(t, d, request(`{}`, asksOnce)); s.Yes != nil || s.Gaps[0].Code != annotary.CodeGrantExpired {
				t.Errorf("stands %+v", s)
			}
		},
		"denial": func(t *testing.T, d *approval.Desk) {
			a, _ := d.Open(t.Context(), request(`{}`, asks))
			if _, err := d.Answer(t.Context(), a.ID, approval.Answer{By: approval.PersonOf(&ann)}, anybody); err != nil {
				t.Fatal(err)
			}
			time.Sleep(approval.DenialHolds - time.Second)
			if s := spend(t, d, request(`{}`, asks)); s.Denied == nil {
				t.Errorf("before the hour is over stands %+v", s)
			}
			time.Sleep(time.Second)
			if s := spend(t, d, request(`{}`, asks)); s.Denied != nil || s.Yes != nil {
				t.Errorf("stands %+v", s)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, newDesk()) }) })
	}
}

// TestAnswer_may: who policy does not permit says no yes; a no may come from who
// asked.
func TestAnswer_may(t *testing.T) {
	d := newDesk()
	a, err := d.Open(t.Context(), request(`{}`, asks))
	if err != nil {
		t.Fatal(err)
	}
	for _, may := range []approval.May{nobody, nil} {
		said := approval.Answer{Yes: true, By: approval.PersonOf(&ann)}
		if _, err := d.Answer(t.Context(), a.ID, said, may); annotary.CodeOf(err) != annotary.CodeNotApprover {
			t.Errorf("ann's yes: %v", err)
		}
		if _, err := d.Answer(t.Context(), a.ID, approval.Answer{By: approval.PersonOf(&bob)}, may); annotary.CodeOf(err) != annotary.CodeNotApprover {
			t.Errorf("bob's no: %v", err)
		}
	}
	if a, err := d.Answer(t.Context(), a.ID, approval.Answer{By: approval.PersonOf(&ann)}, nobody); err != nil || a.State != approval.Denied {
		t.Errorf("ann's no: %v", err)
	}
}

// TestHeal: the writer of a wide yes died before the grant was written; the yes
// counts all the same, and becomes the grant.
func TestHeal(t *testing.T) {
	questions := memory.NewBucket()
	given(t, approval.NewDesk(questions, memory.NewBucket(), approval.Options{}), request(`{}`, asks), approval.Scope{Kind: approval.Unchanged})
	d := approval.NewDesk(questions, memory.NewBucket(), approval.Options{})
	for range 2 {
		if s, err := d.Spend(t.Context(), request(`{}`, asks)); err != nil || s.Yes == nil || s.Yes.Grant == "" {
			t.Errorf("stands %+v, %v", s, err)
		}
	}
	grants, err := d.Grants(t.Context(), false)
	if err != nil || len(grants) != 1 {
		t.Fatalf("%d grants, %v", len(grants), err)
	}
	if err := d.Revoke(t.Context(), grants[0].ID); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Spend(t.Context(), request(`{}`, asks)); err != nil || s.Yes != nil {
		t.Errorf("revoked, stands %+v, %v", s, err)
	}
}

// TestRevoke_forgotten: a yes that was taken back stays so when later ones took
// its place on the sheet.
func TestRevoke_forgotten(t *testing.T) {
	d := newDesk()
	wide := approval.Scope{Kind: approval.Unchanged}
	a := given(t, d, request(`{}`, asks), wide)
	if err := d.Revoke(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	for i := range 70 { // more than a sheet holds
		given(t, d, request(fmt.Sprintf(`{"n":%d}`, i), asks), wide)
	}
	s, err := d.Spend(t.Context(), request(`{}`, asks))
	if err != nil || s.Yes != nil {
		t.Errorf("revoked, stands %+v, %v", s.Yes, err)
	}
	if last := s.Gaps[len(s.Gaps)-1]; last.ID != a.ID || last.Code != annotary.CodeGrantRevoked {
		t.Errorf("the last gap is %+v", last)
	}
}

// TestStored: what is kept of a call holds no value of its arguments beyond what
// the prompt shows.
func TestStored(t *testing.T) {
	a := given(t, newDesk(), request(`{"password":"hunter2","path":"a"}`, asks), approval.Scope{})
	a.About.Arguments = "" // the digest, which the line makes
	if raw, err := json.Marshal(a); err != nil || strings.Contains(string(raw), "hunter2") {
		t.Errorf("kept: %s %v", raw, err)
	}
}
