package derive_test

import (
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// The tools of a server that says nothing about them.
func ExampleTools() {
	tools, err := annotary.ParseTools([]byte(`{"tools":[
		{"name":"orders_list","description":"List orders.","inputSchema":{"type":"object","properties":{"cursor":{"type":"string"}}}},
		{"name":"order_cancel","description":"Cancel an order.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}},
		{"name":"frobnicate"}
	]}`))
	if err != nil {
		panic(err)
	}
	for i, claims := range derive.Tools(tools) {
		c := claims[annotary.ReadOnly]
		fmt.Printf("%s: %s, because %s\n", tools[i].Name, c.Value, c.Why)
	}
	// Output:
	// orders_list: true, because its name ends with the verb 'list', which looks something up, and its description agrees
	// order_cancel: false, because its name ends with the verb 'cancel', which deletes or ends something
	// frobnicate: unknown, because its name has no verb that says what it does
}

// A tool that runs SQL writes; one call of it may only read.
func ExampleCall() {
	rule := derive.Rule{Kind: derive.KindSQL, At: "/query", Dialect: "postgres"}
	for _, args := range []string{
		`{"query":"SELECT name FROM customers"}`,
		`{"query":"WITH x AS (DELETE FROM customers RETURNING *) SELECT * FROM x"}`,
	} {
		n := derive.Call(rule, []byte(args))
		hints := n.Apply(annotary.Pessimistic(), annotary.FromOperator)
		fmt.Println(n.Reads, hints.Class())
	}
	// Output:
	// true read
	// false destructive
}

func ExampleOpenAPI() {
	operations, err := derive.OpenAPI([]byte(`
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /orders/{id}:
    get: {operationId: getOrder, responses: {}}
    delete: {operationId: deleteOrder, responses: {}}
`), nil)
	if err != nil {
		panic(err)
	}
	for _, o := range operations {
		fmt.Println(o.Name, "read-only:", o.Claims[annotary.ReadOnly].Value, "destructive:", o.Claims[annotary.Destructive].Value)
	}
	// Output:
	// getOrder read-only: true destructive: false
	// deleteOrder read-only: false destructive: true
}
