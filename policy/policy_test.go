package policy_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func mustNew(t testing.TB, o policy.Options) *policy.Set {
	t.Helper()
	s, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func user(name string) *annotary.Principal {
	return &annotary.Principal{Tenant: annotary.DefaultTenant, Subject: name}
}

func who(name string) *policy.Subject { return policy.NewSubject(user(name)) }

func reader() annotary.Hints {
	return annotary.PresetReadOnly.Hints(annotary.FromOperator, "")
}

func codes(d annotary.Decision) string {
	var out []string
	for _, r := range d.Reasons {
		out = append(out, string(r.Code))
	}
	return d.Effect.String() + " " + strings.Join(out, ",")
}

func TestZeroDenies(t *testing.T) {
	target := policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: reader()})
	r := &policy.Request{Who: who("ann"), Target: target, Now: noon}
	var nilSet *policy.Set
	for name, s := range map[string]*policy.Set{"nil": nilSet, "zero": {}, "empty": mustNew(t, policy.Options{})} {
		if got := s.Decide(r).Effect; got != annotary.Deny {
			t.Errorf("%s set: %v", name, got)
		}
		if got := s.See(r.Who, target).Effect; got != annotary.Deny {
			t.Errorf("%s set lets see: %v", name, got)
		}
		if s.MayApprove(&policy.ApproveRequest{Approver: who("bob"), Requester: r.Who, Target: target, Channel: policy.ChannelCLI}).Effect != annotary.Deny {
			t.Errorf("%s set lets a stranger approve", name)
		}
	}
}

// TestRulesAreJudge holds the compiled short rules to what Rules.Judge says,
// over random rules, hints, labels and profiles.
func TestRulesAreJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for i := range 400 {
		rules := randomRules(rng)
		set := mustNew(t, policy.Options{Rules: &rules})
		for range 10 {
			h := randomHints(rng)
			who := user("ann")
			if rng.IntN(2) == 0 {
				who.Profiles = []string{"research"}
			}
			seen := annotary.Label{Public: rng.IntN(2) == 0, Trusted: rng.IntN(2) == 0}
			d := set.Decide(&policy.Request{
				Who: policy.NewSubject(who), Seen: seen, Now: noon,
				Target: policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: h}),
			})
			want := rules.Judge(&h, seen, who.Profiles...)
			if d.Effect != want.Verdict.Effect() {
				t.Fatalf("run %d: policy says %s, rules say %v\nrules %+v\nhints %v", i, codes(d), want, rules, h)
			}
			if d.Effect == annotary.Ask && strictestAsk(d) != want.Verdict {
				t.Fatalf("run %d: policy asks %v, rules say %v (%+v)", i, strictestAsk(d), want.Verdict, rules)
			}
		}
	}
}

func strictestAsk(d annotary.Decision) annotary.Verdict {
	v := annotary.VerdictAllow
	for _, r := range d.Reasons {
		v = min(v, r.Ask)
	}
	return v
}

func randomRules(rng *rand.Rand) annotary.Rules {
	v := func() annotary.Verdict { return annotary.Verdict(rng.IntN(6)) }
	r := annotary.Rules{Read: v(), Write: v(), Destructive: v(), Irreversible: v(), EgressAfterBoth: v()}
	switch rng.IntN(3) {
	case 0:
		r.Open = annotary.OpenRule{Else: v()}
	case 1:
		r.Open = annotary.OpenRule{Allow: []string{"profile:research"}, Else: v()}
	}
	return r
}

func randomHints(rng *rand.Rand) annotary.Hints {
	var claims []annotary.Claim
	for n := range annotary.HintName(annotary.NumHints) {
		if rng.IntN(3) > 0 {
			claims = append(claims, annotary.Claim{Hint: n, Value: annotary.Value(1 + rng.IntN(2)), By: annotary.FromDeclared})
		}
	}
	res, _ := annotary.Resolve(annotary.Known{Claims: claims, Believed: true})
	return res.Hints
}

