package agent_test

import (
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/agent"
)

func ExamplePlan() {
	tools := []annotary.Entry{
		{Tool: annotary.Tool{Name: "orders_list"}, Hints: annotary.PresetReadOnly.Hints(annotary.FromOperator, "accepted")},
		{Tool: annotary.Tool{Name: "order_cancel", Title: "Cancel an order"}, Hints: annotary.PresetDestructive.Hints(annotary.FromOperator, "accepted")},
	}
	rules, _ := annotary.PresetRules("careful")
	for _, step := range agent.Plan(tools, rules, annotary.CleanLabel(), []agent.Call{
		{Tool: "orders_list"},
		{Tool: "order_cancel", Arguments: []byte(`{"id":"A-17"}`)},
	}) {
		fmt.Println(step.Group, step.Call.Tool, step.Verdict)
		if step.Ask() {
			fmt.Println(step.Confirm)
		}
	}
	// Output:
	// 1 orders_list allow
	// 2 order_cancel ask
	// This action is irreversible. Call "Cancel an order" ("order_cancel"), with "id" = "A-17". Proceed?
}

func ExampleAfter() {
	mail := annotary.Entry{Tool: annotary.Tool{Server: "mail", Name: "read"}, Hints: annotary.Pessimistic()}
	label := agent.LabelOf([]byte(`{"content":[],"_meta":{"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`))
	seen := agent.After(annotary.CleanLabel(), &mail, label)
	fmt.Println("private data:", !seen.Public, "strangers' words:", !seen.Trusted, "from", seen.Attribution)
	// Output: private data: true strangers' words: true from [mail/read]
}
