package policy_test

import (
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

// The short rules of a preset, one policy of the operator's beside them, and what
// becomes of two calls.
func ExampleSet_Decide() {
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		panic(err)
	}
	set, err := policy.New(policy.Options{Rules: &rules, Files: []policy.File{{Name: "own.cedar", Text: `
@id("no-refunds")
forbid(principal, action == Action::"call", resource == Tool::"shop/order_refund");
`}}})
	if err != nil {
		panic(err)
	}
	ann := policy.NewSubject(&annotary.Principal{Tenant: annotary.DefaultTenant, Subject: "ann"})
	for _, name := range []string{"order_cancel", "order_refund"} {
		hints := annotary.PresetDestructive.Hints(annotary.FromOperator, "accepted")
		target := policy.NewTarget(policy.About{Server: "shop", Name: name, Hints: hints})
		d := set.Decide(&policy.Request{Who: ann, Target: target, Seen: annotary.CleanLabel()})
		fmt.Println(name, d.Effect)
		for _, r := range d.Reasons {
			fmt.Println("-", r.Code, r.Rule, r.At)
		}
	}
	// Output:
	// order_cancel ask
	// - class_rule rules/destructive/ask rules:21
	// - irreversible rules/irreversible/ask rules:26
	// order_refund deny
	// - policy no-refunds own.cedar:2
}

func ExampleSet_RunScenario() {
	set, err := policy.New(policy.Options{Rules: &annotary.Rules{Read: annotary.VerdictAllow, Destructive: annotary.VerdictDeny}})
	if err != nil {
		panic(err)
	}
	ran, failed, err := set.RunScenario(policy.File{Name: "shop.scenario", Text: `
tool  shop/orders_list   readOnly=true from=operator
tool  shop/order_cancel  destructive=true from=operator
as    ann
call  shop/orders_list   -> allow
call  shop/order_cancel  -> ask
`})
	if err != nil {
		panic(err)
	}
	fmt.Println(ran, "expectations,", len(failed), "failed")
	fmt.Println(failed[0])
	// Output:
	// 2 expectations, 1 failed
	// shop.scenario:6: call  shop/order_cancel  -> ask
	//   want ask
	//   got  deny class_rule (rules/destructive/deny)
}
