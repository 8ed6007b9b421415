package upstream

import (
	"net/http"
	"sync"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// paramHeaders remembers which arguments of which tool are repeated in headers
// (x-mcp-header), for clients that send none themselves.
type paramHeaders struct {
	mu    sync.RWMutex
	tools map[string][]paramHeader
}

type paramHeader struct {
	path []string // from the arguments to the value
	name string
}

// describe adds the headers a modern server checks against the body.
func (s *Server) describe(h http.Header, m *rpc.Message) {
	if v, ok := m.Version(); ok {
		h[rpc.HeaderVersion] = []string{v}
	}
	h[rpc.HeaderMethod] = []string{m.Method}
	target, ok := m.Target()
	if !ok {
		return
	}
	h[rpc.HeaderName] = []string{rpc.EncodeHeader(target)}
	if m.Method != "tools/call" {
		return
	}
	s.params.mu.RLock()
	defer s.params.mu.RUnlock()
	for _, p := range s.params.tools[target] {
		if v, ok := headerValue(strict.Get(m.Arguments(), p.path...)); ok {
			h[rpc.HeaderParam+p.name] = []string{rpc.EncodeHeader(v)}
		}
	}
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

// learn reads the tools of a tools/list result.
func (p *paramHeaders) learn(result []byte) {
	found := map[string][]paramHeader{}
	for _, tool := range strict.Elements(strict.Get(result, "tools")) {
		name, _ := strict.Text(strict.Get(tool, "name"))
		found[name] = annotatedParams(strict.Get(tool, "inputSchema"), nil, nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tools == nil {
		p.tools = map[string][]paramHeader{}
	}
	for name, params := range found {
		p.tools[name] = params
	}
}

// annotatedParams finds x-mcp-header in the properties of a schema. Only what
// is reachable through properties alone counts.
func annotatedParams(schema []byte, path []string, out []paramHeader) []paramHeader {
	for name, prop := range strict.Members(strict.Get(schema, "properties")) {
		at := append(path[:len(path):len(path)], name)
		if header, ok := strict.Text(strict.Get(prop, "x-mcp-header")); ok && header != "" {
			out = append(out, paramHeader{at, http.CanonicalHeaderKey(header)})
		}
		out = annotatedParams(prop, at, out)
	}
	return out
}
