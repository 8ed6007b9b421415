package config

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/testenv"
)

// TestReference checks that docs/configuration.md says what the doc comments
// say. UPDATE_DOCS=1 writes it.
func TestReference(t *testing.T) {
	path := filepath.Join(testenv.Root(t), "docs", "configuration.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- begin reference -->\n", "<!-- end reference -->\n"
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the reference", path)
	}
	want := head + begin + reference(t) + end + tail
	if string(page) == want {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s does not say what the doc comments say: run UPDATE_DOCS=1 go test ./internal/config", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReferenceExamples loads every YAML block of the pages on the configuration.
func TestReferenceExamples(t *testing.T) {
	for _, name := range []string{"configuration.md", "identity.md"} {
		page, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(page), "```yaml\n")[1:]
		if len(blocks) == 0 {
			t.Fatalf("%s has no example", name)
		}
		for i, b := range blocks {
			src, _, _ := strings.Cut(b, "```")
			if _, err := parse(FileName, []byte(src), env("GITHUB_TOKEN", "x", "HOME", "/home/me")); err != nil {
				t.Errorf("%s, example %d: %v", name, i+1, err)
			}
		}
	}
}

// reference writes one table for each section, from the doc comments.
func reference(t *testing.T) string {
	docs := fieldDocs(t)
	var out bytes.Buffer
	for _, s := range []struct {
		title string
		of    any
	}{
		{"The file", Config{}},
		{"`servers.NAME`", Server{}},
		{"`servers.NAME.overrides.TOOLS`", Override{}},
		{"`servers.NAME.narrow.TOOLS`", Narrow{}},
		{"`servers.NAME.timeouts`", ServerTimeouts{}},
		{"`identity`", Identity{}},
		{"`identity.issuers.URL`", Issuer{}},
		{"`identity.keys.NAME`", APIKey{}},
		{"`identity.certificates`", Certificates{}},
		{"`tls`", TLS{}},
		{"`operator`", Operator{}},
		{"`rules`", Rules{}},
		{"`rules.open`", OpenRule{}},
		{"`profiles.NAME`", Profile{}},
		{"`observe`", Observe{}},
		{"`page`", Page{}},
		{"`page.login`", PageLogin{}},
		{"`webhook`", Webhook{}},
		{"`state`", State{}},
		{"`audit`", Audit{}},
		{"`audit.export.NAME`", Export{}},
		{"`approvals`", Approvals{}},
		{"`limits`", Limits{}},
		{"`timeouts`", Timeouts{}},
	} {
		typ := reflect.TypeOf(s.of)
		fmt.Fprintf(&out, "### %s\n\n| key | is | default | meaning |\n|---|---|---|---|\n", s.title)
		for f := range typ.Fields() {
			if !f.IsExported() {
				continue
			}
			text, ok := docs[typ.Name()+"."+f.Name]
			if !ok {
				t.Errorf("%s.%s has no doc comment", typ.Name(), f.Name)
			}
			// The comment begins with the name of the field, which is in the table already.
			for _, word := range []string{f.Name, "is", "are"} {
				text = strings.TrimPrefix(text, word+" ")
			}
			text = strings.ToUpper(text[:1]) + text[1:]
			def := f.Tag.Get("default")
			if def != "" {
				def = "`" + def + "`"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", f.Tag.Get("yaml"), typeName(f.Type), def, text)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Text](), reflect.TypeFor[Secret]():
		return "text"
	case reflect.TypeFor[Duration]():
		return "duration"
	case reflect.TypeFor[Size]():
		return "size"
	case reflect.TypeFor[Instance](), reflect.TypeFor[Preset](), reflect.TypeFor[annotary.Verdict](),
		reflect.TypeFor[MissingScope](), reflect.TypeFor[identity.CertificateName](),
		reflect.TypeFor[ExportFormat](), reflect.TypeFor[StoreLoss]():
		return "word"
	case reflect.TypeFor[identity.KeyHash]():
		return "text"
	case reflect.TypeFor[Day]():
		return "day"
	case reflect.TypeFor[Switch]():
		return "`on`, `off`"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Int:
		return "number"
	case reflect.Bool:
		return "`true`, `false`"
	case reflect.Slice:
		return "list"
	case reflect.Pointer:
		return typeName(t.Elem())
	}
	return "mapping"
}

// fieldDocs reads the doc comments of this package's structs.
func fieldDocs(t *testing.T) map[string]string {
	docs := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		addDocs(docs, f)
	}
	return docs
}

func addDocs(docs map[string]string, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		typ, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		st, ok := typ.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range st.Fields.List {
			for _, name := range field.Names {
				docs[typ.Name.Name+"."+name.Name] = cell(field.Doc.Text())
			}
		}
		return true
	})
}

// cell puts a doc comment on the one line a table cell has.
func cell(text string) string {
	var p comment.Parser
	md := new(comment.Printer).Markdown(p.Parse(text))
	return strings.Join(strings.Fields(strings.ReplaceAll(string(md), "|", `\|`)), " ")
}
