package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

// unsure are policies that look at what a record may not hold.
var unsure = []string{
	`forbid(principal, action == Action::"call", resource) when { resource.class == "destructive" && context.args.hasTag("/x") && context.args.getTag("/x") == "1" };`,
	`forbid(principal, action == Action::"unattended", resource) when { context.ints.hasTag("/n") && context.ints.getTag("/n") > 3 };`,
	`forbid(principal, action == Action::"unattended", resource) unless { resource.readOnly || context.args.hasTag("/ok") };`,
	`permit(principal, action == Action::"call", resource == Tool::"db/write") when { context.args.hasTag("/x") };`,
	`forbid(principal, action == Action::"unattended", resource == Tool::"db/drop") when { context.args.getTag("/x") == "2" };`,
	`forbid(principal, action == Action::"call", resource) unless { principal.scopes.contains("root") };`,
	`forbid(principal, action == Action::"see", resource) when { resource.ui };`,
	`forbid(principal in Group::"interns", action == Action::"call", resource) when { context.truncated };`,
	`permit(principal, action in [Action::"call", Action::"unattended"], resource) when { resource.class != "write" };`,
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// TestBounds: whatever is not known, the decision lies between the bounds.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	told, untold := 0, 0
	many := `{"x":"1","l":[` + strings.Repeat("1,", 100) + `1]}`
	for range 300 {
		o := policy.Options{}
		if preset := pick(r, []string{"", "relaxed", "careful", "strict"}); preset != "" {
			rules, err := annotary.PresetRules(preset)
			if err != nil {
				t.Fatal(err)
			}
			o.Rules = &rules
		}
		for i, text := range unsure {
			if r.IntN(3) == 0 {
				o.Files = append(o.Files, policy.File{Name: fmt.Sprintf("p%d.cedar", i), Text: text})
			}
		}
		set, err := policy.New(o)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			name := pick(r, []string{"read", "write", "drop"})
			hints := annotary.Pessimistic()
			switch name {
			case "read":
				hints = annotary.PresetReadOnly.Hints(annotary.FromOperator, "")
			case "write":
				hints = annotary.PresetWrite.Hints(annotary.FromOperator, "")
			}
			who := annotary.Principal{Tenant: "t", Subject: "ann", Groups: pick(r, [][]string{nil, {"interns"}}), Scopes: pick(r, [][]string{nil, {"root"}})}
			q := &policy.Request{
				Who: policy.NewSubject(&who), Seen: annotary.CleanLabel(),
				Target:    policy.NewTarget(policy.About{Server: "db", Name: name, Hints: hints, UI: r.IntN(2) == 0}),
				Arguments: pick(r, [][]byte{nil, []byte(`{}`), []byte(`{"x":"1"}`), []byte(`{"x":"2","n":5}`), []byte(`{"ok":true,"n":1}`), []byte(many)}),
			}
			got := set.Decide(q)
			blind := *q
			blind.Arguments = nil
			u := policy.Unknown{Arguments: true, Truncated: true, Scopes: true, Standing: true}
			low, high := set.Bounds(&blind, u)
			if got.Effect < low.Effect || got.Effect > high.Effect {
				t.Fatalf("%s %s is %s, outside %s to %s by\n%s", name, q.Arguments, got.Effect, low.Effect, high.Effect, set.Text())
			}
			if low.Effect == high.Effect {
				told++
			} else {
				untold++
			}
			if same, _ := set.Bounds(q, policy.Unknown{}); same.Effect != got.Effect {
				t.Fatalf("with everything known: %s, not %s", same.Effect, got.Effect)
			}
		}
	}
	if told < 500 || untold < 500 {
		t.Errorf("%d told, %d not: the test shows too little", told, untold)
	}
}

// TestBounds_known: what is known counts, also within a policy that looks at
// what is not.
func TestBounds_known(t *testing.T) {
	rules, err := annotary.PresetRules("relaxed")
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.New(policy.Options{Rules: &rules, Files: []policy.File{{Name: "a.cedar", Text: unsure[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	who := policy.NewSubject(&annotary.Principal{Subject: "ann"})
	for name, tt := range map[string]struct {
		hints annotary.Hints
		known bool
	}{
		"a write is not destructive": {annotary.PresetWrite.Hints(annotary.FromOperator, ""), true},
		"a deletion may be refused":  {annotary.PresetDestructive.Hints(annotary.FromOperator, ""), false},
	} {
		q := &policy.Request{Who: who, Target: policy.NewTarget(policy.About{Server: "db", Name: "x", Hints: tt.hints}), Seen: annotary.CleanLabel()}
		low, high := set.Bounds(q, policy.Unknown{Arguments: true})
		if (low.Effect == high.Effect) != tt.known {
			t.Errorf("%s: %s to %s", name, low.Effect, high.Effect)
		}
	}
}
