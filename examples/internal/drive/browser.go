package drive

import (
	_ "embed"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/internal/testenv"
)

//go:embed host.html
var hostPage string

// Shown is what a view showed, and what it asked its host to call.
type Shown struct {
	Text  string `json:"text"`
	Calls []struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"calls"`
}

// Render opens a view in a browser, inside a page that plays an MCP Apps host,
// hands it the tool's result, runs the script on its window and returns what it
// showed in the end.
func Render(t *testing.T, view string, res *mcp.CallToolResult, script string) Shown {
	t.Helper()
	browser := testenv.Program(t, "chromium")
	result, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("{{view}}", html.EscapeString(view), "{{result}}", string(result), "{{script}}", script).Replace(hostPage)
	file := filepath.Join(t.TempDir(), "host.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	_, rest, _ := strings.Cut(string(out), `<pre id="shown">`)
	raw, _, ok := strings.Cut(rest, "</pre>")
	var shown Shown
	if err := json.Unmarshal([]byte(html.UnescapeString(raw)), &shown); err != nil || !ok {
		t.Fatalf("the page ended as %.2000s (%v)", out, err)
	}
	return shown
}
