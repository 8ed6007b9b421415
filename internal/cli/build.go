package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/confine"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// buildServers makes the servers of a configuration. Those of the last one
// that would come out the same are taken over as they run.
func buildServers(next, last *config.Config, running map[string]*upstream.Server, walls *confine.Walls, log *slog.Logger) ([]*upstream.Server, error) {
	var servers []*upstream.Server
	for name, s := range next.Servers {
		if s.Disabled {
			continue
		}
		if old := running[name]; old != nil && sameServer(next, last, name) {
			servers = append(servers, old)
			continue
		}
		target := targetOf(name, s)
		if s.Confine == config.On {
			target.Walls = walls
		}
		server, err := upstream.New(target, serverOptions(next, s, log))
		if err != nil {
			return nil, annotary.E(annotary.CodeConfig, fmt.Sprintf("server %s: %v", name, err), err).
				WithHint("a URL begins with http:// or https://")
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// sameServer reports whether a server is started and reached the same in both.
// What is said of its tools is not part of that: who accepts a tool must not lose
// a running browser. The limits and time-outs of all are part of each.
func sameServer(next, last *config.Config, name string) bool {
	running := func(s config.Server) config.Server {
		s.BelieveHints, s.Overrides, s.Narrow, s.Methods = nil, nil, nil, nil
		return s
	}
	return reflect.DeepEqual(running(next.Servers[name]), running(last.Servers[name])) &&
		next.Timeouts == last.Timeouts && next.Limits == last.Limits
}

func targetOf(name string, s config.Server) upstream.Target {
	t := upstream.Target{
		Name: name, Command: s.Command.Value(), Dir: s.Cwd.Value(), URL: s.URL.Value(),
		Env: values(s.Env), Header: values(s.Headers),
	}
	for _, arg := range s.Args {
		t.Args = append(t.Args, arg.Value())
	}
	return t
}

func values(secrets map[string]config.Secret) map[string]string {
	out := make(map[string]string, len(secrets))
	for name, s := range secrets {
		out[name] = s.Value()
	}
	return out
}

var sharing = map[config.Instance]upstream.Sharing{
	config.Shared:       upstream.Shared,
	config.PerPrincipal: upstream.PerPrincipal,
	config.PerSession:   upstream.PerSession,
}

func serverOptions(c *config.Config, s config.Server, log *slog.Logger) upstream.ServerOptions {
	return upstream.ServerOptions{
		Sharing:  sharing[s.Instance],
		Connect:  cmp.Or(s.Timeouts.Connect, c.Timeouts.Connect).D(),
		Start:    cmp.Or(s.Timeouts.Start, c.Timeouts.Start).D(),
		Silence:  cmp.Or(s.Timeouts.Call, c.Timeouts.Call).D(),
		Probe:    c.Timeouts.Probe.D(),
		Idle:     c.Timeouts.Unused.D(),
		Stop:     cmp.Or(s.Timeouts.Stop, c.Timeouts.Stop).D(),
		MaxBytes: int(c.Limits.Response),
		Log:      log,
	}
}

// hostsOf are the names by which clients may call: those that are written, and
// that of the public URL.
func hostsOf(c *config.Config) []string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		return append(slices.Clone(c.Hosts), strings.ToLower(u.Hostname()))
	}
	return c.Hosts
}

func wireOptions(c *config.Config, log *slog.Logger) wire.Options {
	return wire.Options{
		Hosts:          hostsOf(c),
		Origins:        c.Origins,
		MaxBody:        int(c.Limits.Request),
		MaxDepth:       c.Limits.Depth,
		MaxHeader:      int(c.Limits.Header),
		MaxInFlight:    c.Limits.CallsPerPrincipal,
		MaxStreams:     c.Limits.Streams,
		Sessions:       session.Limits{Total: c.Limits.Sessions, PerOwner: c.Limits.Sessions, Idle: c.Timeouts.Session.D()},
		ReadHeader:     c.Timeouts.Header.D(),
		ReadBody:       c.Timeouts.Body.D(),
		Write:          c.Timeouts.Write.D(),
		IdleConnection: c.Timeouts.Idle.D(),
		KeepAlive:      c.Timeouts.KeepAlive.D(),
		Log:            log,
	}
}
