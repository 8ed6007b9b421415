package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/testenv"
)

// TestDecideDocs runs the snippets of docs/decide.md against a gateway: all of
// them get the answer that the page describes.
func TestDecideDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", "decide.md"))
	if err != nil {
		t.Fatal(err)
	}
	key, hash := identity.NewKey()
	endpoint := serve(t, fmt.Sprintf(`
listen: 127.0.0.1:0
rules: {read: allow, destructive: ask}
identity: {keys: {ci: {hash: %q}}}
servers: {notes: {url: %q}}
`, hash, newNotes(t).URL))
	base, _, _ := strings.Cut(endpoint, "/mcp/")
	testenv.Program(t, "curl")
	for language, program := range map[string]string{
		"sh": "sh", "python": testenv.Program(t, "python3"), "ts": testenv.Node(t),
	} {
		t.Run(language, func(t *testing.T) {
			_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
			code, _, found := strings.Cut(rest, "```")
			if !found {
				t.Fatalf("the page has no block of %s", language)
			}
			file := filepath.Join(t.TempDir(), "snippet.m"+language) // .mts is a module to Node
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(code, "http://127.0.0.1:7337", base)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, file)
			cmd.Env = append(os.Environ(), "TOKEN="+key)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s%s", err, out, stderr.String())
			}
			var got gateway.Verdict
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := gateway.Verdict{Effect: "ask", Code: "approval_required", Reasons: []gateway.VerdictReason{
				{Code: "class_rule", Rule: "rules/destructive/ask", Text: got.Reasons[0].Text},
			}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
