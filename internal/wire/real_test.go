package wire_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// TestRealServers lists real servers and calls a tool of each, direct and
// through the gateway: the results are the same bytes.
func TestRealServers(t *testing.T) {
	node := testenv.Node(t)
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte("é\u2028\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	official := func(name, file string, args ...string) upstream.Target {
		return upstream.Target{Name: name, Command: node, Args: append([]string{testenv.NPM(t, "@modelcontextprotocol", name, "dist", file)}, args...)}
	}
	memory := official("server-memory", "index.js")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(work, "memory.json")}
	for _, tt := range []struct {
		target upstream.Target
		params string
	}{
		{official("server-everything", "index.js", "stdio"), `{"name":"get-structured-content","arguments":{"location":"New York"}}`},
		{official("server-filesystem", "index.js", work), `{"name":"read_text_file","arguments":{"path":"` + work + `/a.txt"}}`},
		{memory, `{"name":"read_graph","arguments":{}}`},
		{upstream.Target{Name: "playwright", Command: node, Args: []string{testenv.NPM(t, "@playwright", "mcp", "cli.js"), "--headless", "--isolated"}},
			`{"name":"browser_click","arguments":{"element":7}}`},
		{upstream.Target{Name: "devtools", Command: node, Args: []string{testenv.NPM(t, "chrome-devtools-mcp", "build", "src", "bin", "chrome-devtools-mcp.js"), "--headless", "--isolated"},
			Env: map[string]string{"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"}},
			`{"name":"click","arguments":{}}`},
	} {
		t.Run(tt.target.Name, func(t *testing.T) {
			direct, err := upstream.List(t.Context(), tt.target, upstream.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(direct.Tools) == 0 {
				t.Fatal("no tools")
			}
			g := start(t, wire.Options{}, server(t, tt.target, upstream.ServerOptions{}))
			through, err := upstream.List(t.Context(), upstream.Target{Name: tt.target.Name, URL: g.url + "/mcp/s/" + tt.target.Name}, upstream.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(texts(direct.Pages), texts(through.Pages)); diff != "" {
				t.Errorf("tools/list: direct and through the gateway:\n%s", diff)
			}
			want := callDirect(t, tt.target, tt.params)
			_, body := g.post(tt.target.Name, call(tt.params), rpc.HeaderSession, g.open(tt.target.Name))
			if got := resultOf(body); got != want || got == "" {
				t.Errorf("tools/call: got  %s\nwant %s", body, want)
			}
		})
	}
}

func texts(pages [][]byte) []string {
	out := make([]string, len(pages))
	for i, p := range pages {
		out[i] = string(p)
	}
	return out
}

func call(params string) string {
	return `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":` + params + `}`
}

// resultOf returns what a response says apart from its id; an event stream's
// last message is the response.
func resultOf(body string) string {
	if all := events(body); len(all) > 0 {
		body = all[len(all)-1]
	}
	return string(strict.Get([]byte(body), "result")) + string(strict.Get([]byte(body), "error"))
}

// callDirect talks to the command itself.
func callDirect(t *testing.T, target upstream.Target, params string) string {
	t.Helper()
	conn := startDirect(t, target)
	conn.ask(t, initialize)
	if _, err := conn.conn.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	return resultOf(strings.TrimSpace(conn.ask(t, call(params))))
}

// TestOldTransport reaches a server that speaks only the HTTP+SSE transport of
// 2024-11-05.
func TestOldTransport(t *testing.T) {
	node := testenv.Node(t)
	script := testenv.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + port
	cmd := exec.Command(node, script, "sse")
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "the server listens", func() bool { return testenv.Listening(addr) })
	g := start(t, wire.Options{}, server(t, upstream.Target{Name: "old", URL: "http://" + addr + "/sse"}, upstream.ServerOptions{}))
	id := g.open("old")
	params := `{"name":"echo","arguments":{"message":"é"}}`
	_, body := g.post("old", call(params), rpc.HeaderSession, id)
	want := callDirect(t, upstream.Target{Command: node, Args: []string{script, "stdio"}}, params)
	if got := resultOf(body); got != want {
		t.Errorf("got %s, want %s", body, want)
	}
	req, _ := http.NewRequest("DELETE", g.url+"/mcp/s/old", nil)
	req.Header.Set(rpc.HeaderSession, id)
	if status := g.status(req); status != 200 {
		t.Errorf("DELETE: %d", status)
	}
}
