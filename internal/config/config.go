// Package config reads annotary.yaml, the one file an operator writes.
//
// [Config] is the reference: the doc comments of its fields, their names and
// their defaults are what docs/configuration.md is made of. Reading is strict.
// A key we do not know is an error that guesses what was meant, a value of the
// wrong kind is an error, and every error says file, line and column.
//
// [Load] gives a validated value or an error and touches nothing live, so a
// reload is: load, build beside the old, swap. [Set] changes one value in the
// text of a file and leaves every other byte as it was.
//
// It reads the mcpServers file of a client as it is, too. It does not connect
// to anything, and does not know what the values are used for.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/annotary/annotary"
)

// FileName is the name the configuration has unless told otherwise.
const FileName = "annotary.yaml"

// Config is the whole of annotary.yaml. Every key may be left out.
type Config struct {
	// Listen is the address the gateway serves streamable HTTP on. Anything
	// but a loopback address lets other machines in.
	Listen string `yaml:"listen" default:"127.0.0.1:7337"`
	// Hosts are the names by which clients may call the gateway, besides
	// localhost and loopback addresses. A request for another name is refused:
	// it came through a name that somebody else points at this machine. A "*"
	// allows every name.
	Hosts []string `yaml:"hosts"`
	// Origins are the web origins whose pages may call the gateway, besides
	// loopback ones, like https://inspector.example.com.
	Origins []string `yaml:"origins"`
	// PublicURL is the URL by which clients reach the gateway, without a path.
	// Access tokens must be meant for an address below it. If empty, the
	// address it listens on.
	PublicURL string `yaml:"public_url"`
	// TLS has the gateway speak HTTPS itself.
	TLS TLS `yaml:"tls"`
	// Identity says who may call, and how callers prove who they are. If left
	// out, everybody who reaches the gateway is the local user, and it listens
	// on loopback addresses only.
	Identity Identity `yaml:"identity"`
	// Operator is where operators of other machines look at the gateway and
	// change it. On this machine commands need none of it.
	Operator Operator `yaml:"operator"`
	// Scopes are what callers must have, by server, or by SERVER/TOOL, in which
	// * stands for anything. They matter only where calls are judged.
	Scopes map[string][]string `yaml:"scopes"`
	// ScopesByClass are what callers must have for tools of a class: read,
	// write or destructive.
	ScopesByClass map[string][]string `yaml:"scopes_by_class"`
	// OnMissingScope is what becomes of a tool for which the caller lacks a
	// scope: hide (it is not there), or challenge (it is listed, and a call is
	// answered with the scope to ask the issuer for).
	OnMissingScope MissingScope `yaml:"on_missing_scope" default:"hide"`
	// Data is the folder that holds what the gateway keeps: its socket, its
	// keys, its state. A relative path starts at the folder of this file. If
	// empty, the folder "annotary" in $XDG_DATA_HOME, or what the operating
	// system has in its place (~/.local/share on Linux).
	Data Text `yaml:"data"`
	// State says where the gateway keeps what must survive it.
	State State `yaml:"state"`
	// Servers are the MCP servers behind the gateway, by name. The server
	// NAME is reached at /mcp/s/NAME.
	Servers map[string]Server `yaml:"servers"`
	// Preset names the rules that judge calls: relaxed, careful or strict. With
	// off there are none of these: then policies alone judge, and if there are
	// none either, nothing does: what clients and servers say passes unchanged,
	// and nothing is recorded.
	Preset Preset `yaml:"preset" default:"careful"`
	// Rules are your own, in place of a preset. What no rule permits is
	// refused; rules: {} refuses everything.
	Rules *Rules `yaml:"rules"`
	// Policies are files of Cedar policies, judged beside the rules. A
	// relative path starts at the folder of this file.
	Policies []Text `yaml:"policies"`
	// Profiles are sets of callers with servers and rules of their own, by
	// name. In rules, profile:NAME means that the caller is in it.
	Profiles map[string]Profile `yaml:"profiles"`
	// Observe has policies decide and record, and block nothing, until a day.
	Observe *Observe `yaml:"observe"`
	// Audit says what is recorded of calls, and what becomes of it.
	Audit Audit `yaml:"audit"`
	// OnStoreLoss says what happens to calls while the store of the gateway
	// does not answer: refuse, or allow-reads, which lets those happen that
	// can change nothing, reach nothing outside and bring nothing into the
	// conversation, and keeps their entries on the local disk until the store
	// is back.
	OnStoreLoss StoreLoss `yaml:"on_store_loss" default:"refuse"`
	// Approvals say how people are asked about calls.
	Approvals Approvals `yaml:"approvals"`
	// Page is where people answer questions in a browser, while calls are judged.
	// What it and webhook say counts from the start of a gateway to its end.
	Page Page `yaml:"page"`
	// Webhook has another program ask people, such as a chat.
	Webhook Webhook `yaml:"webhook"`
	// Limits bound what clients and servers may cost the gateway.
	Limits Limits `yaml:"limits"`
	// Timeouts bound how long the gateway waits.
	Timeouts Timeouts `yaml:"timeouts"`
}