// parts of random policies: monotone ones and ones that turn on a hint being
// dangerous, on arguments, on the label.
var (
	conditions = []string{
		`resource.readOnly`, `!resource.readOnly`, `resource.destructive`, `!resource.destructive`, `resource.openWorld`,
		`!resource.openWorld`, `resource.egress`, `!resource.egress`, `resource.class == "write"`, `resource.from.readOnly == "declared"`,
		`resource.from.destructive == "derived"`, `resource.server == "s1"`, `principal.subject == "u1"`,
		`context.args.hasTag("/force") && context.args.getTag("/force") == "true"`, `context.seen.private`,
		`context.ints.hasTag("/n") && context.ints.getTag("/n") > 3`,
	}
	scopes    = []string{`principal`, `principal == User::"default//u1"`, `principal in Group::"g1"`}
	resources = []string{`resource`, `resource == Tool::"s1/t1"`, `resource in Server::"s2"`}
	actions   = []string{`action == Action::"call"`, `action == Action::"unattended"`, `action in [Action::"call", Action::"unattended"]`, `action == Action::"see"`}
)

func randomPolicies(rng *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		action := actions[rng.IntN(len(actions))]
		effect := []string{"permit", "permit", "forbid"}[rng.IntN(3)]
		fmt.Fprintf(&b, "@id(\"p%d\") %s(%s, %s, %s)", i, effect, scopes[rng.IntN(len(scopes))], action, resources[rng.IntN(len(resources))])
		for range rng.IntN(3) {
			c := conditions[rng.IntN(len(conditions))]
			if strings.Contains(action, "see") && strings.Contains(c, "context") {
				continue
			}
			fmt.Fprintf(&b, " %s { %s }", []string{"when", "unless"}[rng.IntN(2)], c)
		}
		b.WriteString(";\n")
	}
	return b.String()
}

func randomPrincipal(rng *rand.Rand) *annotary.Principal {
	p := user(fmt.Sprintf("u%d", rng.IntN(3)))
	if rng.IntN(2) == 0 {
		p.Groups = []string{"g1"}
	}
	return p
}

var arguments = []string{`{}`, `{"force":true}`, `{"force":"true","n":5}`, `{"n":3}`, `{"a":{"b":[1,2,3]}}`}

// TestSeeIsSound: hidden means refused for every argument and label; callable
// for some means listed (I2), under any policies.
func TestSeeIsSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	listed, hidden := 0, 0
	for range 500 {
		set := mustNew(t, policy.Options{Files: []policy.File{{Name: "random.cedar", Text: randomPolicies(rng, 1+rng.IntN(8))}}})
		who := policy.NewSubject(randomPrincipal(rng))
		about := policy.About{Server: fmt.Sprintf("s%d", rng.IntN(3)), Name: fmt.Sprintf("t%d", rng.IntN(3)), Hints: randomHints(rng)}
		target := policy.NewTarget(about)
		visible := set.See(who, target).Effect == annotary.Allow
		if visible {
			listed++
		} else {
			hidden++
		}
		for _, args := range arguments {
			for _, seen := range []annotary.Label{{}, annotary.CleanLabel()} {
				d := set.Decide(&policy.Request{Who: who, Target: target, Arguments: []byte(args), Seen: seen, Now: noon})
				if d.Effect != annotary.Deny && !visible {
					t.Fatalf("hidden but %s with %s:\n%s", codes(d), args, set.Text())
				}
			}
		}
	}
	if listed < 20 || hidden < 20 {
		t.Fatalf("the test saw %d listed and %d hidden tools; it asserts too little", listed, hidden)
	}
}

