package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/http/pprof"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/internal/cli"
)

// A role is one process that stands in the middle or at the end.
type role struct {
	addr, counter, upstream, revision string

	durable bool          // the log is in the embedded engine
	writes  bool          // the tool is one that writes
	takes   time.Duration // as long as the server takes to answer a call
}

func listen(addr string, h http.Handler) error {
	return (&http.Server{Addr: addr, Handler: h}).ListenAndServe()
}

// serveCounter tells whoever asks how many bytes this process has allocated,
// and where its time goes (go tool pprof http://ADDR/debug/pprof/profile).
func serveCounter(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/allocs", pprof.Handler("allocs").ServeHTTP)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(s)
		_, _ = w.Write(strconv.AppendUint(nil, s[0].Value.Uint64(), 10))
	})
	go http.Serve(l, mux) //nolint:errcheck // ends with the process
	return nil
}

// transport is tuned for one host with many calls at once.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 2048, 2048
	t.DisableCompression = true
	return t
}

// buffers spares the ReverseProxy its 32 KB for every answer.
type buffers struct{ sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.Pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.Pool.Put(&p) }

func (r role) serveReverseProxy() error {
	target, err := url.Parse(r.upstream)
	if err != nil {
		return err
	}
	return listen(r.addr, &httputil.ReverseProxy{
		Rewrite:    func(q *httputil.ProxyRequest) { q.SetURL(target) },
		Transport:  transport(),
		BufferPool: &buffers{},
	})
}

// serveSDK puts the SDK's server in front and one session of its client
// behind. Arguments stay raw; everything else goes through the SDK's types.
func (r role) serveSDK(ctx context.Context) error {
	var behind mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: r.upstream, HTTPClient: &http.Client{Transport: transport()}, DisableStandaloneSSE: true,
	}
	if r.upstream == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		behind = &mcp.CommandTransport{Command: exec.Command(self, "role", "stdio")}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, behind, &mcp.ClientSessionOptions{ProtocolVersion: r.revision})
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		server.AddTool(tool, func(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{Name: q.Params.Name, Arguments: q.Params.Arguments})
		})
	}
	return listen(r.addr, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: r.revision == modern}))
}

// serveAnnotary runs "annotary serve", and nothing beside it but the counter.
func (r role) serveAnnotary(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "annotary-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server := "{url: " + strconv.Quote(r.upstream) + "}"
	if r.upstream == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		server = "{command: " + strconv.Quote(self) + ", args: [role, stdio]}"
	}
	file := filepath.Join(dir, "annotary.yaml")
	text := fmt.Sprintf("listen: %q\ndata: %q\npreset: off\nservers:\n  bench: %s\n", r.addr, dir, server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	s := &cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if code := cli.Run(ctx, s, []string{"serve", "--config", file}); code != 0 {
		return fmt.Errorf("annotary serve ended with %d", code)
	}
	return nil
}