// Server is one MCP server: a command that speaks over standard input and
// output, or a URL.
type Server struct {
	// Command is the program to start. Exactly one of command and url is set.
	Command Text `yaml:"command"`
	// Args are the arguments of the command.
	Args []Text `yaml:"args"`
	// Env is added to the environment of the command. The command sees
	// nothing else of the gateway's environment but what a program needs to
	// start (PATH, HOME and their like).
	Env map[string]Secret `yaml:"env"`
	// Cwd is the working directory of the command. A relative path starts at
	// the folder of this file. If empty, the working directory of the client
	// that came through annotary stdio, else that of the gateway.
	Cwd Text `yaml:"cwd"`
	// URL is the address of a server that speaks HTTP.
	URL Text `yaml:"url"`
	// Headers are sent with every request to the URL. The token of a client
	// is never sent on.
	Headers map[string]Secret `yaml:"headers"`
	// Instance says who shares one running command: shared (everybody),
	// per-principal (each principal and working directory has its own) or
	// per-session (each session has its own).
	Instance Instance `yaml:"instance" default:"per-principal"`
	// BelieveHints takes the server at its word where nobody contradicts it.
	// Otherwise a hint counts only where you vouch for it in overrides. If left
	// out, it is not believed, unless that was said while the gateway ran.
	BelieveHints *bool `yaml:"believe_hints"`
	// Overrides are your word on the hints of tools, by name or by a pattern
	// in which * stands for anything.
	Overrides map[string]Override `yaml:"overrides"`
	// Narrow says which argument of a tool tells that a call only reads, by
	// name or pattern.
	Narrow map[string]Narrow `yaml:"narrow"`
	// Methods are names or patterns of MCP methods to let through that the
	// gateway does not know. It matters only where calls are judged.
	Methods []string `yaml:"methods"`
	// Confine says whether the command is kept out of the data folder, where the
	// system has a way (on), or not (off). A command that must be off is one that
	// gains the rights of another user, such as sudo or rootless podman.
	Confine Switch `yaml:"confine" default:"on"`
	// Validate holds the arguments of calls that may change something against
	// the tool's input schema before they are judged. See docs/execution.md.
	Validate Switch `yaml:"validate" default:"on"`
	// Lanes has calls that may change something reach the server one after the
	// other. See docs/execution.md.
	Lanes Switch `yaml:"lanes" default:"on"`
	// Disabled leaves the server out without deleting what is written here.
	Disabled bool `yaml:"disabled"`
	// Timeouts of this server alone. What is left out is as in timeouts.
	Timeouts ServerTimeouts `yaml:"timeouts"`
}

// Believed reports whether the file takes the server at its word.
func (s *Server) Believed() bool { return s.BelieveHints != nil && *s.BelieveHints }

// Limits bound what clients and servers may cost the gateway.
type Limits struct {
	// Request is the largest message a client may send.
	Request Size `yaml:"request" default:"4MiB"`
	// Response is the largest message a server may send.
	Response Size `yaml:"response" default:"16MiB"`
	// Header is the largest set of HTTP headers a client may send.
	Header Size `yaml:"header" default:"32KiB"`
	// Depth is how deep arrays and objects of a message may nest.
	Depth int `yaml:"depth" default:"128"`
	// Sessions is how many legacy sessions may be open at once.
	Sessions int `yaml:"sessions" default:"20000"`
	// Streams is how many streams (legacy GET, subscriptions/listen) may be
	// open at once.
	Streams int `yaml:"streams" default:"20000"`
	// CallsPerPrincipal is how many calls of one principal may be in flight.
	CallsPerPrincipal int `yaml:"calls_per_principal" default:"1024"`
}

