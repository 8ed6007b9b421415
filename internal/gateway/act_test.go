package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// patience is how long tests wait for what must come.
const patience = 30 * time.Second

// worker is a server that does what its test says and counts.
type worker struct {
	tools string
	// do is called for every call of a tool, after it was counted; its result
	// is the answer's, none drops the connection.
	do func(r *http.Request, tool string, n int) string

	mu    sync.Mutex
	deeds map[string]int
	now   int // calls at work
	most  int // that were at once
}

const workshop = `[{"name":"read"},{"name":"again"},{"name":"write"},{"name":"drop"},{"name":"lie","annotations":{"readOnlyHint":true,"idempotentHint":true}}]`

// words are the operator's on the tools of the workshop.
var words = []catalog.Override{
	{Tools: "read", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}},
	{Tools: "again", Hints: map[annotary.HintName]bool{annotary.Destructive: false, annotary.Idempotent: true}},
	{Tools: "write", Hints: map[annotary.HintName]bool{annotary.Destructive: false}},
}

const done = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

func (s *worker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	method, _ := strict.Text(strict.Get(body, "method"))
	var result string
	switch method {
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":` + s.tools + `}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`
	case "tools/call":
		tool, _ := strict.Text(strict.Get(body, "params", "name"))
		n := s.begin(tool)
		result = s.do(r, tool, n)
		s.end()
	}
	if result == "" {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, strict.Get(body, "id"), result)
}

func (s *worker) begin(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deeds == nil {
		s.deeds = map[string]int{}
	}
	s.deeds[tool]++
	s.now++
	s.most = max(s.most, s.now)
	return s.deeds[tool]
}

func (s *worker) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

func (s *worker) did(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deeds[tool]
}

func (s *worker) busy() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.most
}

// a desk is a gateway that permits everything, before a worker.
type desk struct {
	*gateway.Gateway
	judge *gateway.Judge
	log   *memory.Log
}

func open(t *testing.T, s *worker, stance catalog.Stance, opts upstream.ServerOptions) *desk {
	t.Helper()
	if s.tools == "" {
		s.tools = workshop
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	up, err := upstream.New(upstream.Target{Name: "db", URL: srv.URL}, opts)
	if err != nil {
		t.Fatal(err)
	}
	log := &memory.Log{}
	d := &desk{gateway.New(up), &gateway.Judge{Policies: only(t, permissive), Stances: map[string]catalog.Stance{"db": stance}, Log: log}, log}
	d.Use(d.judge)
	t.Cleanup(func() { d.Replace(); d.Wait(); d.judge.Wait() })
	return d
}

// do makes a call as somebody and returns its response, read to the end.
func (d *desk) do(ctx context.Context, who string, id int, tool, args string) ([]byte, error) {
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, tool, args)
	m, err := rpc.Parse([]byte(raw), strict.Limits{})
	if err != nil {
		return nil, err
	}
	header := http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}, "Mcp-Protocol-Version": {"2026-07-28"}}
	a, err := d.Call(ctx, &gateway.Call{
		Principal: annotary.Principal{Tenant: "default", Subject: who}, Server: "db", Era: upstream.EraModern, Message: m, Header: header,
	})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	msg := a.Body
	for a.Stream != nil {
		it, err := a.Stream.Next(ctx)
		if err != nil {
			return nil, err
		}
		if msg = it.Msg; it.Final {
			break
		}
	}
	return append([]byte(nil), msg...), nil
}

