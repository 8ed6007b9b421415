package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// conn is a way to ask a server: one question at a time is enough to list.
type conn interface {
	// ask sends a request and returns the response, which may be an error.
	ask(ctx context.Context, method string, params []byte) (rpc.Message, error)
	notify(ctx context.Context, method string, params []byte) error
	close()
}

// List asks one server for everything it says about itself and its tools. It
// calls no tool. A command is started for it and ended afterwards.
func List(ctx context.Context, t Target, opts Options) (Listing, error) {
	opts = opts.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	l := &lister{target: t, opts: opts}
	defer l.end()
	err := l.connect(ctx)
	if err == nil {
		err = l.list(ctx)
	}
	l.end()
	if err != nil {
		return l.out, explain(ctx, t, opts, err)
	}
	return l.out, nil
}

// explain says to a person why a server could not be listed.
func explain(ctx context.Context, t Target, opts Options, err error) error {
	name := t.Name
	if name == "" {
		name = rpc.Address(t.URL) + t.Command
	}
	switch {
	case errors.Is(err, ErrLogin):
		return annotary.E(annotary.CodeConnect, fmt.Sprintf("%s wants a login", name), err).WithHint(hint(err))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return annotary.E(annotary.CodeConnect, fmt.Sprintf("%s did not answer within %s", name, opts.Timeout), err).
			WithHint(hint(ctx.Err()))
	default:
		return annotary.E(annotary.CodeConnect, fmt.Sprintf("%s could not be asked for its tools: %v", name, err), err).
			WithHint(hint(err))
	}
}

// lister is one run of List.
type lister struct {
	target Target
	opts   Options
	conn   conn
	out    Listing
}

func (l *lister) connect(ctx context.Context) error {
	switch {
	case l.target.Command != "" && l.target.URL != "":
		return errors.New("it has both a command and a URL")
	case l.target.Command != "":
		return l.connectCommand(ctx)
	case l.target.URL != "":
		return l.connectURL(ctx)
	}
	return errors.New("it has neither a command nor a URL")
}

func (l *lister) end() {
	if l.conn == nil {
		return
	}
	l.conn.close()
	if c, ok := l.conn.(*pipeConn); ok {
		l.out.Stderr = c.proc.stderr.String()
		l.out.Warnings = append(l.out.Warnings, c.warnings()...)
	}
	l.conn = nil
}

func (l *lister) warn(format string, args ...any) {
	l.out.Warnings = append(l.out.Warnings, fmt.Sprintf(format, args...))
}

// discovered reads the result of server/discover.
func (l *lister) discovered(m rpc.Message) bool {
	result := m.Result()
	var version string
	for _, raw := range strict.Elements(strict.Get(result, "supportedVersions")) {
		if v, _ := strict.Text(raw); v == rpc.Modern || (version == "" && rpc.IsModern(v)) {
			version = v
		}
	}
	if version == "" {
		return false
	}
	l.out.Era, l.out.Version = EraModern, version
	info := strict.Get(result, "_meta", rpc.MetaServer)
	if info == nil {
		info = strict.Get(result, "serverInfo")
	}
	l.introduced(result, info)
	return true
}

// initialized reads the result of initialize.
func (l *lister) initialized(m rpc.Message) error {
	if f := m.Fault(); f != nil {
		return fmt.Errorf("initialize: %w", f)
	}
	l.out.Era = EraLegacy
	l.out.Version, _ = strict.Text(strict.Get(m.Result(), "protocolVersion"))
	l.introduced(m.Result(), strict.Get(m.Result(), "serverInfo"))
	return nil
}

func (l *lister) introduced(result, info []byte) {
	l.out.Server.Name, _ = strict.Text(strict.Get(info, "name"))
	l.out.Server.Version, _ = strict.Text(strict.Get(info, "version"))
	l.out.Instructions, _ = strict.Text(strict.Get(result, "instructions"))
	l.out.Capabilities = strict.Get(result, "capabilities")
}

// list reads all pages of tools.
func (l *lister) list(ctx context.Context) error {
	cursor, seen := []byte(nil), map[string]bool{}
	for range l.opts.MaxPages {
		m, err := l.conn.ask(ctx, "tools/list", l.listParams(cursor))
		if err != nil {
			return fmt.Errorf("tools/list: %w", err)
		}
		if f := m.Fault(); f != nil {
			if f.Code == rpc.CodeMethodNotFound && strict.Get(l.out.Capabilities, "tools") == nil {
				return nil // it has no tools and says so
			}
			return fmt.Errorf("tools/list: %w", f)
		}
		l.page(m.Result())
		cursor = strict.Get(m.Result(), "nextCursor")
		if strict.KindOf(cursor) != strict.String {
			return nil
		}
		if seen[string(cursor)] {
			l.warn("its pages of tools go in a circle; the rest was left out")
			return nil
		}
		seen[string(cursor)] = true
	}
	l.warn("it has over %d pages of tools; the rest was left out", l.opts.MaxPages)
	return nil
}

func (l *lister) page(result []byte) {
	l.out.Pages = append(l.out.Pages, result)
	for i, raw := range strict.Elements(strict.Get(result, "tools")) {
		tool, err := annotary.ParseTool(raw)
		if err != nil {
			l.warn("tool %d of page %d was left out: %v", i+1, len(l.out.Pages), err)
			continue
		}
		tool.Server = l.target.Name
		l.out.Tools = append(l.out.Tools, tool)
	}
}

func (l *lister) listParams(cursor []byte) []byte {
	var params []byte
	if l.out.Era == EraModern {
		params = append(append(params, `{"_meta":`...), clientMeta(l.out.Version)...)
	}
	if cursor != nil {
		params = append(params, "{,"[min(len(params), 1)])
		params = append(append(params, `"cursor":`...), cursor...)
	}
	if params != nil {
		params = append(params, '}')
	}
	return params
}

// clientMeta is the _meta every modern request carries.
func clientMeta(version string) []byte {
	return []byte(`{"` + rpc.MetaVersion + `":` + string(strict.Quote(version)) +
		`,"` + rpc.MetaClient + `":` + clientInfo + `,"` + rpc.MetaCapabilities + `":{}}`)
}

// clientInfo is what we call ourselves.
const clientInfo = `{"name":"annotary","version":"1"}`

func discoverParams() []byte { return []byte(`{"_meta":` + string(clientMeta(rpc.Modern)) + `}`) }

func initializeParams() []byte {
	return []byte(`{"protocolVersion":"` + rpc.Legacy + `","capabilities":{},"clientInfo":` + clientInfo + `}`)
}
