package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/testenv"
)

// TestMain runs the fixture server instead of the tests where asked to.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FIXTURE"); mode != "" {
		fixture(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self(t *testing.T, mode string) Target {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Target{Name: "fixture", Command: exe, Env: map[string]string{"FIXTURE": mode}}
}

// fixture is a server on standard streams that behaves as badly as mode says.
func fixture(mode string) {
	dec := json.NewDecoder(os.Stdin)
	for {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if dec.Decode(&req) != nil {
			return
		}
		if req.ID == nil {
			continue
		}
		if mode == "dies" && req.Method == "server/discover" {
			fmt.Fprintln(os.Stderr, "what is server/discover?")
			os.Exit(3)
		}
		answer(mode, req.ID, req.Method, req.Params.Cursor)
	}
}

func answer(mode string, id []byte, method, cursor string) {
	say := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result) }
	switch {
	case mode == "mute":
	case method == "server/discover" && mode == "modern":
		say(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"be kind"}`)
	case method == "server/discover" && mode == "silent":
	case method == "initialize" && mode != "modern":
		fmt.Println("Server running on stdio!")
		fmt.Printf(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}` + "\n")
		say(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fix","version":"7"}}`)
	case method == "tools/list" && mode == "circle":
		say(`{"tools":[{"name":"a"}],"nextCursor":"1"}`)
	case method == "tools/list" && cursor == "":
		say(`{"tools":[{"name":"a","x":9007199254740993},{"name":7}],"nextCursor":"p2"}`)
	case method == "tools/list":
		say(`{"tools":[{"name":"b"}]}`)
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", id)
	}
}

func TestList_command(t *testing.T) {
	for _, tt := range []struct {
		mode     string
		era      Era
		version  string
		tools    string
		warnings int
	}{
		{"legacy", EraLegacy, "2025-06-18", "a b", 2},
		{"silent", EraLegacy, "2025-06-18", "a b", 2},
		{"dies", EraLegacy, "2025-06-18", "a b", 2},
		{"circle", EraLegacy, "2025-06-18", "a a", 2},
		{"modern", EraModern, "2026-07-28", "a b", 1},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			got, err := List(t.Context(), self(t, tt.mode), Options{Probe: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if got.Era != tt.era || got.Version != tt.version {
				t.Errorf("spoke %v %q, want %v %q", got.Era, got.Version, tt.era, tt.version)
			}
			if names := names(got); names != tt.tools {
				t.Errorf("tools %q, want %q", names, tt.tools)
			}
			if len(got.Warnings) != tt.warnings {
				t.Errorf("warnings %q, want %d", got.Warnings, tt.warnings)
			}
			if tt.mode == "modern" && got.Instructions != "be kind" {
				t.Errorf("instructions %q", got.Instructions)
			}
			if raw := string(got.Tools[0].Raw); tt.mode != "circle" && raw != `{"name":"a","x":9007199254740993}` {
				t.Errorf("definition changed: %s", raw)
			}
		})
	}
}

func names(l Listing) string {
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestList_refused(t *testing.T) {
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer login.Close()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is a disconnect noticed
		<-r.Context().Done()
	}))
	defer slow.Close()
	away := httptest.NewServer(http.RedirectHandler("http://elsewhere.invalid/", http.StatusTemporaryRedirect))
	defer away.Close()
	for _, tt := range []struct {
		name   string
		target Target
		want   string
		login  bool
	}{
		{"login", Target{Name: "x", URL: login.URL}, "x wants a login", true},
		{"slow", Target{Name: "x", URL: slow.URL}, "did not answer within", false},
		{"redirect", Target{Name: "x", URL: away.URL, Header: map[string]string{"Authorization": "Bearer s"}}, "redirects", false},
		{"no program", Target{Name: "x", Command: "/no/such/program"}, "could not be started", false},
		{"ends", Target{Name: "x", Command: "sh", Args: []string{"-c", "echo bad luck >&2; exit 1"}}, "bad luck", false},
		{"nothing", Target{Name: "x"}, "neither", false},
		{"no address", Target{Name: "x", URL: "ftp://a"}, "not an HTTP address", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := List(t.Context(), tt.target, Options{Timeout: time.Second})
			if annotary.CodeOf(err) != annotary.CodeConnect || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if e, ok := errors.AsType[*annotary.Error](err); !ok || e.Hint == "" {
				t.Error("it says nothing that would help")
			}
			if errors.Is(err, ErrLogin) != tt.login {
				t.Errorf("ErrLogin: got %v, want %v", !tt.login, tt.login)
			}
		})
	}
}

// TestList_secrets: keys live in addresses, and errors go to logs. What is said of
// a server that cannot be asked names neither its query nor its user.
func TestList_secrets(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/?key=hunter2", http.StatusTemporaryRedirect)
	}))
	defer away.Close()
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: http://elsewhere.invalid/?session=hunter2\n\n")
	}))
	defer old.Close()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer slow.Close()
	for name, url := range map[string]string{
		"dead": dead.URL, "redirects": away.URL, "posts elsewhere": old.URL, "slow": slow.URL,
		"another scheme": "ftp://a", "no address": "http://[::1", "no scheme": "example.com/mcp",
	} {
		for _, secret := range []string{url + "?key=hunter2", strings.Replace(url, "http://", "http://ann:hunter2@", 1)} {
			_, err := List(t.Context(), Target{URL: secret}, Options{Timeout: time.Second})
			if err == nil {
				t.Fatalf("%s: it was listed", name)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), "hunter2") {
					t.Errorf("%s: %v", name, e)
				}
			}
		}
	}
}

// TestList_everything lists the reference server over each of its transports.
func TestList_everything(t *testing.T) {
	node := testenv.Node(t)
	script := testenv.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	direct, err := List(t.Context(), Target{Name: "e", Command: node, Args: []string{script, "stdio"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(direct.Tools) < 5 || direct.Server.Name == "" {
		t.Fatalf("%d tools from %+v", len(direct.Tools), direct.Server)
	}
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			base := serve(t, node, script, transport)
			got, err := List(t.Context(), Target{Name: "e", URL: base + path}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if names(got) == "" || len(got.Tools) != len(direct.Tools) {
				t.Errorf("%s, want as many as %s", names(got), names(direct))
			}
		})
	}
}

// serve starts a Node server on a free port and waits until it listens.
func serve(t *testing.T, node, script, transport string) string {
	t.Helper()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, script, transport)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	for range 1200 {
		if testenv.Listening("127.0.0.1:" + port) {
			return "http://127.0.0.1:" + port
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server did not start")
	return ""
}
