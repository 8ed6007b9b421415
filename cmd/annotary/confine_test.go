package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/testenv"
)

// A runningGateway is annotary serve as a process of its own.
type runningGateway struct {
	url, data string
	config    string
}

// startGateway runs a gateway in front of the servers of a configuration; the
// keys listen and data are added to it.
func startGateway(t *testing.T, config string) *runningGateway {
	t.Helper()
	dir := t.TempDir()
	g := &runningGateway{data: filepath.Join(dir, "data"), config: filepath.Join(dir, "annotary.yaml")}
	write(t, g.config, fmt.Sprintf("listen: 127.0.0.1:0\ndata: %s\n%s", g.data, config))
	cmd := exec.Command(program(t, "annotary"), "serve", "--config", g.config)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = testWriter{t}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		killer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		killer.Stop()
	})
	line, err := bufio.NewReader(out).ReadString('\n') // printed once it listens
	if err != nil {
		t.Fatalf("the gateway did not start: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	g.url = line[:strings.Index(line, "/mcp/")]
	return g
}

// annotary runs a command to its end.
func annotary(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(program(t, "annotary"), args...).CombinedOutput(); err != nil {
		t.Fatalf("annotary %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// program is this test binary under a name by which it is another program; see
// TestMain.
func program(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// testWriter passes on what a process says to the test's log.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Logf("%s", strings.TrimRight(string(p), "\n"))
	}
	return len(p), nil
}

// call calls a tool in a session of its own and returns the answer.
func (g *runningGateway) call(t *testing.T, server, tool string, args any) string {
	t.Helper()
	return g.session(server).call(t, tool, args)
}

// call calls a tool and returns the answer.
func (c *legacyClient) call(t *testing.T, tool string, args any) string {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%s,"arguments":%s}}`, quoted(tool), raw))
}

// session opens a session of the legacy era with a server.
func (g *runningGateway) session(server string) *legacyClient {
	c := &legacyClient{url: g.url + "/mcp/s/" + server}
	c.post(hello)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// TestConfined is S8's part about the data folder: real servers that read files and
// run shells, sent there through the gateway, come back with nothing; with confine:
// off the same calls succeed, so it is the wall that holds.
func TestConfined(t *testing.T) {
	node, home := testenv.Node(t), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".claude-server-commander"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".claude-server-commander", "config.json"), `{"telemetryEnabled":false,"allowedDirectories":["/"],"blockedCommands":[]}`)
	servers := ""
	for name, confine := range map[string]string{"": "on", "open-": "off"} {
		servers += fmt.Sprintf("  %sfiles: {command: %s, args: [%s, /], confine: %s}\n", name, node,
			testenv.NPM(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js"), confine)
		servers += fmt.Sprintf("  %sshell: {command: %s, args: [%s], env: {HOME: %s}, confine: %s}\n", name, node,
			testenv.NPM(t, "@wonderwhy-er", "desktop-commander", "dist", "index.js"), home, confine)
	}
	g := startGateway(t, "preset: off\nservers:\n"+servers)
	protection := status(t, g.data).Confined
	t.Logf("protection that ran: %s", protection)
	if protection == "none" {
		t.Skip("this system has neither user namespaces nor Landlock")
	}
	token := readFile(t, g.data, "operator.token")
	socket := filepath.Join(g.data, "operator.sock")
	connect := fmt.Sprintf(`python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('%s'); s.send(b'GET /v1/status HTTP/1.0\r\nAuthorization: Bearer '+open('%s/operator.token','rb').read()+b'\r\n\r\n'); print(s.recv(4000).decode())"`, socket, g.data)
	for _, tt := range []struct {
		server, tool string
		args         map[string]any
		open         string // what the call brings where nobody stands in its way
	}{
		{"files", "read_text_file", map[string]any{"path": g.data + "/operator.token"}, token},
		{"files", "write_file", map[string]any{"path": g.data + "/planted", "content": "x"}, "Successfully wrote"},
		{"files", "move_file", map[string]any{"source": g.data + "/planted", "destination": g.data + "/moved"}, "Successfully moved"},
		{"files", "get_file_info", map[string]any{"path": g.data + "/gateway.lock"}, "permissions"},
		{"shell", "read_file", map[string]any{"path": g.data + "/operator.token"}, token},
		{"shell", "start_process", map[string]any{"command": "cat " + g.data + "/operator.token", "timeout_ms": 20000}, token},
		{"shell", "start_process", map[string]any{"command": connect, "timeout_ms": 20000}, "200 OK"},
		{"shell", "start_process", map[string]any{"command": fmt.Sprintf("cat /proc/%d/root%s/operator.token", gatewayPid(t, g.data), g.data), "timeout_ms": 20000}, ""},
		{"shell", "start_process", map[string]any{"command": fmt.Sprintf("echo got $(strings /proc/%d/mem; grep -c . /proc/%[1]d/environ; umount %s; mv %[2]s %[2]s2)", gatewayPid(t, g.data), g.data), "timeout_ms": 20000}, ""},
	} {
		if tt.tool == "get_file_info" && protection == "landlock" {
			continue // it keeps nobody from learning that a file is there
		}
		got := g.call(t, tt.server, tt.tool, tt.args)
		if strings.Contains(got, token) || tt.open != "" && strings.Contains(got, tt.open) {
			t.Errorf("%s %v went through: %s", tt.tool, tt.args, got)
		}
		if tt.open == "" {
			continue
		}
		if got := g.call(t, "open-"+tt.server, tt.tool, tt.args); !strings.Contains(got, tt.open) {
			t.Errorf("without confinement %s %v brought %s, want %s: this test would not notice", tt.tool, tt.args, got, tt.open)
		}
	}
	if again := status(t, g.data).PID; again == 0 {
		t.Error("the gateway no longer answers its operator")
	}
}

// status asks the gateway of a data folder how it is doing.
func status(t *testing.T, data string) api.Status {
	t.Helper()
	c := operator(data)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
