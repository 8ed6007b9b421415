package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// commands returns every command a person can run.
func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := newRootCmd(&Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	for _, c := range root.Commands() {
		walk(c)
	}
	if len(all) == 0 {
		t.Fatal("there are no commands")
	}
	return all
}

// scriptLines returns every command line that some script runs.
func scriptLines(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../cmd/annotary/testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	lines := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "! ")
			if rest, ok := strings.CutPrefix(line, "exec "); ok {
				rest = strings.ReplaceAll(rest, "$ID", exampleID)
				lines[background.ReplaceAllString(rest, "")] = true
			}
		}
	}
	return lines
}

// exampleID stands in examples for an approval, whose id is another each time; in
// scripts the variable ID does.
const exampleID = "k7m2q4xw5zta"

// background is how a script lets a command run on, by a name or without.
var background = regexp.MustCompile(` &(\w+&)?$`)

// redirection is what a shell does and a script does by other means.
var redirection = regexp.MustCompile(` *[<>|].*$`)

// TestCommands_Examples checks that every command says in one line what it is
// for and has two examples, and that every example is run by a script.
func TestCommands_Examples(t *testing.T) {
	run := scriptLines(t)
	for _, c := range commands(t) {
		if c.Short == "" || strings.ContainsAny(c.Short, "\n") || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its purpose is one line without a full stop, not %q", c.CommandPath(), c.Short)
		}
		if !c.Runnable() {
			continue
		}
		examples := 0
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(redirection.ReplaceAllString(strings.TrimSpace(line), ""))
			if !strings.HasPrefix(line, "annotary ") {
				continue
			}
			examples++
			if !run[line] {
				t.Errorf("%s: no script runs the example %q", c.CommandPath(), line)
			}
		}
		if examples < 2 {
			t.Errorf("%s has %d examples, want two or more", c.CommandPath(), examples)
		}
	}
}

// TestCommands_Help checks that help fits a terminal, that every command prints
// JSON if asked, and that it stands under a heading.
func TestCommands_Help(t *testing.T) {
	plain := map[string]bool{"completion": true} // it prints a program
	for _, c := range commands(t) {
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > tableWidth {
				t.Errorf("%s --help: a line has %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if c.Runnable() && !c.HasSubCommands() && c.Flags().Lookup("json") == nil && !plain[c.Name()] {
			t.Errorf("%s has no --json", c.CommandPath())
		}
		if strings.Contains(c.Use, "TARGET") && c.Flags().Lookup("header") == nil {
			t.Errorf("%s takes a target and not its flags", c.CommandPath())
		}
		top := c.Parent() == c.Root()
		if top && c.GroupID == "" && c.Name() != "completion" && c.Name() != "version" {
			t.Errorf("%s stands in no group", c.CommandPath())
		}
	}
}

// TestErrors_Hint checks that every error made here says what would help.
func TestErrors_Hint(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		hinted := map[ast.Node]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "WithHint" {
				hinted[sel.X] = true
			}
			return true
		})
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isMake(call) {
				return true
			}
			made++
			if !hinted[call] && !hintedLater(f, call) {
				t.Errorf("%s: an error without a hint", fset.Position(call.Pos()))
			}
			return true
		})
	}
	if made == 0 {
		t.Fatal("no error is made here at all")
	}
}

// isMake reports whether the call is annotary.E with a code that a person sees
// as an error.
func isMake(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "E" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || pkg.Name != "annotary" {
		return false
	}
	code, ok := call.Args[0].(*ast.SelectorExpr)
	return !ok || (code.Sel.Name != "CodeFindings" && code.Sel.Name != "CodeInternal")
}

// hintedLater reports whether the error is kept in a variable that gets its
// hint afterwards.
func hintedLater(f *ast.File, call *ast.CallExpr) bool {
	var name string
	ast.Inspect(f, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Rhs) == 1 && a.Rhs[0] == ast.Expr(call) {
			if id, ok := a.Lhs[0].(*ast.Ident); ok {
				name = id.Name
			}
		}
		return true
	})
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "WithHint" && sel.Pos() > call.End() {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == name {
				found = true
			}
		}
		return true
	})
	return found
}