// TestUnbelievedClaimsNeverLoosen (I4): whatever the policies, monotone or not,
// what an unbelieved server says and what we derive never move a decision
// towards Allow.
func TestUnbelievedClaimsNeverLoosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	moved := 0
	for range 800 {
		set := mustNew(t, policy.Options{Files: []policy.File{{Name: "random.cedar", Text: randomPolicies(rng, 1+rng.IntN(8))}}})
		bare := annotary.Pessimistic()
		var claims []annotary.Claim
		for n := range annotary.HintName(annotary.NumHints) {
			by := []annotary.Source{annotary.FromDeclared, annotary.FromDerived}[rng.IntN(2)]
			claims = append(claims, annotary.Claim{Hint: n, Value: annotary.Value(rng.IntN(3)), By: by, Confidence: rng.Float64()})
		}
		res, err := annotary.Resolve(annotary.Known{Claims: claims})
		if err != nil {
			t.Fatal(err)
		}
		about := policy.About{Server: "s1", Name: "t1", Hints: res.Hints, Unclaimed: &bare}
		req := &policy.Request{Who: policy.NewSubject(randomPrincipal(rng)), Arguments: []byte(arguments[rng.IntN(len(arguments))]), Now: noon}
		req.Target = policy.NewTarget(about)
		with := set.Decide(req)
		seeWith := set.See(req.Who, req.Target).Effect
		req.Target = policy.NewTarget(policy.About{Server: "s1", Name: "t1", Hints: bare})
		without := set.Decide(req)
		if with.Effect > without.Effect || seeWith > set.See(req.Who, req.Target).Effect {
			t.Fatalf("claims loosened %s to %s:\n%s\n%v", codes(without), codes(with), set.Text(), claims)
		}
		if with.Effect != without.Effect {
			moved++
		}
	}
	if moved == 0 {
		t.Fatal("no claim ever moved a decision; the test asserts nothing")
	}
}

func TestErrorsDeny(t *testing.T) {
	set := mustNew(t, policy.Options{Files: []policy.File{{Name: "p.cedar", Text: `
permit(principal, action, resource);
@id("no-root") forbid(principal, action == Action::"call", resource) when { context.args.getTag("/path") == "/" };
@id("no-two") forbid(principal, action == Action::"read", resource) when { context.args.getTag("/a") == "/" || context.args.getTag("/b") == "/" };
`}}})
	if w := set.Warnings(); len(w) != 2 || w[0].At.Line != 3 || w[1].At.Line != 4 {
		t.Errorf("warnings = %v, want one at line 3 and one at line 4", w)
	}
	target := policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: reader()})
	for args, want := range map[string]string{
		`{}`:              "deny policy_error",
		`{"path":"/"}`:    "deny policy",
		`{"path":"/tmp"}`: "allow policy",
	} {
		got := set.Decide(&policy.Request{Who: who("ann"), Target: target, Arguments: []byte(args), Now: noon})
		if codes(got) != want {
			t.Errorf("%s: %s, want %s (%v)", args, codes(got), want, got.Reasons)
		}
	}
}

func TestMistakesNameTheirLine(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"unknown-attribute": {"\npermit(principal, action == Action::\"call\", resource) when { resource.destuctive };", "p.cedar:2: "},
		"wrong-type":        {"permit(principal, action == Action::\"call\", resource) when { resource.name == 1 };", "p.cedar:1: "},
		"unknown-action":    {"permit(principal, action == Action::\"cal\", resource);", "p.cedar:1: "},
		"syntax":            {"\n\npermit(principal, action, resource) when { ", "p.cedar:3: "},
		"unclosed":          {"\npermit(principal, action, resource) when { \"abc", "p.cedar:2: "},
		"context-in-see":    {"forbid(principal, action == Action::\"see\", resource) when { context.seen.private };", "p.cedar:1: "},
		"same-id":           {"@id(\"a\") permit(principal, action, resource);\n@id(\"a\") permit(principal, action, resource);", "p.cedar:2: the id \"a\" is taken by p.cedar:1"},
	} {
		_, err := policy.New(policy.Options{Files: []policy.File{{Name: "p.cedar", Text: tt.text}}})
		if annotary.CodeOf(err) != annotary.CodeConfig || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want it to name %q", name, err, tt.want)
		}
	}
}

func TestTruncatedArgumentsAsk(t *testing.T) {
	rules := annotary.Rules{Read: annotary.VerdictAllow}
	set := mustNew(t, policy.Options{Rules: &rules})
	target := policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: reader()})
	many := `{"a":[` + strings.Repeat("1,", 64) + `1]}`
	long := `{"a":"` + strings.Repeat("x", 5000) + `"}`
	deep := strings.Repeat(`{"a":`, 9) + `1` + strings.Repeat(`}`, 9)
	for args, want := range map[string]annotary.Effect{`{"a":1}`: annotary.Allow, many: annotary.Ask, long: annotary.Ask, deep: annotary.Ask} {
		if got := set.Decide(&policy.Request{Who: who("ann"), Target: target, Arguments: []byte(args), Now: noon}); got.Effect != want {
			t.Errorf("%.30s…: %s, want %v", args, codes(got), want)
		}
	}
}

