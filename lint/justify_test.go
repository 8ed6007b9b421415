package lint_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/lint"
)

func TestJustify(t *testing.T) {
	got := lint.Justify(list(t,
		`{"name":"list_orders","description":"List the orders.","annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":null}}`,
		`{"name":"delete_order","description":"Delete an order.","annotations":{"readOnlyHint":true,"destructiveHint":true}}`,
		`{"name":"frob","annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}`,
	))
	var kinds []string
	for _, j := range got {
		kind := j.Missing
		if j.Text != "" {
			kind = "text"
		}
		before, _, _ := strings.Cut(kind, ":")
		kinds = append(kinds, j.Tool+" "+j.Hint+" "+j.Value.String()+" "+before)
	}
	want := []string{
		"list_orders readOnlyHint true text",
		"list_orders destructiveHint false text",
		"list_orders openWorldHint unknown openWorldHint is null",
		"delete_order readOnlyHint true the definition speaks against this",
		"delete_order destructiveHint true text",
		"delete_order openWorldHint unknown openWorldHint is absent",
		"frob readOnlyHint true nothing in the definition shows this",
		"frob destructiveHint false nothing in the definition shows this",
		"frob openWorldHint false nothing in the definition shows this",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// TestJustify_length holds every justification to the form's field, on real
// definitions and on one with a very long name for an action.
func TestJustify_length(t *testing.T) {
	long := list(t, `{"name":"orders","inputSchema":{"properties":{"action":{"enum":["delete_`+strings.Repeat("long_", 99)+`name"]}}},
		"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`)
	check := func(tools []annotary.Tool) {
		for _, j := range lint.Justify(tools) {
			if n := utf8.RuneCountInString(j.Text); n > lint.MaxJustification {
				t.Errorf("%s %s: %d characters", j.Tool, j.Hint, n)
			}
			if (j.Text == "") == (j.Missing == "") {
				t.Errorf("%s %s: has both a text and a reason for none, or neither", j.Tool, j.Hint)
			}
		}
	}
	check(long)
	if text := lint.Justify(long)[0].Text; !strings.HasSuffix(text, "…") {
		t.Errorf("a long reason was not shortened: %q", text)
	}
	for _, tools := range corpus(t) {
		check(tools)
	}
}
