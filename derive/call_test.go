package derive_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

func TestCall(t *testing.T) {
	sql := derive.Rule{Kind: derive.KindSQL, At: "/query", Dialect: "postgres"}
	http := derive.Rule{Kind: derive.KindHTTP, At: "/method"}
	action := derive.Rule{Kind: derive.KindAction, At: "/action"}
	dry := derive.Rule{Kind: derive.KindDryRun, At: "/dry_run"}
	for _, tt := range []struct {
		rule derive.Rule
		args string
		want bool
	}{
		{sql, `{"query":"SELECT 1"}`, true},
		{sql, `{"query":"SELECT a::text FROM t"}`, true},
		{sql, `{"query":"SELECT nextval('s')"}`, false},
		{sql, `{"query":"WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x"}`, false},
		{sql, `{"query":["SELECT 1"]}`, false},
		{sql, `{"query":null}`, false},
		{sql, `{}`, false},
		{sql, `{"Query":"SELECT 1"}`, false},
		{sql, `{"query":"SELECT 1","Query":"DELETE FROM t"}`, false},
		{sql, `{"query":"SELECT 1","query":"DELETE FROM t"}`, false},
		{sql, `{"query":"SELECT 1","options":{"a":1,"A":2}}`, false},
		{sql, `{"query":"SELECT 1"} {}`, false},
		{sql, ``, false},
		{derive.Rule{Kind: derive.KindSQL, At: "/q"}, `{"q":"SELECT a::text FROM t"}`, false},
		{derive.Rule{Kind: derive.KindSQL, At: "/q"}, `{"q":"SELECT a FROM t"}`, true},
		{derive.Rule{Kind: derive.KindSQL, At: "/a/1/q"}, `{"a":[0,{"q":"SELECT 1"}]}`, true},
		{derive.Rule{Kind: derive.KindSQL, At: "/q", Dialect: "oracle"}, `{"q":"SELECT 1"}`, false},
		{derive.Rule{Kind: derive.KindSQL, At: "q"}, `{"q":"SELECT 1"}`, false},
		{derive.Rule{Kind: "graphql", At: "/q"}, `{"q":"SELECT 1"}`, false},
		{derive.Rule{}, `{"q":"SELECT 1"}`, false},

		{http, `{"method":"GET","url":"https://x.example/a"}`, true},
		{http, `{"method":"HEAD"}`, true},
		{http, `{"method":"get"}`, false},
		{http, `{"method":"GET "}`, false},
		{http, `{"method":"POST"}`, false},
		{http, `{"method":"TRACE"}`, false},
		{http, `{"method":true}`, false},
		{http, `{"method":"GET","headers":{"X-HTTP-Method-Override":"DELETE"}}`, false},
		{http, `{"method":"GET","headers":["x-method-override: DELETE"]}`, false},
		{http, `{"method":"GET","url":"https://x.example/a?_method=DELETE"}`, false},
		{http, `{"method":"GET","url":"https://x.example/a?%5Fmethod=DELETE"}`, false},
		{http, `{"method":"GET","form":{"_method":"PUT"}}`, false},
		{http, `{"method":"GET","url":"https://x.example/%zz?_method=DELETE"}`, false},
		{derive.Rule{Kind: derive.KindHTTP, At: "/http_method"}, `{"http_method":"GET","payment_method":"card"}`, true},

		{action, `{"action":"list"}`, true},
		{action, `{"action":"get_user"}`, true},
		{action, `{"action":"listItems"}`, true},
		{action, `{"action":"list_open_issues"}`, true},
		{action, `{"action":"status"}`, true},
		{action, `{"action":"status_disable"}`, false},
		{action, `{"action":"info_clear"}`, false},
		{action, `{"action":"get_status_disable"}`, false},
		{action, `{"action":"viewReactivate"}`, false},
		{action, `{"action":"LIST"}`, false},
		{action, `{"action":"List"}`, false},
		{action, `{"action":" list"}`, false},
		{action, `{"action":"delete"}`, false},
		{action, `{"action":"get_or_create"}`, false},
		{action, `{"action":"findAndModify"}`, false},
		{action, `{"action":"list; delete"}`, false},
		{action, `{"action":"lıst"}`, false},
		{action, `{"action":""}`, false},
		{action, `{"action":1}`, false},
		{action, `{"action":["list"]}`, false},

		{dry, `{"dry_run":true}`, true},
		{dry, `{"dry_run":"true"}`, false},
		{dry, `{"dry_run":1}`, false},
		{dry, `{"dry_run":false}`, false},
		{dry, `{"dry_run":null}`, false},
		{dry, `{"dryRun":true}`, false},
		{dry, `{"dry_run":true,"dryRun":false}`, false},
		{dry, `{"dry_run":true,"dry-run":false}`, false},
		{dry, `[true]`, false},
	} {
		got := derive.Call(tt.rule, []byte(tt.args))
		if got.Reads != tt.want || got.Why == "" {
			t.Errorf("Call(%v, %s) = %+v, want %v", tt.rule, tt.args, got, tt.want)
		}
	}
}

