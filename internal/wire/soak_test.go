package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// many returns how often to do something: the number in the environment, which
// the soaks of the Makefile set, or a smaller one for every day.
func many(t testing.TB, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// children returns the processes this one started, by state.
func children(t testing.TB) map[int]string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]string{}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		if ppid, _ := strconv.Atoi(fields[1]); ppid == os.Getpid() {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			out[pid] = fields[0]
		}
	}
	return out
}

// TestKill_fixture is S5 with a Go program.
func TestKill_fixture(t *testing.T) {
	s := command(t, "pipe", upstream.ServerOptions{})
	kill(t, s, many(t, "ANNOTARY_KILLS", 50), legacyCall("pid"), legacyCall("sleep"))
}

// TestKill_node is S5 with a real server.
func TestKill_node(t *testing.T) {
	script := testenv.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	s := server(t, upstream.Target{Name: "pipe", Command: testenv.Node(t), Args: []string{script, "stdio"}}, upstream.ServerOptions{})
	call := `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`
	sleep := `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":60,"steps":1}}}`
	kill(t, s, 50, call, sleep)
}

// kill kills the child under load, again and again: what is in flight answers
// within a second, the next call works, nothing hangs and no zombie stays.
func kill(t *testing.T, s *upstream.Server, times int, call, sleep string) {
	g := start(t, wire.Options{}, s)
	id := g.open("pipe")
	stop := make(chan struct{})
	var load sync.WaitGroup
	var answered, failed atomic.Int64
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, body := g.post("pipe", call, rpc.HeaderSession, id)
				switch {
				case strings.Contains(body, `"result"`):
					answered.Add(1)
				case strings.Contains(body, "server_stopped"), strings.Contains(body, "server_unreachable"):
					failed.Add(1)
				default:
					t.Errorf("got %q", body)
				}
			}
		})
	}
	var worst time.Duration
	late := 0
	for range times {
		took := killOnce(t, g, id, call, sleep)
		if worst = max(worst, took); took > time.Second {
			late++
		}
	}
	if late > times/20 { // a machine that is busy with other things may be late now and then
		t.Errorf("%d of %d calls in flight took over a second to be told", late, times)
	}
	close(stop)
	load.Wait()
	t.Logf("%d kills: %d calls answered, %d told that the server stopped, slowest of those in flight %s", times, answered.Load(), failed.Load(), worst)
	if n := len(children(t)); n != 1 {
		t.Errorf("%d children are left, want one: %v", n, children(t))
	}
}

// killOnce kills the child while a call is in flight and returns how long that
// call took to answer.
func killOnce(t *testing.T, g *gate, id, call, sleep string) time.Duration {
	t.Helper()
	inFlight := make(chan string, 1)
	go func() {
		_, body := g.post("pipe", sleep, rpc.HeaderSession, id)
		inFlight <- body
	}()
	time.Sleep(20 * time.Millisecond) // it is on its way
	var body string
	var began time.Time
	for body == "" {
		for pid := range children(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		began = time.Now()
		select {
		case body = <-inFlight:
		case <-time.After(5 * time.Second): // it was so late that it reached the next child
		}
	}
	took := time.Since(began)
	if !strings.Contains(body, "server_stopped") {
		t.Errorf("in flight: %q after %s", body, took)
	}
	eventually(t, "the next call works", func() bool {
		_, body := g.post("pipe", call, rpc.HeaderSession, id)
		return strings.Contains(body, `"result"`)
	})
	return took
}

// TestReload is S10: servers are replaced under load, over and over; no call
// fails, and no child of a replaced server stays.
func TestReload(t *testing.T) {
	web := newMirror(t)
	web.reply(`{"jsonrpc":"2.0","id":"c-1","result":{}}`, true)
	makeWeb := func() *upstream.Server {
		return server(t, upstream.Target{Name: "web", URL: web.url}, upstream.ServerOptions{})
	}
	pipe := command(t, "pipe", upstream.ServerOptions{})
	g := start(t, wire.Options{}, pipe, makeWeb())
	stop := make(chan struct{})
	var load sync.WaitGroup
	var calls atomic.Int64
	worker := func(server, body, session string) {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if status, got := g.post(server, body, rpc.HeaderSession, session); status != 200 || !strings.Contains(got, `"result"`) {
					t.Errorf("%s: %d %s", server, status, got)
				}
				calls.Add(1)
			}
		})
	}
	worker("web", modernCall("x"), "")
	worker("web", legacyCall("x"), g.open("web"))
	worker("pipe", modernCall("pid"), "")
	worker("pipe", legacyCall("pid"), g.open("pipe"))
	for n := range many(t, "ANNOTARY_RELOADS", 1000) {
		if n%20 == 0 {
			pipe = command(t, "pipe", upstream.ServerOptions{})
		}
		done := calls.Load()
		g.gateway.Replace(pipe, makeWeb())
		for calls.Load() < done+2 && !t.Failed() {
			time.Sleep(100 * time.Microsecond)
		}
	}
	close(stop)
	load.Wait()
	eventually(t, "only the last server has children", func() bool { return len(children(t)) <= 2 })
	t.Logf("%d calls", calls.Load())
}

