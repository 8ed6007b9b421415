package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// unrefused are the codes that no refusal of a call carries today, and why.
var unrefused = map[string]string{
	"CodeInternal": "it is an error", "CodeUsage": "of commands", "CodeConfig": "of commands", "CodeInvalid": "of commands",
	"CodeConnect": "it is an error", "CodeFindings": "of commands", "CodeConflict": "of stores",
	"CodeForged": "of checkpoints", "CodeForked": "of checkpoints",
	"CodeTrifecta": "nothing is known yet of what a conversation has seen",

	"CodeAnswered": "of who answers",
}

// inGateway are the codes that a script cannot bring about, or not in time; a test
// of the gateway does.
var inGateway = map[string]string{
	"CodeStore":       "TestUnrecordedIsUndone",
	"CodeStateForged": "TestApprove_state", "CodeStateReplayed": "TestApprove_state", "CodeStateMismatch": "TestApprove_state",
	"CodeUnknownApproval": "TestApprove_state", "CodeNotApprover": "TestApprove_state", "CodeScopeTooWide": "TestApprove_state",
	"CodeStateExpired": "TestApprove_expired", "CodeRounds": "TestApprove_rounds", "CodeQuestions": "TestApprove_flood",
	"CodeGrantSpent": "TestApprove_none", "CodeGrantRevoked": "TestApprove_scopes", "CodeGrantArguments": "TestApprove_scopes",
	"CodeGrantDefinition": "TestApprove_scopes", "CodeGrantReasons": "TestApprove_scopes", "CodeGrantApprover": "TestApprove_scopes",
	"CodeGrantExpired": "TestTime", "CodeGrantConversation": "TestScope",
}

// TestReasons: every code is refused by reasons.txtar, by a test of the gateway,
// or by nobody for a reason given above.
func TestReasons(t *testing.T) {
	script := readFile(t, "testdata", "script", "reasons.txtar")
	tests := ""
	for _, file := range []string{"gateway/judge_test.go", "gateway/approve_test.go", "approval/approval_test.go"} {
		tests += readFile(t, repository, "internal", filepath.FromSlash(file))
	}
	codes := codesOf(t)
	for name, code := range codes {
		_, exempt := unrefused[name]
		test, elsewhere := inGateway[name]
		switch {
		case exempt:
		case elsewhere:
			if !strings.Contains(tests, "func "+test+"(") || !strings.Contains(tests, "annotary."+name) {
				t.Errorf("%s is not tested by %s", name, test)
			}
		case !strings.Contains(script, "\nstdout '\""+`code":"`+code) && !strings.Contains(script, "\nstdout '"+code):
			t.Errorf("%s (%s): no step of reasons.txtar expects it", name, code)
		}
	}
	for name := range unrefused {
		if codes[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
}

// codesOf reads every annotary.Code there is off the source.
func codesOf(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, "error.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			if codes[spec.Names[0].Name], err = strconv.Unquote(lit.Value); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if len(codes) < 20 {
		t.Fatalf("only %d codes were found", len(codes))
	}
	return codes
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
