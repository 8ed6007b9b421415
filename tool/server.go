package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/shape"
)

// Options configure a server. The zero value is good.
type Options struct {
	// Instructions tell a model how to use the server.
	Instructions string
	// Logger gets every failure, with the id its caller was given, and every
	// call of a destructive tool, with its user. If nil, [slog.Default].
	Logger *slog.Logger
	// Timeout ends calls. If zero, a minute; if negative, none.
	Timeout time.Duration
	// Limit is the most characters of a result. If zero, [shape.DefaultLimit];
	// if negative, none.
	Limit int
	// Store remembers keyed writes and spent drafts. If nil, a [Memory]: with
	// more than one process, use one they share.
	Store Store
	// DraftKey seals drafts: 32 secret bytes. If nil, random ones, and drafts
	// end with the process.
	DraftKey []byte
	// DraftTTL is how long a draft can be confirmed. If zero, ten minutes.
	DraftTTL time.Duration
}

// A Server is a set of tools, declared once, from which each caller gets the
// part its scopes allow. Declare all tools before serving.
type Server struct {
	name, version string
	opts          Options
	seal          sealer

	mu      sync.Mutex
	entries []*entry
	parts   map[string]*part // by granted tools
}

// New makes a server without tools. It panics where the environment makes the
// SDK leave out hints, or on a draft key that is not 32 bytes long.
func New(name, version string, opts *Options) *Server {
	if strings.Contains(os.Getenv("MCPGODEBUG"), "hintomitempty=1") {
		panic("tool: MCPGODEBUG=hintomitempty=1 would hide hints from clients: unset it")
	}
	s := &Server{name: name, version: version, parts: map[string]*part{}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.Default()
	}
	if s.opts.Timeout == 0 {
		s.opts.Timeout = time.Minute
	}
	if s.opts.Limit == 0 {
		s.opts.Limit = shape.DefaultLimit
	}
	if s.opts.Store == nil {
		s.opts.Store = &Memory{}
	}
	if s.opts.DraftTTL == 0 {
		s.opts.DraftTTL = 10 * time.Minute
	}
	s.seal = newSealer(s.opts.DraftKey)
	return s
}

// A Registry is what tools are added to: a [Server] or a [Group] of it.
type Registry interface {
	register(e *entry) error
	server() *Server
}

func (s *Server) server() *Server { return s }

func (s *Server) register(e *entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts) > 0 {
		return errors.New("serving has begun")
	}
	if slices.ContainsFunc(s.entries, func(o *entry) bool { return o.tool.Name == e.tool.Name }) {
		return errors.New("there is one of that name")
	}
	s.entries = append(s.entries, e)
	return nil
}

// A Group is the tools of one scope.
type Group struct {
	home  *Server
	scope string
}

// Group returns a group for tools that exist only for callers with the scope:
// to others they are not listed and not known. It panics on an empty scope,
// which everybody would have.
func (s *Server) Group(scope string) *Group {
	if scope == "" {
		panic("tool: a group needs a scope; tools for everybody are added to the server")
	}
	return &Group{s, scope}
}

func (g *Group) server() *Server { return g.home }

func (g *Group) register(e *entry) error {
	e.scope = g.scope
	return g.home.register(e)
}

// For returns the MCP server a caller with these scopes gets.
func (s *Server) For(scopes ...string) *mcp.Server { return s.part(grants(scopes)).server }

// All returns the MCP server with every tool.
func (s *Server) All() *mcp.Server { return s.part(func(string) bool { return true }).server }

func grants(scopes []string) func(scope string) bool {
	return func(scope string) bool { return scope == "" || slices.Contains(scopes, scope) }
}

// part returns the server with the granted tools. There are as many as there
// are different grants, each made once.
func (s *Server) part(granted func(scope string) bool) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	var mine []*entry
	var key strings.Builder
	for i, e := range s.entries {
		if granted(e.scope) {
			mine = append(mine, e)
			fmt.Fprintf(&key, "%d,", i)
		}
	}
	p := s.parts[key.String()]
	if p == nil {
		p = newPart(s.build(mine))
		s.parts[key.String()] = p
	}
	return p
}

func (s *Server) build(mine []*entry) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: s.name, Version: s.version}, s.sdkOptions(mine))
	for _, e := range mine {
		srv.AddTool(e.tool, e.handle)
		if v := e.view; v != nil {
			srv.AddResource(v.resource(), v.read)
		}
	}
	return srv
}

func (s *Server) sdkOptions(mine []*entry) *mcp.ServerOptions {
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if slices.ContainsFunc(mine, func(e *entry) bool { return e.view != nil }) {
		caps.AddExtension(viewExtension, nil)
	}
	o := &mcp.ServerOptions{Instructions: s.opts.Instructions, Capabilities: caps}
	if slices.ContainsFunc(s.entries, func(e *entry) bool { return e.scope != "" }) {
		// Another caller's list may differ, so nobody may share this one.
		o.SetCacheable = func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }
	}
	return o
}

// read serves the view's page.
func (v *View) read(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: v.URI, MIMEType: viewMIME, Text: v.HTML, Meta: v.meta()},
	}}, nil
}

// Stdio serves every tool on standard input and output: whoever started the
// process owns what it can do. It returns nil once the input ends.
func (s *Server) Stdio(ctx context.Context) error {
	return s.All().Run(ctx, &mcp.StdioTransport{})
}

// HTTP serves clients of every protocol generation over HTTP. Scopes are those
// of the bearer token that [auth.RequireBearerToken], around this handler, has
// verified; without a token there are none. Requests from other origins'
// web pages are refused.
func (s *Server) HTTP() http.Handler {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var scopes []string
		if token := auth.TokenInfoFromContext(r.Context()); token != nil {
			scopes = token.Scopes
		}
		s.part(grants(scopes)).ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(h)
}

// firstModern is the first protocol version without sessions.
const firstModern = "2026-07-28"

// sessionTimeout ends sessions of older clients that have gone silent.
const sessionTimeout = 30 * time.Minute

// A part is the server that callers with equal grants share. Sessions of older
// clients belong to their part: a token with other scopes does not find them,
// and its client begins a new one.
type part struct {
	server         *mcp.Server
	modern, legacy http.Handler
}

func newPart(srv *mcp.Server) *part {
	get := func(*http.Request) *mcp.Server { return srv }
	return &part{
		server: srv,
		// A modern client that hangs up has cancelled.
		modern: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}),
		legacy: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{SessionTimeout: sessionTimeout}),
	}
}

// ServeHTTP sends each generation to the handler that can serve it in full. A
// modern request always names its version.
func (p *part) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") >= firstModern {
		p.modern.ServeHTTP(w, r)
		return
	}
	p.legacy.ServeHTTP(w, r)
}