// trace returns the entries of the log, as "kind result attempt" joined.
func (d *desk) trace(t *testing.T) string {
	t.Helper()
	d.judge.Wait()
	var all []string
	for _, e := range entries(t, d.log) {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %d", e.Kind, e.Result, e.Attempt)))
	}
	return strings.Join(all, ", ")
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// TestDropAfterDeed (S8): a server does the deed and drops the connection, twice.
// Reads and what may be repeated are tried again and succeed; everything else is
// done once, and the answer says that nobody knows.
func TestDropAfterDeed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool  string
		deeds int
		code  annotary.Code
		trace string
	}{
		{"read", 3, "", "decided  0, attempt  2, attempt  3, outcome ok 3"},
		{"again", 3, "", "decided  0, attempt  2, attempt  3, outcome ok 3"},
		{"write", 1, annotary.CodeUnknown, "decided  0, outcome unknown 0"},
		{"drop", 1, annotary.CodeUnknown, "decided  0, outcome unknown 0"},
		{"lie", 1, annotary.CodeUnknown, "decided  0, outcome unknown 0"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			var d *desk
			s := &worker{do: func(_ *http.Request, _ string, n int) string {
				if got := len(entries(t, d.log)); got < n {
					t.Errorf("try %d reached the server and the log has %d entries", n, got)
				}
				if n <= 2 {
					return ""
				}
				return done
			}}
			d = open(t, s, catalog.Stance{Overrides: words}, upstream.ServerOptions{})
			got, err := d.do(t.Context(), "ann", 7, tt.tool, `{}`)
			if err != nil || codeOf(got) != string(tt.code) || string(strict.Get(got, "id")) != "7" {
				t.Errorf("got %s, %v", got, err)
			}
			if unknown := strings.Contains(string(got), "is not known"); unknown != (tt.code != "") {
				t.Errorf("got %s", got)
			}
			if s.did(tt.tool) != tt.deeds {
				t.Errorf("%d deeds, want %d", s.did(tt.tool), tt.deeds)
			}
			if got := d.trace(t); got != tt.trace {
				t.Errorf("the log says: %s", got)
			}
		})
	}
}

// TestDropProperty: whatever is said of a tool and whoever says it, it is done
// more than once only if somebody we rely on vouches that this does no harm, and
// an answer without an error means that the last try succeeded.
func TestDropProperty(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 8))
	repeated := 0
	for range 25 {
		believed, said := r.IntN(2) == 0, map[annotary.HintName]bool{}
		def := `[{"name":"read","annotations":{"title":"T"`
		for n := range annotary.OpenWorld + 1 {
			if r.IntN(2) == 0 {
				def += fmt.Sprintf(`,%q:%v`, n.Wire(), r.IntN(2) == 0)
			}
			if r.IntN(4) == 0 {
				said[n] = r.IntN(2) == 0
			}
		}
		drops := r.IntN(5)
		s := &worker{tools: def + `}}]`, do: func(_ *http.Request, _ string, n int) string {
			if n <= drops {
				return ""
			}
			return done
		}}
		d := open(t, s, catalog.Stance{Believe: believed, Overrides: []catalog.Override{{Tools: "*", Hints: said}}}, upstream.ServerOptions{})
		p, err := d.Predict(t.Context(), &gateway.Question{Server: "db", Tool: "read"})
		if err != nil { // the operator contradicts himself
			continue
		}
		got, err := d.do(t.Context(), "ann", 1, "read", `{}`)
		may := p.Hints.Vouched(annotary.ReadOnly) || p.Hints.Vouched(annotary.Idempotent)
		switch deeds := s.did("read"); {
		case deeds > 1 && !may:
			t.Fatalf("done %d times: %s believed %v, operator %v", deeds, s.tools, believed, said)
		case deeds > 3:
			t.Fatalf("done %d times", deeds)
		case may && deeds != min(drops+1, 3):
			t.Fatalf("done %d times of %d that were lost, and may be repeated", deeds, drops)
		case (err == nil && codeOf(got) == "") != (deeds > drops):
			t.Fatalf("done %d times of %d that were lost: %s, %v", deeds, drops, got, err)
		case deeds > 1:
			repeated++
		}
	}
	if repeated == 0 {
		t.Error("nothing was ever repeated; the test asserts too little")
	}
}

