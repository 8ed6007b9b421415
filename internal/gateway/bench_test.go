package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// oblivious is a log that keeps the last entry.
type oblivious struct {
	mu   sync.Mutex
	last []byte
}

func (l *oblivious) Append(_ context.Context, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last[:0], line...)
	return nil
}

// BenchmarkCall takes a read through the whole line, among few tools and many.
func BenchmarkCall(b *testing.B) {
	for _, tools := range []int{10, 100_000} {
		b.Run(fmt.Sprint(tools), func(b *testing.B) {
			var defs strings.Builder
			for i := range tools {
				fmt.Fprintf(&defs, `,{"name":"get_%d","inputSchema":{"type":"object"}}`, i)
			}
			s := &worker{tools: "[" + defs.String()[1:] + "]", do: func(*http.Request, string, int) string { return done }}
			srv := httptest.NewServer(s)
			defer srv.Close()
			up, err := upstream.New(upstream.Target{Name: "db", URL: srv.URL}, upstream.ServerOptions{})
			if err != nil {
				b.Fatal(err)
			}
			g := gateway.New(up)
			defer g.Wait()
			defer g.Replace()
			g.Use(&gateway.Judge{Policies: careful(b), Log: &oblivious{}, Stances: map[string]catalog.Stance{"db": {Overrides: []catalog.Override{{
				Tools: "get_*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true, annotary.OpenWorld: false, annotary.Egress: false},
			}}}}})
			text := strings.Repeat("x", 1000)
			var took []time.Duration
			one := func(i int) {
				raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_7","arguments":{"text":%q,"n":%d},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, i, text, i)
				m, err := rpc.Parse([]byte(raw), strict.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				begun := time.Now()
				a, err := g.Call(b.Context(), &gateway.Call{
					Principal: annotary.Principal{Tenant: "default", Subject: "ann"}, Server: "db", Era: upstream.EraModern, Message: m,
					Header: http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_7"}, "Mcp-Protocol-Version": {"2026-07-28"}},
				})
				if err != nil || codeOf(a.Body) != "" {
					b.Fatalf("%s, %v", a.Body, err)
				}
				a.Close()
				took = append(took, time.Since(begun))
			}
			one(0) // the server is asked for its tools
			took = nil
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				one(i)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs/op")
		})
	}
}
