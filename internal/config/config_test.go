package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// compareValues lets go-cmp look into the values of this package.
var compareValues = cmp.AllowUnexported(Text{}, Secret{})

func TestParse(t *testing.T) {
	src := `
listen: "[::1]:8080"
data: state
limits: {request: 1MiB, sessions: 7}
timeouts:
  call: 1m30s
servers:
  files:
    command: npx
    args: [-y, "@scope/server", 8080, "${HOME}", "$${env:X}"]
    env: {TOKEN: "Bearer ${env:TOKEN}", PORT: 3000}
    cwd: sub
    instance: shared
  web:
    url: https://example.com/mcp
    headers: {Authorization: "Bearer ${env:TOKEN}"}
    timeouts: {call: 5s}
  off: {command: x, args: ["${env:MISSING}"], disabled: true}
`
	got, err := parse("/etc/annotary/annotary.yaml", []byte(src), env("TOKEN", "s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Listen = "[::1]:8080"
	want.Data = Text{"state", "/etc/annotary/state"}
	want.Audit.Key.value, want.Audit.Checkpoints.value = "/etc/annotary/state/audit.key", "/etc/annotary/state/checkpoints.txt"
	want.Limits.Request, want.Limits.Sessions = 1<<20, 7
	want.Timeouts.Call = Duration(90 * time.Second)
	want.Servers = map[string]Server{
		"files": {
			Command: TextOf("npx"),
			Args: []Text{
				TextOf("-y"), TextOf("@scope/server"), TextOf("8080"), TextOf("${HOME}"),
				{"$${env:X}", "${env:X}"},
			},
			Env: map[string]Secret{
				"TOKEN": {Text{"Bearer ${env:TOKEN}", "Bearer s3cret"}}, "PORT": {TextOf("3000")},
			},
			Cwd:      Text{"sub", "/etc/annotary/sub"},
			Instance: Shared, Confine: On, Validate: On, Lanes: On,
		},
		"web": {
			URL:      TextOf("https://example.com/mcp"),
			Headers:  map[string]Secret{"Authorization": {Text{"Bearer ${env:TOKEN}", "Bearer s3cret"}}},
			Instance: PerPrincipal, Confine: On, Validate: On, Lanes: On,
			Timeouts: ServerTimeouts{Call: Duration(5 * time.Second)},
		},
		"off": {Command: TextOf("x"), Args: []Text{{"${env:MISSING}", ""}}, Instance: PerPrincipal, Confine: On, Validate: On, Lanes: On, Disabled: true},
	}
	if diff := cmp.Diff(want, got, compareValues); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestDefaults reads the empty ways to write a configuration.
func TestDefaults(t *testing.T) {
	for _, src := range []string{"", "# nothing\n", "---\n", "{}", "servers:\nlimits:\n", "\ufefflimits: {}\r\n"} {
		got, err := parse(FileName, []byte(src), env())
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if diff := cmp.Diff(Default(), got, compareValues); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", src, diff)
		}
	}
	if got := Default().Limits.Request; got != 4<<20 {
		t.Errorf("default of limits.request = %v, want 4MiB", got)
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct{ name, src, want, hint string }{
		{"unknown key", "servers:\n  a:\n    comand: x\n    url: http://h\n",
			`3:5: unknown key "comand" in servers.a`, `did you mean "command"?`},
		{"far from any key", "servers: {a: {command: x, timeouts: {zzzzzz: 1}}}", `1:38: unknown key "zzzzzz" in servers.a.timeouts`, "known here: call, connect, start, stop"},
		{"state url", "state: {url: 'http://h'}", `1:14: state.url names no server: "http://h"`, "write nats:// or tls:// and a host"},
		{"state credentials in url", "state: {url: 'nats://u:p@h'}", "1:14: state.url holds credentials", "put them into a file and name it in state.credentials"},
		{"state without url", "state: {credentials: f}", "1:22: state.credentials means something only with state.url", "remove it"},
		{"issuer in the clear", "public_url: https://h\nidentity: {issuers: {'http://login.example.com': {}}}", `2:50: "http://login.example.com" cannot be an issuer`, "write the issuer as its tokens name it: https:// and a host"},
		{"issuer without a name of ours", "listen: 0.0.0.0:1\nidentity: {issuers: {'https://login.example.com': {}}}", "1:1: tokens must be meant for this gateway, and public_url does not say how it is called", "write the URL by which clients reach it, like https://mcp.example.com"},
		{"public url with a path", "public_url: https://h/mcp", `1:13: public_url cannot be "https://h/mcp"`, "write https:// and a host, without a path"},
		{"key without hash", "identity: {keys: {ci: {scopes: [a]}}}", "1:23: identity.keys.ci has no hash", "make one with 'annotary keys new ci'"},
		{"scope with a space", "preset: careful\nidentity: {scopes: ['a b']}", `2:20: "a b" cannot be a scope`, "a scope is letters, digits and signs without spaces"},
		{"certificate alone", "tls: {certificate: c.pem}", "1:6: tls wants a certificate and its key", "name both files"},
		{"certificates of nobody", "identity: {certificates: {}}", "1:26: nobody may sign the certificates of clients", "name the authorities in tls.client_ca"},
		{"authority for nothing", "tls: {certificate: c, key: k, client_ca: a}", "1:42: nothing says what the certificates of clients prove", "write identity: {certificates: {}}"},
		{"class that is none", "preset: careful\nscopes_by_class: {delete: [a]}", `2:27: there is no class "delete"`, "write read, write or destructive"},
		{"missing scope", "on_missing_scope: refuse", "1:19: on_missing_scope: must be hide or challenge", ""},
		{"operators and clients together", "preset: careful\nlisten: 127.0.0.1:7\noperator: {listen: '127.0.0.1:7'}\nidentity: {keys: {ci: {hash: 'sha256:" + strings.Repeat("0", 63) + "1'}}}", "3:20: MCP clients are served on 127.0.0.1:7", "choose another port"},
		{"operators where nothing is judged", "preset: off\noperator: {listen: '127.0.0.1:7'}\nidentity: {keys: {ci: {hash: 'sha256:" + strings.Repeat("0", 63) + "1'}}}", "2:20: nothing says who has which role over the gateway", "write 'preset: careful'"},
		{"state key alone", "state: {url: 'nats://h', key: k}", "1:8: state.cert and state.key go together", "name both, or neither"},
		{"state replicas", "state: {url: 'nats://h', replicas: 2}", "1:36: state.replicas must be 1, 3 or 5", "3 is usual"},
		{"observe without end", "preset: careful\nobserve: {}", "2:10: observe must say until when", "write observe: {until: 2027-01-31}"},
		{"observe for ever", "preset: careful\nobserve: {until: 2999-01-31}", "2:18: observe.until is too far ahead: nothing would be enforced for too long", "choose a day within 92 days; it can be moved later"},
		{"observe nothing", "preset: off\nobserve: {until: 2020-01-31}", "2:10: observe means something only where calls are judged", "write 'preset: careful'"},
		{"profiles for nothing", "preset: off\nprofiles: {a: {users: [b]}}", "2:11: profiles mean something only where calls are judged", "write 'preset: careful'"},
		{"profile without rules", "profiles: {a: {users: [b], preset: off}}", "1:36: a profile has a preset or rules, or those of everybody", "remove it, or write rules"},
		{"profile twice ruled", "preset: careful\nprofiles: {a: {users: [b], preset: strict, rules: {}}}", "2:51: the profile a has both a preset and rules", "remove one of them"},
		{"open verdict", "rules: {open: maybe}", `1:15: rules.open: a rule is allow, ask_once, ask, ask_outside or deny, not "maybe"`, ""},
		{"page address", "page: {listen: nowhere}", `1:16: page.listen is not an address: "nowhere"`, "write an address and a port, like 127.0.0.1:7337"},
		{"page for everybody", "page:\n  listen: 0.0.0.0:7338", "2:11: other machines can reach the approval page, and nobody can sign in there", "name an identity provider under page.login, or listen on 127.0.0.1"},
		{"page url", "page: {url: https://h/approvals}", `1:13: page.url cannot be "https://h/approvals"`, "write it like https://approvals.example.com, without a path"},
		{"login of nobody", "page: {login: {client_id: a}}", "1:15: page.login has no issuer", "add the address of the provider"},
		{"login without proof", "page: {login: {issuer: http://h, client_id: a}}", `1:24: page.login.issuer cannot be "http://h"`, "write https:// and a host, as the provider names itself"},
		{"login of no client", "page: {login: {issuer: https://h}}", "1:15: page.login has no client_id", "add what the provider calls this page"},
		{"webhook address", "webhook: {url: h, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}", `1:16: webhook.url is not the address of a server: "h"`, "write http:// or https:// and a host"},
		{"webhook unsigned", "webhook: {url: http://h}", "1:10: webhook.url means something only with a secret, which signs what is sent", "make one with: echo whsec_$(openssl rand -base64 32)"},
		{"webhook secret", "webhook: {secret: MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}", "1:19: webhook.secret does not begin with whsec_", "make one with: echo whsec_$(openssl rand -base64 32)"},
		{"short webhook secret", "webhook: {secret: whsec_MfKQ9r8GKYqrTwjUPD8=}", "1:19: webhook.secret is not whsec_ and the base64 of at least 24 bytes", "make one with: echo whsec_$(openssl rand -base64 32)"},
		{"override against itself", "servers:\n  a: {command: x, overrides: {b: {readOnly: true, destructive: true}}}", "2:34: the operator says a tool is both read-only and destructive", "remove one of them"},
		{"narrow by nothing", "servers:\n  a: {command: x, narrow: {b: {kind: sq, at: /q}}}", `2:31: a narrowing rule is sql, http, action or dry_run, not "sq"`, "docs/narrowing.md shows how a rule is written"},
		{"narrow at nothing", "servers: {a: {command: x, narrow: {b: {kind: sql, at: q}}}}", `1:39: a narrowing rule looks at a JSON Pointer such as /query, not "q"`, "docs/narrowing.md shows how a rule is written"},
		{"missing variable", "servers:\n  a:\n    command: x\n    env:\n      T: ${env:NOPE}\n",
			"5:10: servers.a.env.T: the variable NOPE is not set", "set it in the environment the gateway starts in"},
		{"bad reference", "data: ${env:9}", "1:7: data: ${env:9} does not name a variable", ""},
		{"duration without unit", "timeouts: {call: 30}", "1:18: timeouts.call: not a duration: write a number with a unit, like 30s, 5m or 1h30m", ""},
		{"negative duration", "timeouts: {call: -1s}", "1:18: timeouts.call: a duration must be longer than nothing", ""},
		{"size", "limits: {request: 4 potatoes}", "1:19: limits.request: not a size: write a whole number of bytes, or one with a unit, like 512KiB or 4MiB", ""},
		{"number", "limits: {depth: 1.5}", "1:17: limits.depth must be a whole number from 1 to 2147483647", ""},
		{"zero", "limits: {depth: 0}", "1:17: limits.depth must be a whole number from 1 to 2147483647", ""},
		{"boolean", "servers: {a: {command: x, disabled: maybe}}", "1:37: servers.a.disabled must be true or false", ""},
		{"instance", "servers: {a: {command: x, instance: alone}}", "1:37: servers.a.instance: must be shared, per-principal or per-session", ""},
		{"list", "servers: {a: {command: x, args: -y}}", "1:33: servers.a.args must be a list, not a single value", `write [a, b] or one "- a" on each line`},
		{"mapping", "limits: 3", "1:9: limits must be a mapping, not a single value", "write key: value"},
		{"scalar", "listen: [a]", "1:9: listen must be a single value, not a list", ""},
		{"null text", "data: ~", "1:7: data must be a single value, not nothing", ""},
		{"twice", "listen: a:1\nlisten: a:1\n", `2:1: the key "listen" stands here a second time`, "keep one"},
		{"server twice", "servers: {a: {command: x}, a: {command: x}}", `1:28: the key "a" stands here a second time`, "keep one"},
		{"both", "servers:\n  a: {command: x, url: http://h}\n", "2:24: servers.a has both a command and a url", "remove one of them"},
		{"neither", "servers:\n  a: {}\n", "2:6: servers.a has neither a command nor a url", "give it a command, or a url"},
		{"args with url", "servers: {a: {url: http://h, args: [x]}}", "1:36: servers.a.args means something only with a command", "remove it"},
		{"headers with command", "servers: {a: {command: x, headers: {a: b}}}", "1:36: servers.a.headers means something only with a url", "remove it"},
		{"url", "servers: {a: {url: ftp://h}}", `1:20: servers.a.url is not the address of a server: "ftp://h"`, "write http:// or https:// and a host"},
		{"credentials in url", "servers: {a: {url: http://u:p@h}}", "1:20: servers.a.url holds a user name", "put the credentials into headers"},
		{"header", "servers: {a: {url: http://h, headers: {a b: c}}}", "1:45: servers.a.headers.a b cannot be an HTTP header", ""},
		{"header value", `servers: {a: {url: http://h, headers: {ab: "c\r\nd"}}}`, "1:44: servers.a.headers.ab cannot be an HTTP header", ""},
		{"env", `servers: {a: {command: x, env: {"a=b": c}}}`, "1:40: servers.a.env.a=b cannot be a variable of an environment", ""},
		{"server name", "servers: {a/b: {command: x}}", `1:16: a server cannot be called "a/b": a name holds no / \ ? or #`, ""},
		{"listen", "listen: 7337", `1:9: listen is not an address: "7337"`, "write an address and a port, like 127.0.0.1:7337"},
		{"alias", "data: &x a\nlisten: *x\n", "annotary.yaml has 2 errors", ""},
		{"tag", "data: !!str a\n", "1:7: tags are not read here", "quote the value if it is a text"},
		{"second document", "data: a\n---\ndata: b\n", "2:1: a second document begins here", "keep one"},
		{"list as key", "? [a]\n: b\n", "1:3: a key of the configuration must be a single value, not a list", ""},
		{"syntax", "data: a\n  b: c\n", "2:1: not valid YAML: mapping values are not allowed in this context", "quote texts that hold : # { } [ ] , & * ! | > ' \" % @ or `"},
		{"not a mapping", "hello", "1:1: the configuration must be a mapping, not a single value", "write key: value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse(FileName, []byte(tc.src), env())
			e, ok := errors.AsType[*annotary.Error](err)
			if !ok || e.Code != annotary.CodeConfig {
				t.Fatalf("got %v, want an error of the configuration", err)
			}
			got := strings.TrimPrefix(err.Error(), FileName+":")
			if first, _, _ := strings.Cut(got, "\n"); first != tc.want {
				t.Errorf("got  %s\nwant %s", first, tc.want)
			}
			if e.Hint != tc.hint {
				t.Errorf("hint\ngot  %s\nwant %s", e.Hint, tc.hint)
			}
		})
	}
}

// TestProblemsTogether wants all of them, in the order of the file.
func TestProblemsTogether(t *testing.T) {
	_, err := parse(FileName, []byte("lisen: a:1\ntimeouts:\n  cal: 1s\n  idle: 3\n"), env())
	want := `annotary.yaml has 3 errors
annotary.yaml:1:1: unknown key "lisen" in the configuration (did you mean "listen"?)
annotary.yaml:3:3: unknown key "cal" in timeouts (did you mean "call"?)
annotary.yaml:4:9: timeouts.idle: not a duration: write a number with a unit, like 30s, 5m or 1h30m`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestSecretsDoNotPrint prints a configuration in every way there is.
func TestSecretsDoNotPrint(t *testing.T) {
	src := `
data: /tmp/${env:T}
servers:
  a: {command: "${env:T}", args: ["${env:T}"], env: {A: "${env:T}", B: pa5ted}}
  b: {url: "http://h/${env:T}", headers: {A: pa5ted}}
`
	c, err := parse(FileName, []byte(src), env("T", "s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Servers["a"].Env["A"].Value(); got != "s3cret" {
		t.Fatalf("the variable was not filled in: %q", got)
	}
	js, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(js), fmt.Sprintf("%v", c.Servers), fmt.Sprintf("%+v", c.Servers), fmt.Sprint(c.Data)} {
		if strings.Contains(out, "s3cret") || strings.Contains(out, "pa5ted") {
			t.Errorf("a secret shows: %s", out)
		}
	}
	_, err = parse(FileName, []byte(`servers: {a: {url: "ftp://${env:T}"}}`), env("T", "s3cret"))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a secret shows in an error: %v", err)
	}
}

// TestClientFiles reads the files of clients as they are.
func TestClientFiles(t *testing.T) {
	for _, tc := range []struct{ name, src string }{
		{"mcpServers", `{"mcpServers": {"a b": {"type": "stdio", "command": "npx", "args": ["-y"], "env": {"K": "${K}", "D": "${D:-x}"}, "autoApprove": []}}, "other": 1}`},
		{"servers with comments and tabs", "{\n\t// VS Code\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t\"a b\": {\"command\": \"npx\", \"args\": [\"-y\",], /* , */ \"env\": {\"K\": \"${env:K}\", \"D\": \"x\",},},\n\t},\n}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parse("mcp.json", []byte(tc.src), env("K", "v"))
			if err != nil {
				t.Fatal(err)
			}
			s := got.Servers["a b"]
			if s.Command.Value() != "npx" || len(s.Args) != 1 || s.Env["K"].Value() != "v" || s.Env["D"].Value() != "x" || s.Instance != PerPrincipal {
				t.Errorf("got %+v", s)
			}
		})
	}
	for _, tc := range []struct{ name, src, want string }{
		{"url under another name", `{"mcpServers": {"a": {"serverUrl": "nope"}}}`, `mcp.json:1:36: servers.a.url is not the address of a server: "nope"`},
		{"asks a person", "{\"servers\": {\n  \"a\": {\"command\": \"é\", \"args\": [\"${input:k}\"]}}}", "mcp.json:2:34: servers.a.args[0]: ${input:k} asks a person, which a gateway cannot: use ${env:NAME}"},
		{"no servers", `{"a": 1}`, "mcp.json:1:1: neither mcpServers nor servers is in it"},
		{"not JSON", `{"a": }`, "mcp.json: not valid JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse("mcp.json", []byte(tc.src), env())
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestLoadAndFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "home"))
	if _, err := Find(dir); annotary.CodeOf(err) != annotary.CodeConfig {
		t.Errorf("Find in an empty folder: %v", err)
	}
	path := filepath.Join(dir, FileName)
	if _, err := Load(path); annotary.CodeOf(err) != annotary.CodeConfig {
		t.Errorf("Load of no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("data: here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(dir); err != nil || got != path {
		t.Errorf("Find = %q, %v, want %q", got, err, path)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Data.Value(), filepath.Join(dir, "here"); got != want {
		t.Errorf("data = %q, want %q", got, want)
	}
}

func TestValuesPrint(t *testing.T) {
	for text, want := range map[string]string{"90s": "1m30s", "60m": "1h", "10m": "10m", "1500ms": "1.5s", "1h5s": "1h0m5s"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, d, err, want)
		}
	}
	for text, want := range map[string]string{"4MiB": "4MiB", "2048": "2KiB", "1kB": "1000", "10 KiB": "10KiB", "3B": "3"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, s, err, want)
		}
	}
}

// TestLoadData: whoever only looks for a gateway needs none of the variables its
// servers need.
func TestLoadData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "annotary.yaml")
	text := "data: here\nservers: {s: {url: \"${env:NOT_SET_ANYWHERE}\"}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadData(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Data.Value(), filepath.Join(filepath.Dir(path), "here"); got != want {
		t.Errorf("the data is in %s, want %s", got, want)
	}
	if _, err := Load(path); err == nil {
		t.Error("a gateway could start without the variable")
	}
}
