package annotary_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/annotary/annotary"

// floors names every package from the ground up. A package may import only
// packages of lower floors, none beside it.
var floors = [][]string{
	{"internal/strict", "internal/testenv", "internal/sqlread"},
	{"."},
	{
		"derive", "policy", "audit", "prompt", "find", "find/internal/judged", "shape",
		"internal/rpc", "internal/record", "internal/seal", "internal/confine", "internal/detect",
	},
	{
		"lint", "tool", "agent",
		"internal/identity", "internal/catalog", "internal/session", "internal/approval",
		"internal/upstream", "internal/clients", "internal/notary", "internal/spool", "internal/label", "internal/override",
	},
	{"internal/gateway", "internal/storetest", "internal/scan", "tool/tooltest", "tool/toolpg", "tool/internal/burst"},
	{"internal/jetstream", "internal/memory", "internal/wire", "internal/api", "internal/console", "internal/config", "internal/export"},
	{"internal/cli"},
	{"examples/askfirst", "cmd/annotary", "conformance/bench", "conformance/client"},
	{"examples/internal/serve", "examples/internal/orders", "examples/internal/drive"},
	{
		"examples/hello", "examples/search-orders", "examples/save-order-note", "examples/cancel-order",
		"examples/customers", "examples/migrate", "examples/websearch",
	},
}

// onlyIn says which packages may import a dependency, and why nobody else.
var onlyIn = map[string]struct {
	pkgs []string
	why  string
}{
	"github.com/go-json-experiment/json":     {[]string{"internal/strict"}, "JSON is read in one place"},
	"go.yaml.in/yaml/v3":                     {[]string{"derive", "internal/config"}, "strangers' YAML becomes checked JSON or an error with its line"},
	"github.com/pelletier/go-toml/v2":        {[]string{"internal/clients"}, "one client writes its configuration in TOML"},
	"github.com/cedar-policy/cedar-go":       {[]string{"policy"}, "the policy engine stays behind our own words"},
	"github.com/go-jose/go-jose/v4":          {[]string{"internal/identity"}, "tokens are judged in one place"},
	"golang.org/x/mod":                       {[]string{"audit"}, "the tree of the log is kept in one place"},
	"github.com/spf13/cobra":                 {[]string{"internal/cli"}, "flags end at the command line"},
	"github.com/modelcontextprotocol/go-sdk": {[]string{"tool", "examples", "conformance"}, "its types lose what they do not know"},
	"github.com/jackc/pgx/v5":                {[]string{"tool/toolpg", "internal/export", "examples"}, "nobody else needs PostgreSQL"},
	"github.com/coreos/go-oidc/v3":           {[]string{"internal/console"}, "people sign in on one page only"},
	"github.com/nats-io":                     {[]string{"internal/jetstream"}, "stages speak of stores, not of an engine"},
}

func TestFloors(t *testing.T) {
	floor := map[string]int{}
	for n, pkgs := range floors {
		for _, p := range pkgs {
			floor[p] = n
		}
	}
	walk(t, func(path string, f *ast.File) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		n, ok := floor[pkg]
		if !ok {
			t.Errorf("%s stands on no floor: add its package to floors", path)
			return
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			checkOnlyIn(t, path, pkg, imp)
			rel, ours := strings.CutPrefix(imp+"/", module+"/")
			if !ours {
				continue
			}
			if m, ok := floor[filepath.ToSlash(filepath.Clean(rel))]; !ok || m >= n {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports go downward", path, n, imp, m)
			}
		}
	})
}

// TestFloors_documented holds the list of floors against the packages that
// exist, and the house as docs/architecture.md draws it against the list.
func TestFloors_documented(t *testing.T) {
	exists := map[string]bool{}
	walk(t, func(path string, _ *ast.File) { exists[filepath.ToSlash(filepath.Dir(path))] = true })
	drawn := drawnFloors(t)
	for n, pkgs := range floors {
		for _, p := range pkgs {
			if !exists[p] {
				t.Errorf("floor %d has %s, which does not exist", n, p)
			}
		}
		got, want := slices.Sorted(slices.Values(drawn[n])), slices.Sorted(slices.Values(pkgs))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("docs/architecture.md draws floor %d otherwise (-floors_test.go +architecture.md):\n%s", n, diff)
		}
	}
}

// drawnFloors reads the table in docs/architecture.md. A row without a number
// goes on with the floor above; a/{b,c} is a/b and a/c.
func drawnFloors(t *testing.T) map[int][]string {
	t.Helper()
	drawn, floor := map[int][]string{}, -1
	for line := range strings.Lines(readText(t, "docs/architecture.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		number := strings.TrimSpace(cells[1])
		if n, err := strconv.Atoi(number); err == nil {
			floor = n
		} else if number != "" {
			continue // the head of the table
		}
		for _, code := range backticks.FindAllStringSubmatch(cells[2], -1) {
			before, list, _ := strings.Cut(code[1], "{")
			for name := range strings.SplitSeq(strings.TrimSuffix(list, "}"), ",") {
				pkg := before + name
				if pkg == "annotary" {
					pkg = "." // the root
				}
				drawn[floor] = append(drawn[floor], pkg)
			}
		}
	}
	return drawn
}

func checkOnlyIn(t *testing.T, path, pkg, imp string) {
	t.Helper()
	for dep, rule := range onlyIn {
		if imp != dep && !strings.HasPrefix(imp, dep+"/") {
			continue
		}
		for _, p := range rule.pkgs {
			if pkg == p || strings.HasPrefix(pkg, p+"/") {
				return
			}
		}
		t.Errorf("%s imports %s, which only %v may: %s", path, imp, rule.pkgs, rule.why)
	}
}

// TestPackageComments demands a package comment everywhere.
func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	walk(t, func(path string, f *ast.File) {
		dir := filepath.Dir(path)
		documented[dir] = documented[dir] || f.Doc != nil
	})
	if len(documented) == 0 {
		t.Fatal("no package found")
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package in %s has no package comment", dir)
		}
	}
}

// walk parses every non-test Go file of the module. It reads the files itself
// because the test cache sees only files a test opens: a test that ran go list
// would pass stale.
func walk(t *testing.T, visit func(path string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		visit(path, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
