package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// TestApprovals_soak: many open questions, answered a hundred a second; each yes
// is used exactly once, and soon. ANNOTARY_APPROVALS sets how
// many; `make soak-approvals` asks 1,000 and holds the time.
func TestApprovals_soak(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("ANNOTARY_APPROVALS"))
	full := err == nil
	if !full {
		n = 60
	}
	s := newSoak(t)
	for i := range n {
		if got := s.call(i); got != string(annotary.CodeApproval) {
			t.Fatalf("call %d: %s", i, got)
		}
	}
	open, err := s.gateway.Desk().List(t.Context(), false)
	if err != nil || len(open) != n {
		t.Fatalf("%d questions are open: %v", len(open), err)
	}
	var wg sync.WaitGroup
	tick := time.NewTicker(10 * time.Millisecond) // 100 a second
	defer tick.Stop()
	for _, a := range open {
		<-tick.C
		wg.Go(func() { s.approve(a) })
	}
	wg.Wait()
	for i := range min(n, 100) { // who tries again finds the yes used
		if got := s.call(i); got != string(annotary.CodeApproval) {
			t.Errorf("call %d again: %q", i, got)
		}
	}
	if len(s.took) != n || len(s.deeds) != n {
		t.Errorf("%d of %d were accepted, %d happened", len(s.took), n, len(s.deeds))
	}
	for args, times := range s.deeds {
		if times != 1 {
			t.Errorf("%s happened %d times", args, times)
		}
	}
	slices.Sort(s.took)
	p50, p99 := s.took[len(s.took)/2], s.took[len(s.took)*99/100]
	t.Logf("%d approvals at 100 answers a second: from answer to acceptance p50 %s, p99 %s", n, p50, p99)
	if limit := 250 * time.Millisecond; full && p99 > limit {
		t.Errorf("p99 is %s, over %s", p99, limit)
	}
}

// A soak is a gateway with its store on disk, before a server that counts.
type soak struct {
	t       *testing.T
	gateway *gateway.Gateway

	mu    sync.Mutex
	deeds map[string]int
	took  []time.Duration
}

func newSoak(t *testing.T) *soak {
	s := &soak{t: t, deeds: map[string]int{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	path := filepath.Join(dir, "annotary.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "data: %q\napprovals: {max: 10000}\nservers:\n  db: {url: %q}\n", dir, srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := newDaemon(path, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	s.gateway = d.gateway
	return s
}

func (s *soak) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	result := `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	switch method, _ := strict.Text(strict.Get(body, "method")); method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"drop","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.mu.Lock()
		s.deeds[string(strict.Get(body, "params", "arguments"))]++
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, strict.Get(body, "id"), result)
}

// call calls the tool and returns the code it is refused with.
func (s *soak) call(i int) string {
	m, err := rpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop","arguments":{"n":%d},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, i), strict.Limits{})
	if err != nil {
		s.t.Error(err)
		return ""
	}
	a, err := s.gateway.Call(s.t.Context(), &gateway.Call{
		Principal: identity.Local(), Server: "db", Era: upstream.EraModern, Message: m,
		Header: http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"drop"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Accept": {"application/json"}},
	})
	if err != nil {
		s.t.Error(err)
		return "error"
	}
	defer a.Close()
	body := a.Body
	for a.Stream != nil && strict.Get(body, "result") == nil { // it waits for its turn
		it, err := a.Stream.Next(s.t.Context())
		if err != nil {
			s.t.Errorf("call %d: %v", i, err)
			return "error"
		}
		body = it.Msg
	}
	code, _ := strict.Text(strict.Get(body, "result", "_meta", gateway.MetaDecision, "code"))
	if code == "" && !strings.Contains(string(body), `"done"`) {
		s.t.Errorf("call %d: %s", i, body)
	}
	return code
}

// approve answers a question and repeats the call.
func (s *soak) approve(a *approval.Approval) {
	who := identity.Local()
	i, err := strconv.Atoi(strings.TrimSpace(a.Prompt.Arguments[0].Value))
	if err != nil {
		s.t.Error(err)
		return
	}
	began := time.Now()
	if _, err := s.gateway.Answer(s.t.Context(), a.ID, approval.Answer{Yes: true, By: approval.PersonOf(&who), Channel: "cli"}); err != nil {
		s.t.Error(err)
		return
	}
	if s.call(i) == "" {
		s.mu.Lock()
		s.took = append(s.took, time.Since(began))
		s.mu.Unlock()
	}
}
