package tool_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/testenv"
)

// TestImports follows the imports of package tool through this module: an
// author's server must link neither NATS nor Cedar nor the gateway. It reads the
// files itself, because the test cache would not notice what go list read.
func TestImports(t *testing.T) {
	const module = "github.com/annotary/annotary"
	root := testenv.Root(t)
	seen := map[string]string{module + "/tool": ""}
	todo := []string{module + "/tool"}
	for len(todo) > 0 {
		pkg := todo[0]
		todo = todo[1:]
		for _, imp := range imports(t, filepath.Join(root, strings.TrimPrefix(pkg, module))) {
			if _, ok := seen[imp]; ok {
				continue
			}
			seen[imp] = pkg
			if imp == module || strings.HasPrefix(imp, module+"/") {
				todo = append(todo, imp)
			}
		}
	}
	for imp, by := range seen {
		for _, banned := range []string{"github.com/nats-io", "github.com/cedar-policy", module + "/policy", module + "/internal/gateway", "github.com/jackc"} {
			if strings.HasPrefix(imp, banned) {
				t.Errorf("package tool links %s, through %s", imp, by)
			}
		}
	}
	for _, want := range []string{module + "/shape", module + "/internal/strict", "github.com/modelcontextprotocol/go-sdk/mcp"} {
		if _, ok := seen[want]; !ok {
			t.Errorf("the walk did not reach %s", want)
		}
	}
}

// imports returns what the package in dir imports, tests apart.
func imports(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f.Name()), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, imp)
		}
	}
	return list
}
