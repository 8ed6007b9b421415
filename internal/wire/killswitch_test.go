package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	store "github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
	"github.com/annotary/annotary/policy"
)

// sleepy is a server over HTTP of either era whose tool sleep does not answer
// before it is cancelled.
type sleepy struct {
	events           bool // it sleeps in a stream
	begun, cancelled atomic.Int32
}

func (s *sleepy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	method, _ := strict.Text(strict.Get(body, "method"))
	result := `{"resultType":"complete","content":[{"type":"text","text":"awake"}]}`
	switch method {
	case "initialize":
		w.Header().Set(rpc.HeaderSession, "s1")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sleepy","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "tools/list":
		result = `{"resultType":"complete","tools":` + listed + `}`
	case "notifications/cancelled":
		s.cancelled.Add(1)
		fallthrough
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
		return
	case "tools/call":
		if name, _ := strict.Text(strict.Get(body, "params", "name")); name == "sleep" {
			s.sleep(w, r)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, strict.Get(body, "id"), result)
}

func (s *sleepy) sleep(w http.ResponseWriter, r *http.Request) {
	if s.events {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"yawn\"}}\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	s.begun.Add(1)
	<-r.Context().Done()
	s.cancelled.Add(1)
}

// judging puts a judge that allows everything over a gateway. All tools read, or
// none does: reads are shared and tried again.
func judging(t *testing.T, g *gate, reads bool) {
	t.Helper()
	set, err := policy.New(policy.Options{Files: []policy.File{{Name: "all.cedar", Text: `permit(principal, action, resource);`}}})
	if err != nil {
		t.Fatal(err)
	}
	// One tool must not wait for another: it is asked about it while it runs.
	stance := catalog.Stance{Unordered: true, Overrides: []catalog.Override{
		{Tools: "*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: reads}},
	}}
	j := &gateway.Judge{
		Policies: set, Log: &store.Log{}, Kills: gateway.NewKills(store.NewBucket()), Stances: map[string]catalog.Stance{},
	}
	for name := range g.gateway.Servers() {
		j.Stances[name] = stance
	}
	g.gateway.Use(j)
	t.Cleanup(j.Wait)
}

// TestKillSwitch: a call under way is cancelled at the server and its caller
// told the operator's note; so is the next one; others go on. Servers are
// commands and URLs of both eras.
func TestKillSwitch(t *testing.T) {
	t.Run("reads", func(t *testing.T) { testKillSwitch(t, true) })
	t.Run("writes", func(t *testing.T) { testKillSwitch(t, false) })
}

func testKillSwitch(t *testing.T, reads bool) {
	plain, events, old := &sleepy{}, &sleepy{events: true}, &sleepy{events: true}
	servers := []*upstream.Server{}
	for name, h := range map[string]http.Handler{"plain": plain, "events": events, "old": old} {
		up := httptest.NewServer(h)
		t.Cleanup(up.Close)
		servers = append(servers, server(t, upstream.Target{Name: name, URL: up.URL}, upstream.ServerOptions{}))
	}
	for _, name := range []string{"pipe", "oldpipe", "other"} {
		servers = append(servers, fixtureOf(t, "tools", name, upstream.ServerOptions{}))
	}
	g := start(t, wire.Options{}, servers...)
	judging(t, g, reads)
	var took []time.Duration
	for _, tt := range []struct {
		name   string
		legacy bool
		begun  func(call func(string) string) bool
		told   func(call func(string) string) bool
	}{
		{"plain", false, plain.has, plain.heard},
		{"events", false, events.has, events.heard},
		{"old", true, old.has, func(func(string) string) bool { return old.cancelled.Load() > 1 }}, // closed, and told
		{"pipe", false, pipeHas, pipeHeard},
		{"oldpipe", true, pipeHas, pipeHeard},
	} {
		t.Run(tt.name, func(t *testing.T) {
			message, header := modernCall, []string(nil)
			if tt.legacy {
				message, header = legacyCall, []string{rpc.HeaderSession, g.open(tt.name)}
			}
			call := func(tool string) string {
				_, body := g.post(tt.name, message(tool), header...)
				return body
			}
			answer := make(chan string, 1)
			go func() { answer <- call("sleep") }()
			eventually(t, "the call reaches the server", func() bool { return tt.begun(call) })
			killed := time.Now()
			if _, err := g.gateway.Kill(t.Context(), gateway.Kill{Server: tt.name, Tool: "sl*", Note: "see incident 12"}, &annotary.Principal{Subject: "ann"}); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-answer:
				took = append(took, time.Since(killed))
				if !strings.Contains(got, `"code":"killed"`) || !strings.Contains(got, "see incident 12") || !strings.Contains(got, "unknown") {
					t.Errorf("the caller was told %s", got)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the caller was not told")
			}
			eventually(t, "the server hears of it", func() bool { return tt.told(call) })
			if got := call("sleep"); !strings.Contains(got, `"code":"killed"`) || strings.Contains(got, "unknown") {
				t.Errorf("the next call: %s", got)
			}
			if got := call("begun"); strings.Contains(got, "killed") {
				t.Errorf("another tool: %s", got)
			}
			if _, got := g.post("other", modernCall("begun")); strings.Contains(got, "killed") {
				t.Errorf("another server: %s", got)
			}
		})
	}
	slices.Sort(took)
	t.Logf("told after %v", took)
	if len(took) > 0 && took[len(took)/2] > time.Second {
		t.Errorf("callers are told after %v", took)
	}
}

func (s *sleepy) has(func(string) string) bool   { return s.begun.Load() > 0 }
func (s *sleepy) heard(func(string) string) bool { return s.cancelled.Load() > 0 }

func pipeHas(call func(string) string) bool { return strings.Contains(call("begun"), `"text":"1"`) }
func pipeHeard(call func(string) string) bool {
	return strings.Contains(call("heard"), "notifications/cancelled")
}
