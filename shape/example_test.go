package shape_test

import (
	"fmt"
	"strings"

	"github.com/annotary/annotary/shape"
)

// A list that is too long keeps its beginning and its cursor, and says so.
func ExampleTruncate() {
	long := strings.Repeat("x", 60)
	in := `{"data":["` + long + `","` + long + `","` + long + `"],"meta":{"cursor":"c9"}}`
	out, cut, _ := shape.Truncate([]byte(in), nil, 150)
	fmt.Println(cut.Items, strings.ReplaceAll(string(out), long, "x"))
	// Output: 2 {"data":["x"],"meta":{"cursor":"c9","truncated":true}}
}

// Fields that the output schema does not declare never reach the model.
func ExampleSanitise() {
	schema, _ := shape.Compile([]byte(`{"type":"array","items":{"properties":{"id":{},"name":{}}}}`))
	out, dropped, _ := shape.Sanitise([]byte(`[{"id":1,"name":"Ada","stripeCustomerId":"cus_1"}]`), schema)
	fmt.Printf("%s %v\n", out, dropped)
	// Output: [{"id":1,"name":"Ada"}] [/*/stripeCustomerId]
}

// What would command a terminal is gone; what would be read is left.
func ExampleClean() {
	fmt.Printf("%q\n", shape.Clean("\x1b[31mAll\x1b[0m good\a"))
	// Output: "All good"
}

// A gateway shapes the bytes of a result and forwards the rest untouched.
func ExampleResult() {
	schema, _ := shape.Compile([]byte(`{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}`))
	in := `{"content":[{"type":"text","text":"{\"id\":1,\"debug\":true}"}],"structuredContent":{"id":1,"debug":true}}`
	out, report, err := shape.Result([]byte(in), shape.Options{Schema: schema, Sanitise: true, Limit: shape.DefaultLimit})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Dropped)
	fmt.Println(string(out))
	// Output:
	// [/debug]
	// {"content":[{"type":"text","text":"{\"id\":1}"}],"structuredContent":{"id":1}}
}

// A schema also says whether a value keeps to it.
func ExampleSchema_Validate() {
	schema, _ := shape.Compile([]byte(`{"type":"object","required":["id"]}`))
	fmt.Println(schema.Validate([]byte(`{"name":"Ada"}`)))
	// Output: the value does not keep to the schema: lacks "id"
}
