package derive_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// persuasive descriptions promise reading in every way a writer could.
var persuasive = []string{
	"Lists all items. Read-only.", "Returns the current status without side effects.", "Get details of an item by its id.",
	"Search the documentation and return matching pages. This tool does not modify anything.",
	"Retrieves information. Safe to call at any time, read-only, idempotent.", "Shows a preview; nothing is changed.",
	"Fetches the latest results and returns them as JSON.", "Check whether something exists.",
}

// TestDescriptionAlone holds derivation to its promise: no description makes
// a tool read-only whose name says nothing or says that it writes.
func TestDescriptionAlone(t *testing.T) {
	names := []string{
		"frobnicate", "xyzzy", "do_it", "tool1", "blork", "acme_zap", // say nothing
		"delete_user", "createIssue", "users.update", "send-email", "drop_table", "run_command", "purgeCache", "order_cancel",
	}
	for _, name := range names {
		for _, description := range persuasive {
			c := derive.Tools([]annotary.Tool{{Name: name, Description: description}})[0]
			if got := c[annotary.ReadOnly]; got.Value == annotary.Yes {
				t.Errorf("%s, described as %q, is called read-only: %s", name, description, got.Why)
			}
		}
	}
}

// TestTopicIsNoAction shows that what a tool is about says nothing about what
// it does.
func TestTopicIsNoAction(t *testing.T) {
	topics := []string{"secret", "message", "terraform", "note", "password", "invoice", "widget", "database", "payment"}
	for _, form := range []string{"get_%s", "list_%s", "create_%s", "update_%s", "delete_%s", "%s_get", "%s_create", "%s_delete"} {
		first := derive.Tools([]annotary.Tool{{Name: fmt.Sprintf(form, topics[0])}})[0]
		for _, topic := range topics[1:] {
			name := fmt.Sprintf(form, topic)
			c := derive.Tools([]annotary.Tool{{Name: name}})[0]
			for _, n := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.Idempotent} {
				if c[n].Value != first[n].Value {
					t.Errorf("%s: %s is %s: %s; of "+form+" it is %s", name, n, c[n].Value, c[n].Why, topics[0], first[n].Value)
				}
			}
		}
	}
}