// TestNarrowingRelaxesThree holds narrowing to ReadOnly, Destructive and
// Idempotent, whatever the hints were.
func TestNarrowingRelaxesThree(t *testing.T) {
	var h annotary.Hints
	for n := range h {
		h[n] = annotary.Hint{Value: annotary.HintName(n).Dangerous(), From: annotary.FromDeclared, Why: "before"}
	}
	got := derive.Narrowing{Reads: true, Why: "the SQL only reads"}.Apply(h, annotary.FromOperator)
	for n := range annotary.HintName(annotary.NumHints) {
		want := h[n]
		if n <= annotary.Idempotent {
			want = annotary.Hint{Value: n.Safe(), From: annotary.FromOperator, Why: "the SQL only reads"}
		}
		if got[n] != want {
			t.Errorf("%s is %+v, want %+v", n, got[n], want)
		}
	}
	if got := (derive.Narrowing{}).Apply(h, annotary.FromOperator); got != h {
		t.Error("a narrowing that says nothing changed the hints")
	}
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name, desc, props string
		want              []derive.Rule
	}{
		{"pg_query", "Run SQL on PostgreSQL", `{"sql":{"type":"string"}}`, []derive.Rule{{"sql", "/sql", "postgres"}}},
		{"execute", "Runs a SQL statement", `{"query":{"type":"string"}}`, []derive.Rule{{"sql", "/query", ""}}},
		{"search", "Search the web", `{"query":{"type":"string"}}`, nil},
		{"copy", "From mysql to sqlite", `{"sql":{"type":"string"}}`, []derive.Rule{{"sql", "/sql", ""}}},
		{"fetch", "", `{"method":{"type":"string","enum":["GET","POST"]},"url":{"type":"string"}}`, []derive.Rule{{"http", "/method", ""}}},
		{"fetch", "", `{"method":{"type":"string"}}`, nil},
		{"issues", "", `{"action":{"type":"string","enum":["list","delete"]},"dryRun":{"type":"boolean"}}`,
			[]derive.Rule{{"action", "/action", ""}, {"dry_run", "/dryRun", ""}}},
		{"issues", "", `{"action":{"type":"string","enum":["list","get"]}}`, nil},
		{"issues", "", `{"action":{"enum":["list","delete"]},"dry_run":{"type":"string"}}`, nil},
		{"odd", "", `{"a/b~sql":{"type":"string"},"sql":{"type":["string","null"]}}`, nil},
	} {
		raw := fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"properties":%s}}`, tt.name, tt.desc, tt.props)
		tool, err := annotary.ParseTool([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		got := derive.Rules(tool)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Rules(%s): -want +got\n%s", raw, diff)
		}
		for _, r := range got {
			if err := r.Check(); err != nil {
				t.Errorf("Rules(%s) proposes a bad rule: %v", raw, err)
			}
		}
	}
}

// FuzzCall: arguments that are no clean JSON object never narrow, and a value
// that is no string narrows nothing but a dry run.
func FuzzCall(f *testing.F) {
	for _, s := range []string{`{"a":"SELECT 1"}`, `{"a":"GET"}`, `{"a":"list"}`, `{"a":true}`, `{"a":1,"A":2}`, `[]`, `{"a":"list","a":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		for _, kind := range []derive.Kind{derive.KindSQL, derive.KindHTTP, derive.KindAction, derive.KindDryRun} {
			if !derive.Call(derive.Rule{Kind: kind, At: "/a"}, args).Reads {
				continue
			}
			var object map[string]any
			if err := json.Unmarshal(args, &object); err != nil {
				t.Fatalf("%s narrowed %q: %v", kind, args, err)
			}
			if _, isText := object["a"].(string); isText == (kind == derive.KindDryRun) {
				t.Fatalf("%s narrowed %q", kind, args)
			}
		}
	})
}
