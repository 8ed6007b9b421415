package upstream

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// paramHeaders remembers which arguments of which tool are repeated in headers
// (x-mcp-header), for clients that send none themselves.
type paramHeaders struct {
	mu    sync.RWMutex
	tools map[string]toolParams
}

// toolParams are the arguments of one tool that are repeated in headers, or
// what is wrong with how its definition says so.
type toolParams struct {
	params []paramHeader
	wrong  string
}

type paramHeader struct {
	path []string // from the arguments to the value
	name string
}

// describe adds the headers a modern server checks against the body. A tool
// whose definition misuses x-mcp-header must not be called, says the
// specification.
func (s *Server) describe(h http.Header, m *rpc.Message) error {
	if v, ok := m.Version(); ok {
		h[rpc.HeaderVersion] = []string{rpc.EncodeHeader(v)}
	}
	h[rpc.HeaderMethod] = []string{rpc.EncodeHeader(m.Method)}
	target, ok := m.Target()
	if !ok {
		return nil
	}
	h[rpc.HeaderName] = []string{rpc.EncodeHeader(target)}
	if m.Method != "tools/call" {
		return nil
	}
	s.params.mu.RLock()
	defer s.params.mu.RUnlock()
	tool := s.params.tools[target]
	if tool.wrong != "" {
		return &rpc.Fault{Code: rpc.CodeInvalidParams, Message: "this tool cannot be called: in its definition, " + tool.wrong}
	}
	for _, p := range tool.params {
		if v, ok := headerValue(strict.Get(m.Arguments(), p.path...)); ok {
			h[rpc.HeaderParam+p.name] = []string{rpc.EncodeHeader(v)}
		}
	}
	return nil
}

// headerValue is how an argument is written in a header.
func headerValue(raw []byte) (string, bool) {
	switch strict.KindOf(raw) {
	case strict.String:
		return strict.Text(raw)
	case strict.True, strict.False, strict.Number:
		return string(raw), true
	default:
		return "", false
	}
}

// Learn takes in what a listing of the server told: which era it speaks, and
// which arguments of its tools are repeated in headers.
func (s *Server) Learn(l *Listing) {
	for _, page := range l.Pages {
		s.params.learn(page)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era = l.Era
}

// Era returns which era the server speaks, where that is known.
func (s *Server) Era() Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// learn reads the tools of a tools/list result.
func (p *paramHeaders) learn(result []byte) {
	found := map[string]toolParams{}
	for _, tool := range strict.Elements(strict.Get(result, "tools")) {
		name, _ := strict.Text(strict.Get(tool, "name"))
		var t toolParams
		t.read(strict.Get(tool, "inputSchema"), nil)
		found[name] = t
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tools == nil {
		p.tools = map[string]toolParams{}
	}
	maps.Copy(p.tools, found)
}

// read finds x-mcp-header in the properties of a schema. Only what is
// reachable through properties alone counts.
func (t *toolParams) read(schema []byte, path []string) {
	for name, prop := range strict.Members(strict.Get(schema, "properties")) {
		at := append(slices.Clip(path), name)
		if raw := strict.Get(prop, "x-mcp-header"); raw != nil {
			t.add(raw, prop, at)
		}
		t.read(prop, at)
	}
}

// add notes one argument, or what is wrong with it. The rules are the
// specification's: a header name, used once, for a text, an integer or a
// boolean.
func (t *toolParams) add(raw, prop []byte, at []string) {
	header, _ := strict.Text(raw)
	kind, _ := strict.Text(strict.Get(prop, "type"))
	header = http.CanonicalHeaderKey(header)
	used := func(p paramHeader) bool { return p.name == header }
	where := strings.Join(at, ".")
	switch {
	case !rpc.IsHeaderName(header):
		t.wrong = fmt.Sprintf("the x-mcp-header of %q is no name of a header", where)
	case kind != "string" && kind != "integer" && kind != "boolean":
		t.wrong = fmt.Sprintf("%q has an x-mcp-header and is neither a string nor an integer nor a boolean", where)
	case slices.ContainsFunc(t.params, used):
		t.wrong = fmt.Sprintf("two arguments have the x-mcp-header %q", header)
	default:
		t.params = append(t.params, paramHeader{at, header})
	}
}