// Timeouts bound how long the gateway waits.
type Timeouts struct {
	// Header is how long a client may take to send the headers of a request.
	Header Duration `yaml:"header" default:"10s"`
	// Body is how long a client may take to send the body of a request.
	Body Duration `yaml:"body" default:"30s"`
	// Write is how long a client may take to read what it is sent, each time
	// something is written.
	Write Duration `yaml:"write" default:"30s"`
	// Idle is how long a connection without a request stays open.
	Idle Duration `yaml:"idle" default:"2m"`
	// Session is how long a legacy session without a request or an open
	// stream is kept.
	Session Duration `yaml:"session" default:"1h"`
	// Connect is how long opening a connection to a URL may take.
	Connect Duration `yaml:"connect" default:"10s"`
	// Start is how long a command may take until it answers for the first
	// time. Package runners download on their first start.
	Start Duration `yaml:"start" default:"60s"`
	// Probe is how long a command may be silent to the first question of a
	// modern client (server/discover) before it is offered the handshake of
	// the legacy era as well, to find out which of the two it speaks.
	Probe Duration `yaml:"probe" default:"2s"`
	// Call is how long a server may be silent on a request before the gateway
	// gives up on it.
	Call Duration `yaml:"call" default:"5m"`
	// KeepAlive is after how much silence a stream to a client carries a
	// comment, so that nobody in between takes it for dead.
	KeepAlive Duration `yaml:"keep_alive" default:"15s"`
	// Unused is how long a command keeps running that no client uses, and a
	// gateway that annotary stdio started.
	Unused Duration `yaml:"unused" default:"10m"`
	// Stop is how long a command may take to end after its input was closed,
	// before it is killed.
	Stop Duration `yaml:"stop" default:"3s"`
	// Shutdown is how long calls in flight may take to finish when the
	// gateway stops.
	Shutdown Duration `yaml:"shutdown" default:"10s"`
}

// ServerTimeouts are the time-outs that may differ between servers.
type ServerTimeouts struct {
	// Connect is how long opening a connection to the URL may take.
	Connect Duration `yaml:"connect"`
	// Start is how long the command may take until it answers for the first
	// time.
	Start Duration `yaml:"start"`
	// Call is how long the server may be silent on a request.
	Call Duration `yaml:"call"`
	// Stop is how long the command may take to end.
	Stop Duration `yaml:"stop"`
}

// Default is the configuration of an empty file.
func Default() *Config {
	c, err := parse("", nil, noEnv)
	if err != nil {
		panic("config: the defaults are invalid: " + err.Error())
	}
	return c
}

// Find returns the path of the configuration: annotary.yaml in dir, else in
// the user's configuration folder. It is an error if there is neither.
func Find(dir string) (string, error) {
	places := []string{filepath.Join(dir, FileName)}
	if home, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(home, "annotary", FileName))
	}
	for _, path := range places {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", annotary.E(annotary.CodeConfig, "cannot read "+path, err)
		}
	}
	return "", annotary.E(annotary.CodeConfig, "no configuration found", fs.ErrNotExist).
		WithHint("write " + strings.Join(places, " or ") + ", or name a file with --config")
}

// Load reads a configuration: annotary.yaml, or the JSON file of a client
// with its mcpServers (VS Code: servers) and what [Ours] holds beside it. The
// result is validated.
func Load(path string) (*Config, error) { return load(path, os.LookupEnv) }

// LoadData reads of a configuration only where its data and the key of its log
// are. Whoever asks a running gateway needs no more, and need not have the variables with the
// servers' secrets.
func LoadData(path string) (*Config, error) {
	src, err := read(path)
	if err != nil {
		return nil, err
	}
	if ours, err := readBeside(path); err != nil {
		return nil, err
	} else if ours != nil {
		path, src = Ours(path), ours
	}
	d, root, err := open(path, src, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	if n := lookup(root, "data"); n != nil {
		c.Data = d.text(n, "data")
	}
	if n := lookup(root, "audit", "key"); n != nil {
		c.Audit.Key = d.text(n, "audit.key")
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, c.settle(filepath.Dir(path))
}

func read(path string) ([]byte, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, annotary.E(annotary.CodeConfig, fmt.Sprintf("cannot read the configuration %s", path), err).
			WithHint("does the file exist, and may this user read it?")
	}
	return src, nil
}

// Parse reads a configuration from memory. The name stands in errors, decides
// whether the text is YAML or JSON, and gives relative paths their folder.
func Parse(name string, src []byte) (*Config, error) { return parse(name, src, os.LookupEnv) }

func noEnv(string) (string, bool) { return "", false }