func TestApprovers(t *testing.T) {
	destroyer := policy.NewTarget(policy.About{Server: "s", Name: "drop", Hints: annotary.Pessimistic()})
	writer := policy.NewTarget(policy.About{Server: "s", Name: "put", Hints: annotary.PresetWrite.Hints(annotary.FromOperator, "")})
	approver := user("boss")
	approver.Groups = []string{"approvers"}
	foreign := user("boss")
	foreign.Tenant, foreign.Groups = "other", []string{"approvers"}
	for _, tt := range []struct {
		name    string
		fleet   bool
		who     *annotary.Principal
		channel policy.Channel
		target  *policy.Target
		asked   []annotary.Reason
		want    annotary.Effect
	}{
		{"owner-writes-in-client", false, user("ann"), policy.ChannelClient, writer, nil, annotary.Allow},
		{"owner-destroys-in-client", false, user("ann"), policy.ChannelClient, destroyer, nil, annotary.Deny},
		{"owner-destroys-on-page", false, user("ann"), policy.ChannelPage, destroyer, nil, annotary.Allow},
		{"stranger", false, user("bob"), policy.ChannelPage, writer, nil, annotary.Deny},
		{"outside-rule", false, user("ann"), policy.ChannelClient, writer, []annotary.Reason{{Ask: annotary.VerdictAskOutside}}, annotary.Deny},
		{"trifecta-in-client", false, user("ann"), policy.ChannelClient, writer, []annotary.Reason{{Code: annotary.CodeTrifecta}}, annotary.Deny},
		{"fleet-self-destroys", true, user("ann"), policy.ChannelPage, destroyer, nil, annotary.Deny},
		{"fleet-second-person", true, approver, policy.ChannelPage, destroyer, nil, annotary.Allow},
		{"fleet-other-tenant", true, foreign, policy.ChannelPage, destroyer, nil, annotary.Deny},
	} {
		set := mustNew(t, policy.Options{Fleet: tt.fleet})
		got := set.MayApprove(&policy.ApproveRequest{
			Approver: policy.NewSubject(tt.who), Requester: who("ann"), Channel: tt.channel, Target: tt.target, Asked: tt.asked, Now: noon,
		})
		if got.Effect != tt.want {
			t.Errorf("%s: %s, want %v", tt.name, codes(got), tt.want)
		}
	}
}

func TestProfilesHaveTheirOwnRules(t *testing.T) {
	careful, _ := annotary.PresetRules("careful")
	set := mustNew(t, policy.Options{Rules: &careful, Profiles: map[string]annotary.Rules{"interns": {Read: annotary.VerdictAllow}}})
	writer := policy.NewTarget(policy.About{Server: "s", Name: "put", Hints: annotary.PresetWrite.Hints(annotary.FromOperator, "")})
	intern := user("ann")
	intern.Profiles = []string{"interns"}
	if got := set.See(policy.NewSubject(intern), writer).Effect; got != annotary.Deny {
		t.Errorf("an intern sees a writer: %v", got)
	}
	if got := set.Decide(&policy.Request{Who: who("bob"), Target: writer, Now: noon}).Effect; got != annotary.Ask {
		t.Errorf("bob writes: %v, want ask", got)
	}
}

func BenchmarkDecide(b *testing.B) {
	args := `{"path":"/a/b","n":12,"body":"` + strings.Repeat("x", 700) + `","list":[1,2,3,4,5,6,7,8],"o":{"a":"b","c":true,"d":null}}`
	careful, _ := annotary.PresetRules("careful")
	for _, n := range []int{10, 1000, 10000} {
		var text strings.Builder
		for i := range n {
			if i%10 == 0 && i < 100 { // unscoped ones do not grow with the fleet
				fmt.Fprintf(&text, "@id(\"x%d\") forbid(principal, action == Action::\"call\", resource) when { resource.name == \"never%d\" };\n", i, i)
			} else {
				fmt.Fprintf(&text, "@id(\"x%d\") permit(principal == User::\"default//u%d\", action == Action::\"call\", resource in Server::\"s%d\");\n", i, i, i%50)
			}
		}
		set := mustNew(b, policy.Options{Rules: &careful, Files: []policy.File{{Name: "many.cedar", Text: text.String()}}})
		r := &policy.Request{Who: who("u7"), Target: policy.NewTarget(policy.About{Server: "s7", Name: "t", Hints: reader()}),
			Arguments: []byte(args), Seen: annotary.CleanLabel(), Now: noon}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				if set.Decide(r).Effect != annotary.Allow {
					b.Fatal("not allowed")
				}
				took = append(took, time.Since(begun))
			}
			slices.Sort(took) // the median does not mind who else uses the machine
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns/op")
		})
	}
}