// TestIdle_sessions is the first half of S4: idle legacy sessions cost little.
func TestIdle_sessions(t *testing.T) {
	n := many(t, "ANNOTARY_SESSIONS", 1000)
	g := start(t, wire.Options{Sessions: session.Limits{Total: n + 10, PerOwner: n + 10}}, command(t, "pipe", upstream.ServerOptions{}))
	g.open("pipe")
	before, goroutines := memory(), runtime.NumGoroutine()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = g.open("pipe")
	}
	t.Logf("%d idle sessions: %d bytes each", n, (memory()-before)/int64(n))
	answers(t, g)
	for _, id := range ids {
		req, _ := http.NewRequest("DELETE", g.url+"/mcp/s/pipe", nil)
		req.Header.Set(rpc.HeaderSession, id)
		if status := g.status(req); status != 200 {
			t.Fatalf("DELETE: %d", status)
		}
	}
	settles(t, goroutines)
}

// TestIdle_streams is the second half of S4: open listen streams.
func TestIdle_streams(t *testing.T) {
	n := many(t, "ANNOTARY_STREAMS", 500)
	g := start(t, wire.Options{MaxStreams: n + 10}, command(t, "pipe", upstream.ServerOptions{}))
	g.post("pipe", modernCall("pid"))
	before, goroutines := memory(), runtime.NumGoroutine()
	var open sync.WaitGroup
	bodies := make([]io.Closer, n)
	limit := make(chan struct{}, 64)
	for i := range n {
		limit <- struct{}{}
		open.Go(func() {
			defer func() { <-limit }()
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"subscriptions/listen","params":{%s}}`, i, meta)
			res, err := g.client.Do(g.request(t.Context(), "pipe", body))
			if err != nil || res.StatusCode != 200 {
				t.Errorf("stream %d: %v %v", i, res, err)
				return
			}
			bodies[i] = res.Body
		})
	}
	open.Wait()
	if t.Failed() {
		return
	}
	t.Logf("%d streams: %d bytes each, both ends of the connection counted", n, (memory()-before)/int64(n))
	answers(t, g)
	for _, b := range bodies {
		b.Close()
	}
	settles(t, goroutines)
}

// answers checks that calls still get through.
func answers(t *testing.T, g *gate) {
	t.Helper()
	began := time.Now()
	for range 20 {
		if status, body := g.post("pipe", modernCall("pid")); status != 200 || !strings.Contains(body, "result") {
			t.Errorf("%d %s", status, body)
		}
	}
	t.Logf("20 calls in %s", time.Since(began))
}

// settles waits for goroutines to end.
func settles(t *testing.T, want int) {
	t.Helper()
	eventually(t, "goroutines are back where they were", func() bool { return runtime.NumGoroutine() <= want+10 })
}

// memory is what is in use on heap and stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
