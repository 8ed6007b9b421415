package annotary_test

import (
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// shopTools is what a server answers to tools/list.
const shopTools = `{"tools":[
	{"name":"orders_list","description":"List orders.","annotations":{"readOnlyHint":true}},
	{"name":"order_cancel","description":"Cancel an order.","annotations":{"destructiveHint":true}},
	{"name":"order_export","annotations":{"readOnlyHint":"true"}}
]}`

// From what a server sent to what holds of its tools: the server's own claims,
// what its definitions show, and the stance of whoever runs the agent.
func ExampleResolve() {
	tools, err := annotary.ParseTools([]byte(shopTools))
	if err != nil {
		panic(err)
	}
	derived := derive.Tools(tools)
	for _, believed := range []bool{false, true} {
		fmt.Println("believed:", believed)
		for i, t := range tools {
			known, err := annotary.Resolve(annotary.Known{
				Claims:   append(t.Declared(), derived[i][:]...),
				Believed: believed,
			})
			if err != nil {
				panic(err)
			}
			entry := annotary.Entry{Tool: t, Hints: known.Hints} // for agent, find and prompt
			readOnly := entry.Hints[annotary.ReadOnly]
			fmt.Printf("  %s is %s: readOnly %s, %s\n", entry.Name, entry.Hints.Class(), readOnly.Value, readOnly.From)
		}
	}
	// Output:
	// believed: false
	//   orders_list is destructive: readOnly false, default
	//   order_cancel is destructive: readOnly false, derived
	//   order_export is destructive: readOnly false, default
	// believed: true
	//   orders_list is read: readOnly true, declared
	//   order_cancel is destructive: readOnly false, derived
	//   order_export is destructive: readOnly false, default
}

// Absent, null, false, true and a value of the wrong type are five things.
func ExampleParseTools() {
	tools, err := annotary.ParseTools([]byte(shopTools))
	if err != nil {
		panic(err)
	}
	for _, t := range tools {
		fmt.Println(t.Name, "readOnlyHint is", t.Stated[annotary.ReadOnly])
	}
	// Output:
	// orders_list readOnlyHint is true
	// order_cancel readOnlyHint is absent
	// order_export readOnlyHint is wrong type
}

// A label only grows: what came from two sources has seen what both have.
func ExampleLabel_Join() {
	mail := annotary.Label{Sensitivity: annotary.SensitivityPII, Attribution: []string{"mail/read"}}
	web := annotary.Label{Public: true, Sensitivity: annotary.SensitivityNone, Attribution: []string{"web/search"}}
	seen := annotary.CleanLabel().Join(web)
	fmt.Println(seen.Both(), seen.Attribution)
	seen = seen.Join(mail)
	fmt.Println(seen.Both(), seen.Attribution)
	// Output:
	// false [web/search]
	// true [mail/read web/search]
}

func ExampleE() {
	err := annotary.E(annotary.CodeStore, "the order could not be saved", fmt.Errorf("dial 10.0.0.7: refused")).
		WithHint("try again in a minute")
	fmt.Println(err)                  // for whoever asked
	fmt.Println(annotary.CodeOf(err)) // for machines
	fmt.Println(err.Unwrap())         // for the operator
	// Output:
	// the order could not be saved
	// store_unavailable
	// dial 10.0.0.7: refused
}
