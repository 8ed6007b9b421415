package shape_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

func compile(t testing.TB, schema string) *shape.Schema {
	t.Helper()
	s, err := shape.Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// page is a list response as a service returns it, internal field and all.
func page(items int, note string) map[string]any {
	data := []any{}
	for i := range items {
		data = append(data, map[string]any{"id": fmt.Sprint("c", i), "name": note, "stripeCustomerId": "cus_1"})
	}
	return map[string]any{
		"data": data,
		"meta": map[string]any{"cursor": "abc", "hasNextPage": true, "hasPreviousPage": false},
	}
}

const pageSchema = `{"type":"object","properties":{
	"data":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"required":["id","name"],"additionalProperties":false}},
	"meta":{"type":"object","properties":{"cursor":{"type":"string"},"hasNextPage":{"type":"boolean"},"hasPreviousPage":{"type":"boolean"},"truncated":{"type":"boolean"}},"additionalProperties":false}},
	"required":["data"],"additionalProperties":false}`

func TestTruncate_list(t *testing.T) {
	in := mustJSON(page(1000, strings.Repeat("é", 40)))
	out, cut, err := shape.Truncate(in, nil, shape.DefaultLimit)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for range strict.Elements(strict.Get(out, "data")) {
		kept++
	}
	if n := utf8.RuneCount(out); n > shape.DefaultLimit || n < shape.DefaultLimit-200 {
		t.Errorf("%d characters are left of at most %d", n, shape.DefaultLimit)
	}
	if !cut.Marked || cut.Items != 1000-kept || kept == 0 {
		t.Errorf("kept %d, cut %+v", kept, cut)
	}
	want := `{"cursor":"abc","hasNextPage":true,"hasPreviousPage":false,"truncated":true}`
	if got := string(strict.Get(out, "meta")); got != want {
		t.Errorf("meta is %s, want %s", got, want)
	}
}

func TestTruncate_oneLongItem(t *testing.T) {
	in := mustJSON(page(3, strings.Repeat("x", 5000)))
	out, cut, err := shape.Truncate(in, compile(t, pageSchema), 500)
	if err != nil {
		t.Fatal(err)
	}
	name, _ := strict.Text(strict.At(out, "/data/0/name"))
	if cut.Items != 2 || cut.Strings == 0 || !strings.HasSuffix(name, "x…") || len(name) < 200 {
		t.Errorf("cut %+v to %s", cut, out)
	}
	if id, _ := strict.Text(strict.At(out, "/data/0/id")); id != "c0" {
		t.Errorf("a short string was cut: %s", out)
	}
}

func TestTruncate_keepsMeta(t *testing.T) {
	cursor := strings.Repeat("c", 300)
	in := mustJSON(map[string]any{"data": []any{strings.Repeat("x", 500)}, "meta": map[string]any{"cursor": cursor}})
	out, _, err := shape.Truncate(in, nil, 400)
	if got, _ := strict.Text(strict.At(out, "/meta/cursor")); err != nil || got != cursor {
		t.Errorf("the cursor was cut: %s (%v)", out, err)
	}
}

func TestTruncate_refuses(t *testing.T) {
	schema := compile(t, `{"type":"object","properties":{"token":{"type":"string","pattern":"^x+$"}},"required":["token"]}`)
	in := mustJSON(map[string]any{"token": strings.Repeat("x", 1000)})
	if _, _, err := shape.Truncate(in, schema, 300); annotary.CodeOf(err) != shape.ErrTooLong {
		t.Errorf("got %v, want %s", err, shape.ErrTooLong)
	}
}

func TestTruncate_numbers(t *testing.T) {
	in := []byte(`{"n":9007199254740993,"list":[` + strings.Repeat(`12345678901234567890,`, 100) + `1]}`)
	out, _, err := shape.Truncate(in, nil, 300)
	if err != nil || !bytes.Contains(out, []byte("9007199254740993")) || !bytes.Contains(out, []byte("12345678901234567890,")) {
		t.Errorf("numbers changed: %s (%v)", out, err)
	}
}

func TestSanitise(t *testing.T) {
	union := `{"anyOf":[
		{"type":"object","properties":{"kind":{"const":"card"},"last4":{"type":"string"}},"required":["kind"],"additionalProperties":false},
		{"type":"object","properties":{"kind":{"const":"bank"},"iban":{"type":"string"}},"required":["kind"],"additionalProperties":false}]}`
	for _, tt := range []struct{ name, schema, in, want string }{
		{"undeclared", pageSchema, `{"data":[{"id":"1","name":"a","internalNotes":"x"}],"debug":1}`, `{"data":[{"id":"1","name":"a"}]}`},
		{"silent-about-more", `{"properties":{"a":{}}}`, `{"a":{"deep":1},"b":2}`, `{"a":{"deep":1}}`},
		{"more-allowed", `{"properties":{"a":{}},"additionalProperties":true}`, `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"map", `{"additionalProperties":{"properties":{"x":{}}}}`, `{"k":{"x":1,"y":2}}`, `{"k":{"x":1}}`},
		{"no-opinion", `{"type":"object"}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{"required-only", `{"properties":{"a":{}},"required":["b"]}`, `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`},
		{"pattern", `{"patternProperties":{"^x-":{}}}`, `{"x-a":1,"y":2}`, `{"x-a":1}`},
		{"ref", `{"$defs":{"p":{"properties":{"a":{}}}},"items":{"$ref":"#/$defs/p"}}`, `[{"a":1,"b":2}]`, `[{"a":1}]`},
		{"recursive", `{"properties":{"a":{},"kid":{"$ref":"#"}}}`, `{"a":1,"x":1,"kid":{"kid":{"x":1,"a":2}}}`, `{"a":1,"kid":{"kid":{"a":2}}}`},
		{"all", `{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`},
		{"any-card", union, `{"kind":"card","last4":"1","iban":"DE","x":1}`, `{"kind":"card","last4":"1"}`},
		{"any-bank", union, `{"kind":"bank","last4":"1","iban":"DE"}`, `{"kind":"bank","iban":"DE"}`},
		{"tuple", `{"prefixItems":[{"properties":{"a":{}}}],"items":{"properties":{"b":{}}}}`, `[{"a":1,"b":1},{"a":1,"b":1}]`, `[{"a":1},{"b":1}]`},
		{"big-number", `{"properties":{"a":{}}}`, `{"a":9007199254740993,"b":1}`, `{"a":9007199254740993}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := shape.Sanitise([]byte(tt.in), compile(t, tt.schema))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

func TestSanitise_names(t *testing.T) {
	_, dropped, err := shape.Sanitise(mustJSON(page(3, "n")), compile(t, pageSchema))
	if want := []string{"/data/*/stripeCustomerId"}; err != nil || fmt.Sprint(dropped) != fmt.Sprint(want) {
		t.Errorf("dropped %v (%v), want %v", dropped, err, want)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 😀\t\n\r":                         "plain é 😀\t\n\r",
		"\x1b[31mred\x1b[0m":                      "red",
		"\u009b1;31mred":                          "red",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;\a": "link",
		"\x1b]0;title":                            "0;title",
		"a\x1b(Bb\x1b7c\x1bcd":                    "abcd",
		"\x1b[\x1b[31m31mx":                       "31mx",
		"bell\a nul\x00 del\x7f":                  "bell nul del",
		"evil\u202etxt.exe":                       "eviltxt.exe",
		"hi\U000E0069\U000E0067":                  "hi",
		"\x1b":                                    "",
	} {
		if got := shape.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// result builds a tools/call result whose text repeats its structured content.
func result(structured []byte, text string) []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, strict.Quote(text), structured)
}

func TestResult_untouched(t *testing.T) {
	in := []byte(`{ "content" : [ {"type":"video","x":9007199254740993} ], "structuredContent": {"a" : 1.0}, "_meta":{"k":null} }`)
	out, report, err := shape.Result(in, shape.Options{Limit: 300, Clean: true, Schema: compile(t, `{"properties":{"a":{}}}`), Sanitise: true})
	if err != nil || report.Changed() || !bytes.Equal(in, out) {
		t.Errorf("changed to %s (%+v, %v)", out, report, err)
	}
}

// TestResult_tells checks where a cut is told: in meta where the schema has room
// for it, else in _meta and in a notice.
func TestResult_tells(t *testing.T) {
	closed := `{"type":"object","properties":{"data":{"type":"array"}},"required":["data"],"additionalProperties":false}`
	list := page(200, "name")
	all := mustJSON(list)
	data := mustJSON(map[string]any{"data": list["data"]})
	for _, tt := range []struct {
		name, schema string
		in           []byte
		inMeta       bool
		notice       bool
	}{
		{"schema-has-room", pageSchema, result(all, string(all)), true, false},
		{"schema-is-closed", closed, result(data, string(data)), false, true},
		{"text-repeats-a-member", pageSchema, result(all, string(mustJSON(list["data"]))), true, true},
		{"text-only", "", fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, strict.Quote(string(all))), true, false},
		{"text-is-a-list", "", fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, strict.Quote(string(mustJSON(list["data"])))), false, true},
		{"plain-text", "", fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, strict.Quote(strings.Repeat("word ", 1000))), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, report, err := shape.Result(tt.in, shape.Options{Limit: 2000, Schema: compile(t, tt.schema), Sanitise: true})
			if err != nil || report.Refused {
				t.Fatalf("%v, %+v", err, report)
			}
			value := strict.Get(out, "structuredContent")
			if value == nil {
				s, _ := strict.Text(strict.At(out, "/content/0/text"))
				value = []byte(s)
			}
			if got := string(strict.Get(value, "meta", "truncated")) == "true"; got != tt.inMeta {
				t.Errorf("meta.truncated is %v, want %v in %s", got, tt.inMeta, out)
			}
			if got := strict.Get(out, "_meta", shape.MetaTruncated) != nil; got == tt.inMeta {
				t.Errorf("_meta tells: %v, though meta tells: %v", got, tt.inMeta)
			}
			if got := bytes.Contains(out, []byte("[Truncated: ")); got != tt.notice {
				t.Errorf("a notice: %v, want %v in %s", got, tt.notice, out)
			}
		})
	}
}

func TestResult_media(t *testing.T) {
	long := strings.Repeat("QUJD", 1000)
	in := fmt.Appendf(nil, `{"content":[{"type":"image","data":%q,"mimeType":"image/png"},{"type":"audio","data":"QUJD","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"a://b","blob":%q}}]}`, long, long)
	out, _, err := shape.Result(in, shape.Options{Limit: 300})
	if err != nil || !bytes.Equal(in, out) {
		t.Errorf("media was touched: %s (%v)", out, err)
	}
	out, report, err := shape.Result(in, shape.Options{MediaLimit: 100})
	if err != nil || report.Media != 2 || bytes.Contains(out, []byte("QUJDQUJD")) || !bytes.Contains(out, []byte(`"data":"QUJD"`)) {
		t.Errorf("media was not refused whole: %+v, %s (%v)", report, out, err)
	}
}

// TestResult_leak has the text say more than the structured content: what is
// dropped from one must go from the other.
func TestResult_leak(t *testing.T) {
	structured := mustJSON(map[string]any{"data": []any{map[string]any{"id": "1", "name": "a"}}})
	for _, text := range []string{
		`{"data":[{"id":"1","name":"a","stripeCustomerId":"cus_1"}]}`,
		`[{"id":"1","name":"a","stripeCustomerId":"cus_1"}]`,
	} {
		out, _, err := shape.Result(result(structured, text), shape.Options{Schema: compile(t, pageSchema), Sanitise: true})
		if err != nil || bytes.Contains(out, []byte("cus_1")) {
			t.Errorf("the text still says %s (%v)", out, err)
		}
	}
}

// TestResult_controls: every way to write a control character in JSON is seen.
func TestResult_controls(t *testing.T) {
	for _, escape := range []string{`\b`, `\f`, `\u0007`, `\u001b[31m`, "\x7f"} {
		in := []byte(`{"content":[{"type":"text","text":"a` + escape + `b"}]}`)
		out, report, err := shape.Result(in, shape.Options{Clean: true})
		if want := `{"content":[{"type":"text","text":"ab"}]}`; string(out) != want || !report.Cleaned || err != nil {
			t.Errorf("%s: got %s (%+v, %v)", escape, out, report, err)
		}
	}
}

// TestResult_names: members whose names differ in nothing but what is cleaned
// away stay members of their own, under names that are not long.
func TestResult_names(t *testing.T) {
	const members = 3_000
	structured := []byte{'{'}
	for i := range members {
		if i > 0 {
			structured = append(structured, ',')
		}
		structured = append(structured, '"')
		for digits := i; digits > 0; digits /= 8 {
			structured = fmt.Appendf(structured, `\u%04x`, 1+digits%8)
		}
		structured = fmt.Appendf(structured, `":%d`, i)
	}
	structured = append(structured, '}')
	out, _, err := shape.Result(result(structured, "done"), shape.Options{Clean: true})
	seen := map[string]bool{}
	for name := range strict.Members(strict.Get(out, "structuredContent")) {
		seen[name] = true
	}
	if err != nil || len(seen) != members || len(out) > 2*len(structured) {
		t.Errorf("%d members in %d bytes of %d (%v), want %d", len(seen), len(out), len(structured), err, members)
	}
}

// TestResult_pairs: looking for the member that each of many texts repeats ends,
// and then no text passes that may hold what is to be dropped.
func TestResult_pairs(t *testing.T) {
	const many = 3_000
	members := map[string]any{}
	for i := range many {
		members[fmt.Sprint("k", i)] = []any{map[string]any{"id": i}}
	}
	texts := make([]any, many)
	for i := range texts {
		texts[i] = map[string]any{"type": "text", "text": `[{"id":-1,"secret":"s"}]`}
	}
	in := mustJSON(map[string]any{"structuredContent": members, "content": texts})
	schema := compile(t, `{"type":"object","additionalProperties":{"type":"array","items":{"type":"object","properties":{"id":{}}}}}`)
	if out, report, err := shape.Result(in, shape.Options{Schema: schema, Sanitise: true}); err != nil || !report.Refused {
		t.Errorf("%d bytes (%+v, %v)", len(out), report, err)
	}
	if out, report, err := shape.Result(in, shape.Options{Limit: 1_000}); err != nil || report.Refused {
		t.Errorf("%d bytes without a schema (%+v, %v)", len(out), report, err)
	}
}

func TestResult_refused(t *testing.T) {
	schema := compile(t, `{"type":"object","properties":{"token":{"type":"string","format":"uri"}},"required":["token"]}`)
	in := result(mustJSON(map[string]any{"token": strings.Repeat("x", 1000)}), "done")
	out, report, err := shape.Result(in, shape.Options{Limit: 300, Schema: schema})
	if err != nil || !report.Refused || string(strict.Get(out, "isError")) != "true" || len(out) > 300 {
		t.Errorf("got %s (%+v, %v)", out, report, err)
	}
}

// TestValidate_where: a violation says where it is.
func TestValidate_where(t *testing.T) {
	s := compile(t, `{"type":"object","required":["a"],"properties":{"a":{"items":{"properties":{"b/c":{"type":"string"}}}}}}`)
	for value, want := range map[string]shape.Violation{
		`{}`:                   {Problem: `lacks "a"`},
		`{"a":[{},{"b/c":1}]}`: {At: "/a/1/b~1c", Problem: "is a number, not string"},
	} {
		got, _ := errors.AsType[*shape.Violation](s.Validate([]byte(value)))
		if got == nil || *got != want {
			t.Errorf("%s: %v, want %v", value, got, &want)
		}
	}
}

// TestValidate_draft4: bounds as some servers still send them.
func TestValidate_draft4(t *testing.T) {
	s := compile(t, `{"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`)
	for value, want := range map[string]bool{"1": false, "1.5": true, "3": true, "3.5": false} {
		if got := s.Validate([]byte(value)) == nil; got != want {
			t.Errorf("%s: %v, want %v", value, got, want)
		}
	}
}

// TestCompile_references: a small document cannot ask for a large search.
func TestCompile_references(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`{"$defs":{"x":true`)
	for i := range 20_000 {
		fmt.Fprintf(&doc, `,"a%d":{"$ref":"#/$defs/a%d"}`, i, (i+1)%20_000)
	}
	doc.WriteString(`},"properties":{`)
	for i := range 20_000 {
		fmt.Fprintf(&doc, `"p%d":{"$ref":"#/$defs/a%d"},`, i, i)
	}
	doc.WriteString(`"z":{}}}`)
	if _, err := shape.Compile([]byte(doc.String())); annotary.CodeOf(err) != annotary.CodeInvalid {
		t.Errorf("Compile gave %v", err)
	}
}

func TestCompile_refuses(t *testing.T) {
	for _, schema := range []string{`[]`, `{"$ref":"http://example.test/x"}`, `{"$ref":"#/none"}`, `{"minItems":-1}`, `{"multipleOf":0}`, `{`, `{"unevaluatedProperties":false}`} {
		if _, err := shape.Compile([]byte(schema)); annotary.CodeOf(err) != annotary.CodeInvalid {
			t.Errorf("Compile(%s) gave %v", schema, err)
		}
	}
}

// TestValidate_hostile ends schemas that ask for endless or exponential work.
func TestValidate_hostile(t *testing.T) {
	double := `{"$defs":{"a0":{"type":"object"}`
	for i := range 40 {
		double += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	double += `},"$ref":"#/$defs/a40"}`
	for _, schema := range []string{`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, double} {
		s := compile(t, schema)
		start := time.Now()
		if err := s.Validate([]byte(`{"a":1}`)); err == nil {
			t.Errorf("%.60s: a value was found to keep to it", schema)
		}
		in := result(mustJSON(page(100, "x")), "done")
		if _, _, err := shape.Result(in, shape.Options{Limit: 500, Schema: s, Sanitise: true}); err != nil {
			t.Errorf("%.60s: %v", schema, err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%.60s: took %v", schema, took)
		}
	}
}

// TestValidate_wide: rules that say nothing still cost a look at every member.
func TestValidate_wide(t *testing.T) {
	const many = 20_000
	members, nothing := map[string]any{}, map[string]any{}
	needs := map[string]any{}
	for i := range many {
		name := fmt.Sprint("k", i)
		members[name], nothing[name], needs[name] = i, map[string]any{}, []any{"k1"}
	}
	value, list := mustJSON(members), mustJSON(make([]int, many))
	for name, tt := range map[string]struct {
		schema string
		value  []byte
	}{
		"allOf":             {`{"allOf":[` + strings.Repeat(`{},`, many) + `{}]}`, value},
		"allOf of a list":   {`{"allOf":[` + strings.Repeat(`{},`, many) + `{}]}`, list},
		"dependentSchemas":  {`{"dependentSchemas":` + string(mustJSON(nothing)) + `}`, value},
		"dependentRequired": {`{"dependentRequired":` + string(mustJSON(needs)) + `}`, value},
	} {
		if err := compile(t, tt.schema).Validate(tt.value); !errors.Is(err, shape.ErrCostly) {
			t.Errorf("%s: got %v, want %v", name, err, shape.ErrCostly)
		}
	}
}

// TestResult_hostile ends results and schemas that are made to be expensive
// together.
func TestResult_hostile(t *testing.T) {
	members, wide := map[string]any{}, []any{}
	for i := range 5_000 {
		members[fmt.Sprint("k", i)] = i
	}
	for range 1_000 {
		wide = append(wide, map[string]any{"properties": map[string]any{"a": map[string]any{}}})
	}
	var names []string
	for name := range members {
		names = append(names, name)
	}
	for name, schema := range map[string]any{
		"required": map[string]any{"properties": map[string]any{"a": true}, "required": names},
		"wide":     map[string]any{"allOf": wide},
		"choices":  map[string]any{"anyOf": wide, "items": map[string]any{"oneOf": wide}},
	} {
		s := compile(t, string(mustJSON(schema)))
		start := time.Now()
		if _, _, err := shape.Result(result(mustJSON(members), "done"), shape.Options{Limit: 500, Schema: s, Sanitise: true, Clean: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

// TestValidate compares the validator with another's.
func TestValidate(t *testing.T) {
	for _, tt := range []struct{ schema, good, bad string }{
		{`{"type":"integer"}`, `[1, 1.0, 10e-1, 1e3]`, `[1.5, "1", true, null]`},
		{`{"type":["string","null"]}`, `["", null]`, `[1, [], {}]`},
		{`{"enum":[1,"a",{"b":[2]}]}`, `[1.0, "a", {"b":[2]}]`, `[2, {"b":[]}]`},
		{`{"minLength":2,"maxLength":3}`, `["éé", "abc", 5]`, `["a", "abcd"]`},
		{`{"pattern":"^a"}`, `["ab", 1]`, `["ba"]`},
		{`{"minimum":1,"exclusiveMaximum":3,"multipleOf":0.5}`, `[1, 2.5, "x"]`, `[0.5, 3, 1.2]`},
		{`{"minItems":1,"maxItems":2,"uniqueItems":true}`, `[[1], [1,2]]`, `[[], [1,2,3], [1,1.0]]`},
		{`{"contains":{"const":1},"maxContains":2}`, `[[1,2], [1,1]]`, `[[], [2], [1,1,1]]`},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `[["a",1], []]`, `[[1], ["a","b"]]`},
		{`{"properties":{"a":{"type":"string"}},"patternProperties":{"^x":{"type":"number"}},"additionalProperties":false}`, `[{"a":"","x1":1}]`, `[{"a":1}, {"x":""}, {"b":1}]`},
		{`{"minProperties":1,"maxProperties":1,"propertyNames":{"maxLength":1}}`, `[{"a":1}]`, `[{}, {"a":1,"b":1}, {"ab":1}]`},
		{`{"required":["a"],"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"maxProperties":2}}}`, `[{"a":1,"b":1}]`, `[{}, {"a":1}, {"a":1,"b":1,"c":1}]`},
		{`{"oneOf":[{"minimum":1},{"maximum":3}]}`, `[0, 4]`, `[2]`},
		{`{"anyOf":[{"minimum":1},{"type":"string"}]}`, `[1, "a"]`, `[0]`},
		{`{"not":{"type":"string"}}`, `[1]`, `["a"]`},
		{`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`, `["ab", 2]`, `["a", 1]`},
		{`{"$defs":{"a":{"$anchor":"here","type":"string"}},"$ref":"#here"}`, `["a"]`, `[1]`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `[["a"]]`, `[[1], ["a",1]]`},
	} {
		ours, theirs := compile(t, tt.schema), oracle(t, tt.schema)
		for want, list := range map[bool]string{true: tt.good, false: tt.bad} {
			for _, v := range strict.Elements([]byte(list)) {
				if got := ours.Validate(v) == nil; got != want {
					t.Errorf("%s with %s: %v, want %v", tt.schema, v, got, want)
				}
				if got := valid(theirs, v); got != want {
					t.Errorf("%s with %s: the other validator says %v", tt.schema, v, got)
				}
			}
		}
	}
}

func FuzzResult(f *testing.F) {
	for _, s := range ours {
		f.Add([]byte(`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`), []byte(s), 300)
	}
	f.Add([]byte(`{"content":[{"type":"resource_link","name":"\u001b"},{"type":"resource","resource":{"text":"x"}}],"_meta":1}`), []byte(`true`), 300)
	f.Add([]byte(`{"content":[],"structuredContent":{"\u001b[1m":1}}`), []byte(`true`), 300)
	f.Fuzz(func(t *testing.T, raw, schema []byte, limit int) {
		s, err := shape.Compile(schema)
		if err != nil {
			s = nil
		}
		o := shape.Options{Schema: s, Limit: limit, Sanitise: true, Clean: true}
		out, _, err := shape.Result(raw, o)
		if err != nil {
			return
		}
		if err := strict.Check(out, strict.Limits{}); err != nil {
			t.Fatalf("%s became %s: %v", raw, out, err)
		}
		again, _, err := shape.Result(out, o)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("not idempotent (%v):\n%s\n%s\n%s", err, raw, out, again)
		}
	})
}

func BenchmarkResult(b *testing.B) {
	schema := compile(b, pageSchema)
	small, large := mustJSON(page(20, "name")), mustJSON(page(2000, "name"))
	for name, in := range map[string][]byte{"fits": result(small, string(small)), "cut": result(large, string(large))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, _, err := shape.Result(in, shape.Options{Limit: shape.DefaultLimit, Schema: schema, Sanitise: true, Clean: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzClean: nothing a terminal obeys is left, and cleaning again changes
// nothing.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred", "\x1b]8;;x\a", "\u009b1m", "\x1b\x1b[[", "\u202e", "a\tb\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := shape.Clean(s)
		for _, r := range got {
			if (r < 0x20 && r != '\t' && r != '\n' && r != '\r') || (r >= 0x7f && r <= 0x9f) || (r >= 0x202a && r <= 0x202e) {
				t.Fatalf("Clean(%q) = %q still holds %U", s, got, r)
			}
		}
		if again := shape.Clean(got); again != got {
			t.Fatalf("Clean(%q) = %q, then %q", s, got, again)
		}
	})
}
