package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/testenv"
)

// TestPatterns holds docs/patterns.md to the code: each row names at least one
// symbol and one test, and all of them exist.
func TestPatterns(t *testing.T) {
	t.Chdir(testenv.Root(t))
	raw, err := os.ReadFile("docs/patterns.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(line, "---") || strings.Contains(line, "| symbol |") {
			continue
		}
		rows++
		for i, what := range []string{"symbol", "test"} {
			names := quoted.FindAllStringSubmatch(cells[i+1], -1)
			if len(names) == 0 {
				t.Errorf("%q names no %s", strings.TrimSpace(cells[0]), what)
			}
			for _, name := range names {
				if !exists(t, name[1], what == "test") {
					t.Errorf("%q: there is no %s %s", strings.TrimSpace(cells[0]), what, name[1])
				}
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows were found", rows)
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// exists reports whether a path, a symbol or a test exists.
func exists(t *testing.T, name string, isTest bool) bool {
	t.Helper()
	if strings.Contains(name, "/") {
		_, err := os.Stat(filepath.FromSlash(name))
		return err == nil
	}
	pkg, symbol, ok := strings.Cut(name, ".")
	if !ok {
		return false
	}
	for _, dir := range []string{pkg, "tool/" + pkg, "examples/" + pkg, "."} {
		if dir == "." && pkg != "annotary" {
			continue
		}
		if declares(t, dir, symbol, isTest) {
			return true
		}
	}
	return false
}

// declares reports whether the package in dir declares the symbol: a name, or a
// type with a field or method.
func declares(t *testing.T, dir, symbol string, inTests bool) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") != inTests {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if declared(decl)[symbol] {
				return true
			}
		}
	}
	return false
}

// declared returns what a declaration declares, as Name or Type.Member.
func declared(decl ast.Decl) map[string]bool {
	names := map[string]bool{}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
			break
		}
		if base := receiver(d.Recv.List[0].Type); base != "" {
			names[base+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				for _, field := range fields(s.Type) {
					names[s.Name.Name+"."+field] = true
				}
			}
		}
	}
	return names
}

func receiver(expr ast.Expr) string {
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if id, ok := expr.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func fields(expr ast.Expr) []string {
	st, ok := expr.(*ast.StructType)
	if !ok {
		return nil
	}
	var names []string
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