// TestFacts: requests that are alike in principal, target and facts are decided
// alike, whatever their arguments and time, or no facts are given.
func TestFacts(t *testing.T) {
	permit := "permit(principal, action, resource);\n"
	target := policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: reader()})
	request := func(args string, now time.Time) *policy.Request {
		return &policy.Request{Who: who("ann"), Target: target, Arguments: []byte(args), Seen: annotary.CleanLabel(), Now: now}
	}
	for text, want := range map[string]bool{
		permit: true,
		permit + `forbid(principal, action == Action::"call", resource) when { resource.name == "u" };`:                                           true,
		permit + `forbid(principal, action == Action::"unattended", resource) when { context.truncated || context.seen.private };`:                true,
		permit + `forbid(principal, action == Action::"call", resource) when { context.args.hasTag("/a") };`:                                      false,
		permit + `forbid(principal, action == Action::"call", resource) when { context.ints.hasTag("/n") && context.ints.getTag("/n") > 5 };`:     false,
		permit + `forbid(principal, action == Action::"unattended", resource) when { context.now > datetime("2026-11-15T12:30:00Z") };`:           false,
		permit + `forbid(principal, action == Action::"call", resource) when { (if resource.open then context else context).args.hasTag("/a") };`: false,
	} {
		set := mustNew(t, policy.Options{Files: []policy.File{{Name: "p.cedar", Text: text}}})
		first := request(`{}`, noon)
		facts, ok := set.Facts(first)
		if ok != want {
			t.Errorf("%s: facts are given: %v", text, ok)
		}
		alike, differ := true, false
		for _, r := range []*policy.Request{request(`{"a":1}`, noon), request(`{"n":6}`, noon), request(`{}`, noon.Add(time.Hour))} {
			f, _ := set.Facts(r)
			alike = alike && f == facts
			differ = differ || !reflect.DeepEqual(set.Decide(r), set.Decide(first))
		}
		if ok && (!alike || differ) || !ok && !differ {
			t.Errorf("%s: alike %v, differently decided %v", text, alike, differ)
		}
	}
}

// TestTenants: in a fleet as shipped, nobody answers for another tenant, and only
// the gateway's own tenant has roles over it, whatever groups an issuer names.
func TestTenants(t *testing.T) {
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		t.Fatal(err)
	}
	set := mustNew(t, policy.Options{Rules: &rules, Fleet: true})
	member := func(tenant string) *policy.Subject {
		return policy.NewSubject(&annotary.Principal{Tenant: tenant, Issuer: "i", Subject: "bob", Groups: []string{"approvers", "operators", "auditors"}})
	}
	target := policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: annotary.Pessimistic()})
	asks := policy.NewSubject(&annotary.Principal{Tenant: "acme", Issuer: "i", Subject: "ann"})
	for tenant, want := range map[string]string{"acme": "true false false", "other": "false false false", "default": "false true true"} {
		may := func(d annotary.Decision) bool { return d.Effect == annotary.Allow }
		got := fmt.Sprint(may(set.MayApprove(&policy.ApproveRequest{Approver: member(tenant), Requester: asks, Channel: policy.ChannelCLI, Target: target, Now: noon})),
			may(set.MayAct(member(tenant), policy.Operate)), may(set.MayAct(member(tenant), policy.Audit)))
		if got != want {
			t.Errorf("of the tenant %s: approves, operates, audits: %s, want %s", tenant, got, want)
		}
	}
}
