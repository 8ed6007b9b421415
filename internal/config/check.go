package config

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
)

// check finds what is wrong with values that are each well formed.
func (d *decoder) check(c *Config, root *yaml.Node) {
	d.checkListen(root, "listen", c.Listen)
	d.checkState(&c.State, root)
	d.checkAudit(&c.Audit, root)
	d.checkApprovals(&c.Approvals, root)
	d.checkPage(c, root)
	d.checkWebhook(&c.Webhook, root)
	for name, s := range c.Servers {
		d.checkServer(name, s, root)
	}
	d.checkIdentity(c, root)
	d.checkScopeRules(c, root)
	d.checkModes(c, root)
}

// checkListen wants an address that can be listened on.
func (d *decoder) checkListen(root *yaml.Node, key, address string) {
	if _, port, err := net.SplitHostPort(address); err != nil || !isPort(port) {
		d.at(root, strings.Split(key, "."), "write an address and a port, like 127.0.0.1:7337", "%s is not an address: %q", key, address)
	}
}

func (d *decoder) checkServer(name string, s Server, root *yaml.Node) {
	path := func(rest ...string) []string { return append([]string{"servers", name}, rest...) }
	if why := badName(name); why != "" {
		d.at(root, path(), "", "a server cannot be called %q: %s", name, why)
	}
	command, addr := s.Command.written != "", s.URL.written != ""
	switch {
	case command && addr:
		d.at(root, path("url"), "remove one of them", "servers.%s has both a command and a url", name)
	case command:
		d.unused(root, path("headers"), len(s.Headers), "a url")
	case addr:
		d.unused(root, path("args"), len(s.Args), "a command")
		d.unused(root, path("env"), len(s.Env), "a command")
		d.unused(root, path("cwd"), len(s.Cwd.written), "a command")
		d.checkURL(root, path("url"), s.URL)
	default:
		d.at(root, path(), "give it a command, or a url", "servers.%s has neither a command nor a url", name)
	}
	for k, v := range s.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v.Value(), "\x00") {
			d.at(root, path("env", k), "", "servers.%s.env.%s cannot be a variable of an environment", name, k)
		}
	}
	for k, v := range s.Headers {
		if !rpc.IsHeaderName(k) || strings.ContainsFunc(v.Value(), isHeaderBreak) {
			d.at(root, path("headers", k), "", "servers.%s.headers.%s cannot be an HTTP header", name, k)
		}
	}
	d.checkWords(&s, root, path)
}

// checkWords finds what can be no word on a tool, whatever tools there are.
func (d *decoder) checkWords(s *Server, root *yaml.Node, path func(...string) []string) {
	for tools, o := range s.Overrides {
		var claims []annotary.Claim
		for n, v := range o.Hints() {
			claims = append(claims, annotary.Claim{Hint: n, Value: annotary.ValueOf(v), By: annotary.FromOperator})
		}
		if _, err := annotary.Resolve(annotary.Known{Claims: claims}); err != nil {
			d.at(root, path("overrides", tools), "remove one of them", "%v", err)
		}
	}
	for tools, n := range s.Narrow {
		if err := n.Rule().Check(); err != nil {
			d.at(root, path("narrow", tools), "docs/narrowing.md shows how a rule is written", "%v", err)
		}
	}
}

func (d *decoder) unused(root *yaml.Node, path []string, n int, want string) {
	if n > 0 && !d.loose {
		d.at(root, path, "remove it", "%s means something only with %s", strings.Join(path, "."), want)
	}
}

func (d *decoder) checkURL(root *yaml.Node, path []string, t Text) {
	u, err := url.Parse(t.Value())
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		d.at(root, path, "write http:// or https:// and a host", "%s is not the address of a server: %q", strings.Join(path, "."), t)
	} else if u.User != nil {
		d.at(root, path, "put the credentials into headers", "%s holds a user name", strings.Join(path, "."))
	}
}

// at adds a problem at the node a path leads to, or the nearest above it.
func (d *decoder) at(root *yaml.Node, path []string, hint, format string, args ...any) {
	n := root
	for i := range path {
		if m := lookup(root, path[:i+1]...); m != nil {
			n = m
		}
	}
	d.add(n.Line, n.Column, hint, format, args...)
}

// badName says why a name cannot stand in /mcp/s/NAME.
func badName(name string) string {
	switch {
	case name == "" || name == "." || name == "..":
		return "a name is needed"
	case len(name) > 128:
		return "a name has at most 128 bytes"
	case strings.ContainsAny(name, "/\\?#"):
		return `a name holds no / \ ? or #`
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "a name holds only what can be printed"
	}
	return ""
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == s
}

func isHeaderBreak(r rune) bool { return r == '\r' || r == '\n' || r == 0 }

// settle makes paths absolute: dir is the folder of the file.
func (c *Config) settle(dir string) error {
	data := c.Data.value
	if data == "" {
		data = "~/" + dataFolder(runtime.GOOS)
		if xdg := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
			data = filepath.Join(xdg, "annotary")
		}
	}
	var err error
	if c.Data.value, err = absolute(dir, data); err != nil {
		return err
	}
	for i := range c.Policies {
		if c.Policies[i].value, err = absolute(dir, c.Policies[i].value); err != nil {
			return err
		}
	}
	for _, p := range append(c.State.paths(), &c.TLS.Certificate, &c.TLS.Key, &c.TLS.ClientCA) {
		if p.value == "" {
			continue
		}
		if p.value, err = absolute(dir, p.value); err != nil {
			return err
		}
	}
	for name, s := range c.Servers {
		if s.Cwd.value == "" {
			continue
		}
		if s.Cwd.value, err = absolute(dir, s.Cwd.value); err != nil {
			return err
		}
		c.Servers[name] = s
	}
	return c.settleAudit(dir)
}

func dataFolder(goos string) string {
	switch goos {
	case "darwin":
		return "Library/Application Support/annotary"
	case "windows":
		return "AppData/Local/annotary"
	}
	return ".local/share/annotary"
}

func absolute(dir, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", annotary.E(annotary.CodeConfig, "the home folder is not known", err).
				WithHint("set HOME, or write the path out")
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Abs(path)
}
