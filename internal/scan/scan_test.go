package scan

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/clients"
	"github.com/annotary/annotary/internal/upstream"
)

var update = flag.Bool("update", false, "rewrite the snapshots")

// place is a home with entries of two clients and a project.
func place(t *testing.T) clients.Place {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {
	  "mail": {"command": "mail-mcp", "env": {"MAIL_TOKEN": "hunter2hunter2"}},
	  "web": {"type": "http", "url": "https://web.example/mcp?key=hunter2hunter2"},
	  "dead": {"command": "dead-mcp", "args": ["--api-key", "hunter2hunter2"]}}}`)
	write(t, filepath.Join(home, ".codex", "config.toml"), "[mcp_servers.post]\ncommand = 'mail-mcp'\nenv = { MAIL_TOKEN = 'hunter2hunter2' }\n")
	write(t, filepath.Join(home, ".cursor", "mcp.json"), "{")
	write(t, filepath.Join(home, "work", ".mcp.json"), `{"mcpServers": {"team": {"command": "./team.sh"}}}`)
	return clients.Place{Home: home, Project: filepath.Join(home, "work")}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tool makes a definition. Our four hints are stated, so that the test does not
// hang on what is derived from a name.
func tool(t *testing.T, name, annotations, ours string) annotary.Tool {
	t.Helper()
	tool, err := annotary.ParseTool(fmt.Appendf(nil,
		`{"name":%q,"inputSchema":{"type":"object"},"annotations":{%s},"_meta":{"dev.annotary/hints":{%s}}}`, name, annotations, ours))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// answers returns a List that answers by command or address.
func answers(t *testing.T) func(context.Context, upstream.Target, upstream.Options) (upstream.Listing, error) {
	t.Helper()
	return func(_ context.Context, target upstream.Target, _ upstream.Options) (upstream.Listing, error) {
		switch target.Command + target.URL {
		case "mail-mcp":
			return upstream.Listing{Tools: []annotary.Tool{
				tool(t, "read_inbox", `"readOnlyHint":true`, `"sensitive":true,"untrusted":true`),
				tool(t, "send_mail", `"readOnlyHint":false,"destructiveHint":true`, `"egress":true`),
				tool(t, "delete_mailbox", `"readOnlyHint":true`, ``),
				tool(t, "frobnicate", ``, ``),
			}}, nil
		case "dead-mcp":
			return upstream.Listing{Stderr: "booting\nno route with hunter2hunter2\x1b[31m\n"}, annotary.E(annotary.CodeConnect, "dead could not be asked", errors.New("the server https://x/?k=hunter2hunter2 stopped"))
		case "./team.sh":
			return upstream.Listing{}, annotary.E(annotary.CodeConnect, "team did not answer", context.DeadlineExceeded)
		default:
			return upstream.Listing{}, annotary.E(annotary.CodeConnect, "web wants a login", fmt.Errorf("401: %w", upstream.ErrLogin))
		}
	}
}

// TestReport_JSON pins the form that others read. Run with -update to rewrite.
func TestReport_JSON(t *testing.T) {
	p := place(t)
	r := Run(t.Context(), clients.Find(p), Options{List: answers(t)})
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "hunter2") {
		t.Error("the report holds a secret")
	}
	text := strings.ReplaceAll(string(got), p.Home, "HOME") + "\n"
	golden := filepath.Join("testdata", "report.json")
	if *update {
		write(t, golden, text)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestRun_Project checks that a project's server is started only when asked
// for, unless the user's own configuration has it too.
func TestRun_Project(t *testing.T) {
	p := place(t)
	started := func(opts Options) map[string]bool {
		var mu sync.Mutex
		got := map[string]bool{}
		list := answers(t)
		opts.List = func(ctx context.Context, target upstream.Target, o upstream.Options) (upstream.Listing, error) {
			mu.Lock()
			got[target.Name] = true
			mu.Unlock()
			return list(ctx, target, o)
		}
		Run(t.Context(), clients.Find(p), opts)
		return got
	}
	if got := started(Options{}); got["team"] || !got["mail"] {
		t.Errorf("started %v, want mail and not team", got)
	}
	if got := started(Options{StartProject: true}); !got["team"] {
		t.Errorf("started %v, want team", got)
	}
	write(t, filepath.Join(p.Home, ".cursor", "mcp.json"), `{"mcpServers": {"mine": {"command": "./team.sh"}}}`)
	if got := started(Options{}); !got["mine"] || got["team"] {
		t.Errorf("started %v, want mine", got)
	}
}

// TestRun_Folder checks that a server of the user's is not started in the folder
// that is scanned.
func TestRun_Folder(t *testing.T) {
	p := place(t)
	var mu sync.Mutex
	got := map[string]string{}
	list := func(_ context.Context, target upstream.Target, _ upstream.Options) (upstream.Listing, error) {
		mu.Lock()
		defer mu.Unlock()
		got[target.Name] = target.Dir
		return upstream.Listing{}, nil
	}
	Run(t.Context(), clients.Find(p), Options{StartProject: true, Home: p.Home, List: list})
	want := map[string]string{"mail": p.Home, "web": p.Home, "dead": p.Home, "team": p.Project}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

// TestChoose checks which of several entries for one server is started, and
// what is said if none is.
func TestChoose(t *testing.T) {
	entry := func(name string, change func(*clients.Server)) clients.Server {
		s := clients.Server{Name: name, Client: clients.Cursor, Scope: clients.User, File: "/f"}
		change(&s)
		return s
	}
	gone := entry("gone", func(s *clients.Server) { s.Launch.Dir = "/no/such/folder" })
	off := entry("off", func(s *clients.Server) { s.Disabled = true })
	project := entry("project", func(s *clients.Server) { s.Scope = clients.Project })
	unset := entry("unset", func(s *clients.Server) { s.Launch.Missing = []string{"TOKEN"} })
	input := entry("input", func(s *clients.Server) { s.Launch.Missing = []string{"input:key"} })
	folder := entry("folder", func(s *clients.Server) { s.Launch.Missing = []string{"workspaceFolder"} })
	good := entry("good", func(*clients.Server) {})
	tests := []struct {
		name    string
		entries []clients.Server
		project bool
		want    string // the entry started, or what is said
	}{
		{"the-good-one", []clients.Server{gone, off, project, unset, good}, false, "good"},
		{"project-asked-for", []clients.Server{off, project}, true, "project"},
		{"project", []clients.Server{project}, false, "a project brings it along: /f"},
		{"off", []clients.Server{off}, true, "switched off in Cursor"},
		{"gone", []clients.Server{gone, off}, false, "the folder it starts in is gone: /no/such/folder"},
		{"unset", []clients.Server{unset}, false, "it needs TOKEN, which is not set here"},
		{"input", []clients.Server{input}, false, `Cursor asks for "key" when it starts it`},
		{"folder", []clients.Server{folder}, false, "it starts in a project"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			entry, stop := choose(tt.entries, Options{StartProject: tt.project})
			if entry != nil {
				got = entry.Name
			} else {
				got = stop.Problem
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRun_Jobs checks that no more servers are asked at once than allowed.
func TestRun_Jobs(t *testing.T) {
	var found clients.Found
	for i := range 12 {
		found.Servers = append(found.Servers, clients.Server{
			Name: fmt.Sprint(i), Scope: clients.User, Launch: clients.Launch{Command: fmt.Sprint(i)},
		})
	}
	var now, most atomic.Int32
	list := func(context.Context, upstream.Target, upstream.Options) (upstream.Listing, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		time.Sleep(2 * time.Millisecond)
		return upstream.Listing{}, nil
	}
	r := Run(t.Context(), found, Options{Jobs: 3, List: list})
	if got := most.Load(); got > 3 || got < 2 {
		t.Errorf("%d servers were asked at once, want up to 3", got)
	}
	if r.Summary.Listed != 12 || r.Servers[11].Name != "11" {
		t.Errorf("listed %d, the last is %q; want 12 in order", r.Summary.Listed, r.Servers[11].Name)
	}
}

func TestFailed(t *testing.T) {
	exit := exec.Command("sh", "-c", "exit 3").Run()
	tests := []struct {
		name          string
		err           error
		status        Status
		problem, hint string
	}{
		{"login", upstream.ErrLogin, Login, "wants a login", "log in through Claude Code"},
		{"not-found", &exec.Error{Name: "x", Err: exec.ErrNotFound}, Failed, "no command x-mcp", "correct the entry in /f"},
		{"no-such-path", &fs.PathError{Op: "fork/exec", Path: "/x", Err: fs.ErrNotExist}, Failed, "no command x-mcp", "install it"},
		{"not-executable", &fs.PathError{Op: "fork/exec", Path: "/x", Err: fs.ErrPermission}, Failed, "may not be executed", "chmod +x"},
		{"time-out", context.DeadlineExceeded, Failed, "no answer within 20s", "--timeout 60s"},
		{"interrupted", context.Canceled, Failed, "interrupted", ""},
		{"exit", fmt.Errorf("the server stopped: %w", exit), Failed, "it stopped: exit status 3", "run it by hand, see its entry in /f"},
		{"other", errors.New("it answered HTTP 500"), Failed, "HTTP 500", "is it an MCP server?"},
	}
	server := &clients.Server{Client: clients.ClaudeCode, File: "/f", Transport: clients.Stdio, Command: "x-mcp"}
	server.Launch.Command = "x-mcp"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := failed(server, upstream.Listing{}, annotary.E(annotary.CodeConnect, "x failed", tt.err), Options{}.withDefaults())
			if o.Status != tt.status || !strings.Contains(o.Problem, tt.problem) || !strings.Contains(o.Hint, tt.hint) {
				t.Errorf("got %+v, want %s, %q, %q", o, tt.status, tt.problem, tt.hint)
			}
		})
	}
}

// TestContradicted checks that only what is derived with the confidence of a
// contradiction speaks against a server's word.
func TestContradicted(t *testing.T) {
	declared := annotary.Claim{Hint: annotary.ReadOnly, Value: annotary.Yes, By: annotary.FromDeclared}
	derived := annotary.Claim{Hint: annotary.ReadOnly, Value: annotary.No, By: annotary.FromDerived, Why: "it deletes"}
	for _, tt := range []struct {
		confidence float64
		want       bool
	}{{annotary.ContradictionConfidence, true}, {annotary.ContradictionConfidence - 0.01, false}} {
		derived.Confidence = tt.confidence
		got := contradicted(&annotary.Tool{Name: "x"}, "s", []annotary.Claim{declared, derived})
		if (got != nil) != tt.want {
			t.Errorf("at confidence %v: got %v, want a contradiction: %v", tt.confidence, got, tt.want)
		}
	}
}

func TestNext(t *testing.T) {
	listed := func(name string, tools, annotated, contradicted int, args ...string) Server {
		return Server{Name: name, Outcome: Outcome{Status: Listed}, Tools: tools, Annotated: annotated, Contradictions: contradicted, args: args}
	}
	other := func(s Status) Server { return Server{Name: "o", Outcome: Outcome{Status: s}} }
	tests := []struct {
		name    string
		servers []Server
		want    string
	}{
		{"nothing", nil, "annotary tools -- npx -y @modelcontextprotocol/server-everything"},
		{"all-said", []Server{listed("a", 2, 2, 0, "a-mcp", "x y")}, "annotary tools -- a-mcp 'x y'"},
		{"most-unsaid", []Server{listed("a", 2, 1, 0, "a"), listed("b", 9, 1, 0, "b")}, "annotary lint -- b"},
		{"contradiction-first", []Server{listed("a", 2, 2, 1, "https://a.example/mcp"), listed("b", 9, 1, 0, "b")}, "annotary lint https://a.example/mcp"},
		{"secrets-cannot-be-typed", []Server{listed("a", 9, 0, 3), listed("b", 2, 1, 0, "b")}, "annotary lint -- b"},
		{"project", []Server{listed("a", 1, 1, 0, "a"), other(NotStarted)}, "annotary scan --project"},
		{"all-failed", []Server{other(Failed)}, "annotary scan --timeout 60s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := next(&Report{Servers: tt.servers}).Command; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