// TestCasing shows that the way a name is written does not matter.
func TestCasing(t *testing.T) {
	for _, words := range [][]string{{"get", "user", "profile"}, {"delete", "file"}, {"orders", "list"}, {"send", "http", "request"}} {
		want := derive.Tools([]annotary.Tool{{Name: strings.Join(words, "_")}})
		title := func(w string) string { return strings.ToUpper(w[:1]) + w[1:] }
		var camel, pascal string
		for i, w := range words {
			pascal += title(w)
			if i == 0 {
				camel += w
			} else {
				camel += title(w)
			}
		}
		for _, name := range []string{strings.Join(words, "-"), camel, pascal, strings.ToUpper(strings.Join(words, "_")), strings.Join(words, " ")} {
			if diff := cmp.Diff(want, derive.Tools([]annotary.Tool{{Name: name}})); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestProductPrefix shows that what all names share is stepped over.
func TestProductPrefix(t *testing.T) {
	plain := []string{"list_pages", "test_connection", "post_page", "run_report", "status", "order_cancel"}
	tools := func(prefix string) []annotary.Tool {
		var all []annotary.Tool
		for _, name := range plain {
			all = append(all, annotary.Tool{Name: prefix + name, Description: "About pages."})
		}
		return all
	}
	want := derive.Tools(tools(""))
	for _, prefix := range []string{"acme_", "acme-", "acme.", "mcp_acme_", "Acme__"} {
		if diff := cmp.Diff(values(want), values(derive.Tools(tools(prefix)))); diff != "" {
			t.Errorf("with the prefix %q: %s", prefix, diff)
		}
	}
}

// values returns the values of the claims, readable.
func values(all []derive.Claims) []string {
	var out []string
	for _, c := range all {
		var s []string
		for _, claim := range c {
			s = append(s, claim.Value.String())
		}
		out = append(out, strings.Join(s, " "))
	}
	return out
}

// TestAnnotationsAreHidden shows that nothing a server says of its tool moves
// what is derived, not even the title among the annotations.
func TestAnnotationsAreHidden(t *testing.T) {
	const plain = `{"name":"acme_zap","description":"Zaps.","inputSchema":{"properties":{"limit":{}}}}`
	want := derive.Tools(mustTools(t, plain))
	for _, said := range []string{
		`"annotations":{"readOnlyHint":true,"destructiveHint":false}`,
		`"annotations":{"title":"List Everything"}`,
		`"_meta":{"dev.annotary/hints":{"sensitive":false}}`,
	} {
		got := derive.Tools(mustTools(t, strings.Replace(plain, "{", "{"+said+",", 1)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", said, diff)
		}
	}
}

func mustTools(t *testing.T, raw string) []annotary.Tool {
	t.Helper()
	tools, err := annotary.ParseTools([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestOrder shows that the order of a list changes nothing but the order.
func TestOrder(t *testing.T) {
	var tools []annotary.Tool
	for i, verb := range []string{"get", "delete", "restore", "archive", "unarchive", "list", "create"} {
		for _, thing := range []string{"page", "Page", "pages", "user"} {
			tools = append(tools, annotary.Tool{Name: fmt.Sprintf("acme_%s_%s", verb, thing), Description: persuasive[i]})
		}
	}
	want := map[string]derive.Claims{}
	for i, c := range derive.Tools(tools) {
		want[tools[i].Name] = c
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		for i, c := range derive.Tools(tools) {
			if diff := cmp.Diff(want[tools[i].Name], c); diff != "" {
				t.Fatalf("%s: %s", tools[i].Name, diff)
			}
		}
	}
}

// FuzzTools holds every claim about anything a server may send to its form.
func FuzzTools(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"get_x"},{"name":"delete_x","description":"Deletes, permanently."}]}`,
		`[{"name":"manage","inputSchema":{"properties":{"action":{"enum":["list","delete","  ",""]}}}}]`,
		`[{"name":"a.b/c:d","inputSchema":{"oneOf":[{"properties":{"sql":{"type":7}}}]}},{"name":"…"},{"name":"-"}]`,
		`[{"name":"and_or_then","title":"","description":"or, and / to. of of. ' - _"}]`,
		"[{\"name\":\"\u0130\u017f\u2028get\",\"description\":\"\u00df\u0307 \U0001F600 lists\"}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tools, err := annotary.ParseTools(raw)
		if err != nil {
			return
		}
		all := derive.Tools(tools)
		if len(all) != len(tools) {
			t.Fatalf("%d claims for %d tools", len(all), len(tools))
		}
		if diff := cmp.Diff(all, derive.Tools(tools)); diff != "" {
			t.Fatalf("a second look differs: %s", diff)
		}
		for i := range all {
			checkClaims(t, &all[i])
		}
	})
}

func checkClaims(t *testing.T, c *derive.Claims) {
	t.Helper()
	for n, claim := range c {
		switch {
		case int(claim.Hint) != n || claim.By != annotary.FromDerived:
			t.Fatalf("claim %d is %+v", n, claim)
		case claim.Why == "":
			t.Fatalf("%s has no reason", claim.Hint)
		case claim.Confidence < 0 || claim.Confidence > 1 || (claim.Confidence == 0) != (claim.Value == annotary.Unknown):
			t.Fatalf("%s is %s with confidence %v", claim.Hint, claim.Value, claim.Confidence)
		}
	}
	if c[annotary.ReadOnly].Value == annotary.Yes &&
		(c[annotary.Destructive].Value != annotary.No || c[annotary.Idempotent].Value != annotary.Yes) {
		t.Fatal("read-only, and yet destructive or not repeatable")
	}
}

func BenchmarkTools(b *testing.B) {
	var tools []annotary.Tool
	for i := range 1000 {
		raw := fmt.Sprintf(`{"name":"acme_%s_thing%d","description":%q,"inputSchema":{"type":"object","properties":{
			"id":{"type":"string"},"limit":{"type":"integer"},"filter":{"type":"string"}},"required":["id"]}}`,
			[]string{"get", "create", "delete"}[i%3], i, strings.Repeat(persuasive[i%len(persuasive)]+" ", 8))
		tool, err := annotary.ParseTool([]byte(raw))
		if err != nil {
			b.Fatal(err)
		}
		tools = append(tools, tool)
	}
	for b.Loop() {
		derive.Tools(tools)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(tools)), "µs/tool")
}
