package lint_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/lint"
)

// apply is a plain RFC 6902 applier for the three operations we write.
func apply(doc any, op lint.Op) (any, error) {
	parts := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
	var value any
	if op.Value != nil {
		if err := json.Unmarshal(op.Value, &value); err != nil {
			return nil, err
		}
	}
	at := doc
	for _, part := range parts[:len(parts)-1] {
		at = child(at, part)
	}
	parent, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: the parent is no object", op.Path)
	}
	last := strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[len(parts)-1])
	_, there := parent[last]
	switch {
	case op.Op == "add":
		parent[last] = value
	case op.Op == "replace" && there:
		parent[last] = value
	case op.Op == "remove" && there:
		delete(parent, last)
	default:
		return nil, fmt.Errorf("%s %s: nothing is there", op.Op, op.Path)
	}
	return doc, nil
}

func child(at any, part string) any {
	part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	switch v := at.(type) {
	case map[string]any:
		return v[part]
	case []any:
		if i, err := strconv.Atoi(part); err == nil && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// mended applies the patch of a fix to the tools and reads them again.
func mended(t testing.TB, tools []annotary.Tool, o lint.Options) []annotary.Tool {
	t.Helper()
	raws := make([]string, len(tools))
	for i := range tools {
		raws[i] = string(tools[i].Raw)
	}
	var doc any
	if err := json.Unmarshal([]byte(`{"tools":[`+strings.Join(raws, ",")+`]}`), &doc); err != nil {
		t.Fatal(err)
	}
	for _, op := range lint.Patch(lint.Fix(tools, o), "/tools") {
		var err error
		if doc, err = apply(doc, op); err != nil {
			t.Fatal(err)
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	again, err := annotary.ParseTools(out)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// checkMended demands that a fix leaves nothing a fixable rule finds, and that
// a second fix has nothing to do.
func checkMended(t *testing.T, tools []annotary.Tool, o lint.Options) {
	t.Helper()
	again := mended(t, tools, o)
	for _, f := range lint.Check(again, o).Findings {
		if f.Fixable {
			t.Errorf("%s: %s of %s is left: %s\nbefore: %s\nafter:  %s", o.Profile, f.Rule, f.Tool, f.Message,
				strict.Get(tools[f.Index].Raw, "annotations"), strict.Get(again[f.Index].Raw, "annotations"))
		}
	}
	if left := lint.Fix(again, o); len(left) > 0 {
		t.Errorf("%s: a second fix still changes %s: %s", o.Profile, left[0].Tool, left[0].Ops[0].Path)
	}
}

func TestFix(t *testing.T) {
	for p := range lint.NumProfiles {
		for _, ex := range examples {
			for _, definition := range slices.Concat(ex.bad, ex.good) {
				checkMended(t, list(t, definition), lint.Options{Profile: p})
			}
		}
		for _, annotations := range everyAnnotation() {
			for _, name := range []string{"x", "get_user", "delete_user", "create_user", "set_name"} {
				checkMended(t, list(t, `{"name":"`+name+`","annotations":`+annotations+`}`), lint.Options{Profile: p})
			}
		}
	}
}

// everyAnnotation combines the five states of the four hints.
func everyAnnotation() []string {
	all := []string{""}
	for n := range annotary.OpenWorld + 1 {
		var next []string
		for _, s := range all {
			next = append(next, s)
			for _, v := range []string{"null", "false", "true", `"true"`} {
				next = append(next, s+`,"`+n.Wire()+`":`+v)
			}
		}
		all = next
	}
	for i, s := range all {
		all[i] = "{" + strings.TrimPrefix(s, ",") + "}"
	}
	return all
}

func TestFix_corpus(t *testing.T) {
	for _, tools := range corpus(t) {
		for p := range lint.NumProfiles {
			checkMended(t, tools, lint.Options{Profile: p})
		}
	}
}

// TestFix_assumed demands the pessimistic value and its name where nothing is
// known, and neither where something is.
func TestFix_assumed(t *testing.T) {
	again := mended(t, list(t, `{"name":"frobnicate","_meta":{"a":1}}`, clean), lint.Options{})
	got := string(again[0].Raw)
	want := `{"_meta":{"a":1,"dev.annotary/assumed":["readOnlyHint","destructiveHint","idempotentHint","openWorldHint"]},` +
		`"annotations":{"destructiveHint":true,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false,"title":"Frobnicate"},"name":"frobnicate"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strict.Get(again[1].Raw, "_meta") != nil {
		t.Errorf("a tool without fault was changed: %s", again[1].Raw)
	}
}

func TestWriteSnippets(t *testing.T) {
	repairs := lint.Fix(list(t, `{"name":"frob_x","annotations":{"readOnlyHint":false,"destructiveHint":null}}`), lint.Options{})
	for language, want := range map[string]string{
		"go":         "// frob_x\n// assumed, please check: destructiveHint\nAnnotations: &mcp.ToolAnnotations{\n\tTitle:           \"Frob X\",\n\tReadOnlyHint:    false,\n\tDestructiveHint: new(true),\n},\n",
		"typescript": "// frob_x\n// assumed, please check: destructiveHint\nannotations: {\n  title: \"Frob X\",\n  readOnlyHint: false,\n  destructiveHint: true,\n},\n",
		"python":     "# frob_x\n# assumed, please check: destructiveHint\nannotations=ToolAnnotations(\n    title=\"Frob X\",\n    readOnlyHint=False,\n    destructiveHint=True,\n),\n",
	} {
		var b strings.Builder
		if err := lint.WriteSnippets(&b, repairs, language); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s:\n%s", language, diff)
		}
	}
	if err := lint.WriteSnippets(&strings.Builder{}, repairs, "cobol"); annotary.CodeOf(err) != annotary.CodeUsage {
		t.Errorf("an unknown language gave %v", err)
	}
}