// TestOneAtATime (S8): 50 writes at once arrive one at a time, 50 reads together.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	const many = 50
	var s *worker
	s = &worker{do: func(r *http.Request, tool string, _ int) string {
		if tool == "read" { // nobody goes before everybody is here
			for end := time.Now().Add(patience); time.Now().Before(end) && r.Context().Err() == nil; time.Sleep(time.Millisecond) {
				if _, most := s.busy(); most == many {
					break
				}
			}
		}
		return done
	}}
	d := open(t, s, catalog.Stance{Overrides: words}, upstream.ServerOptions{})
	all := func(tool string) {
		var calls sync.WaitGroup
		for i := range many {
			calls.Go(func() {
				got, err := d.do(t.Context(), "ann", i, tool, fmt.Sprintf(`{"n":%d}`, i))
				if err != nil || codeOf(got) != "" || string(strict.Get(got, "id")) != fmt.Sprint(i) {
					t.Errorf("%s %d: %s, %v", tool, i, got, err)
				}
			})
		}
		calls.Wait()
	}
	all("write")
	if _, most := s.busy(); most != 1 || s.did("write") != many {
		t.Errorf("%d of %d writes at once", most, s.did("write"))
	}
	d.judge.Wait()
	waited := 0
	for _, e := range entries(t, d.log) {
		if e.Kind == audit.Outcome && e.Waited > 0 {
			waited++
		}
	}
	if waited == 0 {
		t.Error("the log says that nobody waited")
	}
	all("read")
	if _, most := s.busy(); most != many {
		t.Errorf("%d reads at once", most)
	}
}

// TestLanesApart: two people do not wait for each other at a URL, nor does
// anybody where the operator says so.
func TestLanesApart(t *testing.T) {
	for name, tt := range map[string]struct {
		stance catalog.Stance
		who    [2]string
	}{
		"people": {catalog.Stance{Overrides: words}, [2]string{"ann", "bob"}},
		"off":    {catalog.Stance{Overrides: words, Unordered: true}, [2]string{"ann", "ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			both := make(chan struct{})
			var here sync.WaitGroup
			here.Add(2)
			s := &worker{do: func(*http.Request, string, int) string { here.Done(); <-both; return done }}
			d := open(t, s, tt.stance, upstream.ServerOptions{})
			go func() { here.Wait(); close(both) }()
			var calls sync.WaitGroup
			for i, who := range tt.who {
				calls.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					if got, err := d.do(ctx, who, i, "write", `{}`); err != nil || codeOf(got) != "" {
						t.Errorf("%s: %s, %v", who, got, err)
					}
				})
			}
			calls.Wait()
		})
	}
}

// TestWaitingIsFree: a call that waits can be given up, and its waiting is not
// held against the server's time.
func TestWaitingIsFree(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := &worker{do: func(_ *http.Request, _ string, n int) string {
		if n == 1 {
			<-release
		}
		time.Sleep(100 * time.Millisecond)
		return done
	}}
	d := open(t, s, catalog.Stance{Overrides: words}, upstream.ServerOptions{Silence: 2 * time.Second})
	var calls sync.WaitGroup
	defer calls.Wait()
	calls.Go(func() {
		if got, err := d.do(t.Context(), "ann", 0, "write", `{}`); err != nil {
			t.Errorf("the first: %s, %v", got, err)
		}
	})
	until(t, "the first is at work", func() bool { return s.did("write") == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := d.do(ctx, "ann", 1, "write", `{}`); left <- err }()
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up heard %v", err)
	}
	close(release)
	for i := range 30 { // the last waits longer than any may take
		calls.Go(func() {
			if got, err := d.do(t.Context(), "ann", i+2, "write", `{}`); err != nil || codeOf(got) != "" {
				t.Errorf("call %d: %s, %v", i, got, err)
			}
		})
	}
	calls.Wait()
	if got := s.did("write"); got != 31 {
		t.Errorf("%d deeds, want 31: the one that was given up must not happen", got)
	}
}
