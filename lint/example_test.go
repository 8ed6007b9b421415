package lint_test

import (
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/lint"
)

func ExampleCheck() {
	tools, err := annotary.ParseTools([]byte(`{"tools":[
		{"name":"delete_user","title":"Delete User","description":"Delete a user.","annotations":{"readOnlyHint":true}}]}`))
	if err != nil {
		panic(err)
	}
	for _, f := range lint.Check(tools, lint.Options{}).Findings {
		fmt.Printf("%s: %s: %s %s\n", f.Severity, f.Rule, f.Tool, f.Message)
		fmt.Println(f.Fix)
	}
	// Output:
	// error: contradiction-read-only: delete_user says readOnlyHint: true, but it is not so
	// set readOnlyHint to false
}

func ExampleFix() {
	tools, err := annotary.ParseTools([]byte(`{"tools":[
		{"name":"list_users","title":"List Users","description":"List all users.","annotations":{"readOnlyHint":null}}]}`))
	if err != nil {
		panic(err)
	}
	for _, op := range lint.Patch(lint.Fix(tools, lint.Options{Profile: lint.Anthropic}), "/tools") {
		fmt.Println(op.Op, op.Path, string(op.Value))
	}
	// Output:
	// add /tools/0/annotations/title "List Users"
	// replace /tools/0/annotations/readOnlyHint true
	// add /tools/0/annotations/destructiveHint false
	// add /tools/0/annotations/idempotentHint true
	// add /tools/0/annotations/openWorldHint true
	// add /tools/0/_meta {"dev.annotary/assumed":["openWorldHint"]}
}
