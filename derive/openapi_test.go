package derive_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// short writes the three hints a method speaks of as r, d, i: + true, - false,
// ? unknown.
func short(op derive.Operation) string {
	var b strings.Builder
	for i, n := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.Idempotent} {
		b.WriteByte("rdi"[i])
		b.WriteString(map[annotary.Value]string{annotary.Yes: "+", annotary.No: "-", annotary.Unknown: "?"}[op.Claims[n].Value])
	}
	return b.String()
}

func mustOpenAPI(t *testing.T, doc, overrides string) []derive.Operation {
	t.Helper()
	var over []byte
	if overrides != "" {
		over = []byte(overrides)
	}
	ops, err := derive.OpenAPI([]byte(doc), over)
	if err != nil {
		t.Fatalf("OpenAPI: %v\n%s", err, doc)
	}
	return ops
}

// one makes a document of one operation.
func one(method, path, rest string) string {
	return fmt.Sprintf("openapi: 3.1.0\npaths:\n  %s:\n    %s:\n      {%s}\n", path, method, rest)
}

func TestOpenAPIMethods(t *testing.T) {
	for _, tt := range []struct{ method, path, rest, want string }{
		{"get", "/users", "operationId: listUsers", "r+d-i+"},
		{"head", "/users", "", "r+d-i+"},
		{"options", "/users", "", "r+d-i+"},
		{"post", "/users", "operationId: createUser", "r-d-i-"},
		{"post", "/users", "", "r-d-i-"},
		{"post", "/users/search", "", "r+d-i+"},
		{"post", "/q", "operationId: searchUsers", "r+d-i+"},
		{"post", "/orders/{id}/cancel", "", "r-d+i-"},
		{"post", "/x", "operationId: deleteEverything", "r-d+i-"},
		{"post", "/pet/{id}", "operationId: updatePet", "r-d+i-"},
		{"post", "/messages/send", "", "r-d+i-"},
		{"post", "/files", "operationId: uploadFile", "r-d-i-"},
		{"put", "/users/{id}", "operationId: updateUser", "r-d+i+"},
		{"patch", "/users/{id}", "", "r-d+i-"},
		{"delete", "/users/{id}", "operationId: deleteUser", "r-d+i+"},
	} {
		op := mustOpenAPI(t, one(tt.method, tt.path, tt.rest), "")[0]
		if got := short(op); got != tt.want || len(op.Flags) > 0 {
			t.Errorf("%s %s %s: %s %v, want %s without a flag", tt.method, tt.path, tt.rest, got, op.Flags, tt.want)
		}
		for _, c := range op.Claims {
			if c.Why == "" || c.Value != annotary.Unknown && c.Confidence == 0 {
				t.Errorf("%s %s: %+v has no reason or no confidence", tt.method, tt.path, c)
			}
		}
	}
}

func TestOpenAPISideEffects(t *testing.T) {
	const query = "parameters: [{name: %s, in: query, schema: {type: string}}]"
	flagged := []struct{ path, rest, want string }{
		{"/export", fmt.Sprintf(query, "email"), "r-d?i?"},
		{"/reports/export", "operationId: exportReport, " + fmt.Sprintf(query, "email"), "r-d?i?"},
		{"/logout", "", "r-d+i?"},
		{"/user/logout", "operationId: getUserLogout", "r-d+i?"},
		{"/unsubscribe", fmt.Sprintf(query, "token"), "r-d+i?"},
		{"/items/{id}/delete", "", "r-d+i?"},
		{"/x", "operationId: deleteItem", "r-d+i?"},
		{"/x", "operationId: sendReminder", "r-d?i?"},
		{"/x", "summary: Deletes the cache", "r-d+i?"},
		{"/x", "summary: Logs out the user", "r-d+i?"},
		{"/payment", fmt.Sprintf(query, "confirm"), "r-d?i?"},
		{"/x", fmt.Sprintf(query, "dry_run"), "r-d?i?"},
		{"/send-email", "", "r-d?i?"},
	}
	for _, tt := range flagged {
		op := mustOpenAPI(t, one("get", tt.path, tt.rest), "")[0]
		if got := short(op); got != tt.want || !hasFlag(op, derive.FlagSideEffect) {
			t.Errorf("GET %s %s: %s %v, want %s and flagged", tt.path, tt.rest, got, op.Flags, tt.want)
		}
	}
	for _, tt := range []struct{ path, rest string }{
		{"/users", fmt.Sprintf(query, "email")},
		{"/export", fmt.Sprintf(query, "format")},
		{"/user/email", "operationId: getUserEmail"},
		{"/updates", "summary: Get updates"},
		{"/runs/{id}/logs", ""},
		{"/orders", "operationId: listOrders, " + fmt.Sprintf(query, "status")},
		{"/deleted-items", "operationId: listDeletedItems"},
		{"/messages/{id}", "operationId: getMessage, summary: Get a message"},
		{"/settings", ""},
	} {
		op := mustOpenAPI(t, one("get", tt.path, tt.rest), "")[0]
		if len(op.Flags) > 0 || short(op) != "r+d-i+" {
			t.Errorf("GET %s %s is flagged: %s %v", tt.path, tt.rest, short(op), op.Flags)
		}
	}
}

