// Package drive runs the examples' tests through real MCP clients, of both
// protocol generations, over standard input and output and over HTTP, and their
// views in a real browser.
package drive

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Eras are the protocol generations.
var Eras = []string{"2026-07-28", "2025-11-25"}

const asServer = "ANNOTARY_EXAMPLE_AS_SERVER"

// Main lets the test binary be the server that a client starts: the example's
// own main runs then.
func Main(m *testing.M, main func()) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each runs the test with a client of each generation, over each transport. The
// server over HTTP is made anew for each client.
func Each(t *testing.T, handler func() http.Handler, test func(t *testing.T, s *mcp.ClientSession)) {
	for _, era := range Eras {
		t.Run("stdio-"+era, func(t *testing.T) { test(t, Stdio(t, era, nil)) })
		t.Run("http-"+era, func(t *testing.T) { test(t, HTTP(t, handler(), era, nil, nil)) })
	}
}

// Stdio starts the test binary as the server and connects to it.
func Stdio(t *testing.T, era string, o *mcp.ClientOptions, env ...string) *mcp.ClientSession {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), asServer+"=1"), env...)
	return connect(t, &mcp.CommandTransport{Command: cmd}, era, o)
}

// HTTP serves the handler and connects to it with the header.
func HTTP(t *testing.T, h http.Handler, era string, o *mcp.ClientOptions, header http.Header) *mcp.ClientSession {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return connect(t, &mcp.StreamableClientTransport{
		Endpoint: srv.URL, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: with{header}},
	}, era, o)
}

func connect(t *testing.T, transport mcp.Transport, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "example-test", Version: "1"}, o)
	s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

type with struct{ http.Header }

func (w with) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.Header)
	return http.DefaultTransport.RoundTrip(r)
}

// Call calls the tool and fails on a protocol error.
func Call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// Text is all text of a result.
func Text(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, tc.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Names lists the tools.
func Names(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	var names []string
	for def, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, def.Name)
	}
	return names
}

// View reads a view and fails if it is no MCP App.
func View(t *testing.T, s *mcp.ClientSession, uri string) string {
	t.Helper()
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := res.Contents[0].MIMEType, "text/html;profile=mcp-app"; got != want {
		t.Errorf("%s is %s, want %s", uri, got, want)
	}
	return res.Contents[0].Text
}
