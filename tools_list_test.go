package annotary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

func TestParseTools(t *testing.T) {
	const a, b = `{"name":"a","description":"first"}`, `{"name":"b"}`
	for _, tt := range []struct {
		name, in string
		want     []string
		err      string
	}{
		{"result", `{"tools":[` + a + `,` + b + `],"nextCursor":"x"}`, []string{"a", "b"}, ""},
		{"array", ` [` + b + `,` + a + `] `, []string{"b", "a"}, ""},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + a + `]}}`, []string{"a"}, ""},
		{"one", a, []string{"a"}, ""},
		{"lines", a + "\n\n" + b + "\n", []string{"a", "b"}, ""},
		{"pages", `{"tools":[` + a + `]}` + "\n" + `{"tools":[` + b + `]}`, []string{"a", "b"}, ""},
		{"empty", `{"tools":[]}`, nil, ""},
		{"nothing", ``, nil, "cannot be read"},
		{"no tools", `{"prompts":[]}`, nil, "it has no tools"},
		{"no list", `{"tools":3}`, nil, "tools is number, not an array"},
		{"no name", `[` + a + `,{"title":"x"}]`, nil, "tool 2: a tool definition has no name"},
		{"bad line", a + "\n{\n", nil, "line 2"},
		{"twice", `{"tools":[],"tools":[]}`, nil, "same key twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tools, err := annotary.ParseTools([]byte(tt.in))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want one that says %q", err, tt.err)
			}
			var got []string
			for _, tool := range tools {
				got = append(got, tool.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