func hasFlag(op derive.Operation, code string) bool {
	return slices.ContainsFunc(op.Flags, func(f derive.Flag) bool { return f.Code == code })
}

// TestOpenAPIPrecedence: overrides, then the operation's annotations, then the
// path's, then the method, for each hint by itself.
func TestOpenAPIPrecedence(t *testing.T) {
	const doc = `
openapi: 3.0.3
paths:
  /a:
    x-mcp-annotations: {readOnlyHint: false, openWorldHint: false}
    get:
      operationId: a
      x-mcp-annotations: {openWorldHint: true}
    post:
      operationId: b
      x-mcp-annotations: {readOnlyHint: true}
    delete:
      operationId: c
      x-mcp-annotations: {destructiveHint: null, idempotentHint: "true"}
`
	why := func(ops []derive.Operation, i int, n annotary.HintName) string {
		return ops[i].Claims[n].Value.String() + ": " + ops[i].Claims[n].Why
	}
	ops := mustOpenAPI(t, doc, "")
	for _, tt := range []struct {
		got, want string
	}{
		{why(ops, 0, annotary.ReadOnly), "false: x-mcp-annotations of its path say so"},
		{why(ops, 0, annotary.OpenWorld), "true: x-mcp-annotations of the operation say so"},
		{why(ops, 1, annotary.ReadOnly), "true: x-mcp-annotations of the operation say so"},
		{why(ops, 1, annotary.Idempotent), "true: it is read-only: x-mcp-annotations of the operation say so"},
		{why(ops, 2, annotary.Destructive), "true: DELETE deletes"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if !hasFlag(ops[1], derive.FlagContradiction) || !hasFlag(ops[2], derive.FlagWrongType) || len(ops[2].Flags) != 2 {
		t.Errorf("flags: %v, %v", ops[1].Flags, ops[2].Flags)
	}

	over := `tools: {a: {readOnly: true, why: I looked}, "POST /a": {readOnlyHint: false, destructive: true}, c: {reversible: true}}`
	ops = mustOpenAPI(t, doc, over)
	for _, tt := range []struct{ got, want string }{
		{why(ops, 0, annotary.ReadOnly), "true: I looked"},
		{why(ops, 1, annotary.ReadOnly), "false: the overrides say so"},
		{why(ops, 1, annotary.Destructive), "true: the overrides say so"},
		{why(ops, 2, annotary.Reversible), "true: the overrides say so"},
	} {
		if tt.got != tt.want {
			t.Errorf("with overrides: got %q, want %q", tt.got, tt.want)
		}
	}
	again := strings.ReplaceAll(strings.ReplaceAll(doc, "3.0.3", "3.1.0"), "\n    delete:", "\n    put: {}\n    delete:")
	if got, want := short(mustOpenAPI(t, again, over)[0]), short(ops[0]); got != want {
		t.Errorf("the override did not survive a new document: %s, want %s", got, want)
	}
}

func TestOpenAPIForms(t *testing.T) {
	for name, doc := range map[string]string{
		"yaml":    "openapi: 3.0.0\npaths:\n  /p/{id}:\n    parameters: [{$ref: '#/components/parameters/id'}]\n    get: {parameters: [{name: q, in: query}], responses: {200: {}}}\ncomponents: {parameters: {id: {name: id, in: path}}}\n",
		"json":    `{"openapi":"3.1.0","paths":{"/p/{id}":{"get":{"parameters":[{"name":"id","in":"path"},{"name":"q","in":"query"}]}}}}`,
		"swagger": `{"swagger":"2.0","paths":{"/p/{id}":{"get":{"parameters":[{"name":"id","in":"path","type":"string"},{"name":"q","in":"query","type":"string"}]}}}}`,
		"ref":     `{"openapi":"3.1.0","paths":{"/p/{id}":{"$ref":"#/components/pathItems/P"}},"components":{"pathItems":{"P":{"get":{}}}}}`,
	} {
		if !derive.IsOpenAPI([]byte(doc)) {
			t.Errorf("%s is not recognised", name)
		}
		ops := mustOpenAPI(t, doc, "")
		if len(ops) != 1 || ops[0].Name != "get_p_id" || ops[0].Method != "GET" || ops[0].Path != "/p/{id}" {
			t.Errorf("%s: %+v", name, ops)
		}
	}
	for _, doc := range []string{`{"tools":[]}`, `[]`, ``, `tools: []`, `{"openapi":3}`, "\x00"} {
		if derive.IsOpenAPI([]byte(doc)) {
			t.Errorf("%q is taken for OpenAPI", doc)
		}
	}
	ops := mustOpenAPI(t, "openapi: 3.0.0\npaths: {/a: {get: {operationId: x}}, /b: {post: {operationId: x}}}", "")
	if !hasFlag(ops[1], derive.FlagDuplicate) || hasFlag(ops[0], derive.FlagDuplicate) {
		t.Errorf("duplicates: %v", ops)
	}
}

func TestOpenAPIErrors(t *testing.T) {
	const good = "openapi: 3.0.0\npaths: {/a: {get: {operationId: x}}}"
	bomb := "openapi: 3.0.0\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	for _, tt := range []struct{ name, doc, overrides, want string }{
		{"version", "openapi: 4.0.0", "", `OpenAPI version "4.0.0" is not known`},
		{"other", "hello: world", "", "it is no OpenAPI document"},
		{"duplicate", "openapi: 3.0.0\npaths: {}\npaths: {}", "", "the OpenAPI document cannot be read"},
		{"bomb", bomb, "", "too large or too deep"},
		{"circle", "openapi: 3.0.0\npaths: &a {x: *a}", "", "cannot be read"},
		{"two", "openapi: 3.0.0\n---\nopenapi: 3.0.0", "", "more than one document"},
		{"unused", good, "tools: {y: {readOnly: true}}", "the overrides name what the document does not have: y"},
		{"hint", good, "tools: {x: {readonly: true}}", `unknown hint "readonly"`},
		{"value", good, "tools: {x: {readOnly: yes please}}", "readOnly of x is true or false, not string"},
		{"both", good, "tools: {x: {readOnly: true, destructive: true}}", "both read-only and destructive"},
		{"key", good, "x: {readOnly: true}", `the unknown key "x"`},
		{"list", good, "tools: {x: true}", "not a list of hints"},
		{"tools", good, "tools: [{x: {readOnly: true}}]", "the overrides have array where names are expected"},
		{"whole", good, "[{x: {readOnly: true}}]", "the overrides have array where names are expected"},
	} {
		var over []byte
		if tt.overrides != "" {
			over = []byte(tt.overrides)
		}
		_, err := derive.OpenAPI([]byte(tt.doc), over)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestOpenAPILarge: a document of the size of the largest public ones is read
// in seconds, references and all.
func TestOpenAPILarge(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`{"openapi":"3.0.0","components":{"schemas":{`)
	for i := range 3000 {
		fmt.Fprintf(&doc, `"s%d":{"type":"object","description":%q,"properties":{"a":{"type":"string"}}},`, i, strings.Repeat("x", 2000))
	}
	doc.WriteString(`"last":{}},"parameters":{"p":{"name":"p","in":"query"}}},"paths":{`)
	for i := range 2000 {
		fmt.Fprintf(&doc, `"/a%d":{"post":{"parameters":[{"$ref":"#/components/parameters/p"}],"requestBody":{"content":{"x":{"schema":{"$ref":"#/components/schemas/s%d"}}}}}},`, i, i)
	}
	doc.WriteString(`"/last":{"get":{}}}}`)
	start := time.Now()
	ops := mustOpenAPI(t, doc.String(), "")
	took := time.Since(start)
	t.Logf("%d operations in %d bytes took %v", len(ops), doc.Len(), took)
	if len(ops) != 2001 || took > 10*time.Second {
		t.Errorf("%d operations took %v", len(ops), took)
	}
}

// FuzzOpenAPI: no document makes it fail otherwise than by an error, the same
// document gives the same operations, and an override always has the last word.
func FuzzOpenAPI(f *testing.F) {
	f.Add([]byte(one("get", "/a", "operationId: x")))
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/a":{"post":{"requestBody":{"content":{"a":{"schema":{"properties":{"b":{}}}}}}}}}}`))
	f.Add([]byte("swagger: '2.0'\npaths: {/a: {x-mcp-annotations: {readOnlyHint: true}, delete: {}}}"))
	f.Add([]byte("openapi: 3.0.0\nx: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		ops, err := derive.OpenAPI(doc, nil)
		if err != nil {
			return
		}
		again, err := derive.OpenAPI(doc, nil)
		if diff := cmp.Diff(ops, again); err != nil || diff != "" {
			t.Fatalf("the second time: %v\n%s", err, diff)
		}
		for _, op := range ops {
			key, err := json.Marshal(op.Method + " " + op.Path)
			if err != nil {
				t.Fatal(err)
			}
			changed, err := derive.OpenAPI(doc, fmt.Appendf(nil, `{"tools":{%s:{"readOnly":false,"destructive":true}}}`, key))
			if err != nil {
				t.Fatalf("the override of %s: %v", key, err)
			}
			i := slices.IndexFunc(changed, func(o derive.Operation) bool { return o.Method == op.Method && o.Path == op.Path })
			if got := short(changed[i]); got[:4] != "r-d+" {
				t.Fatalf("the override of %s %s gave %s", op.Method, op.Path, got)
			}
		}
	})
}
