package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
)

// actor is a server that writes down every call it got. When it is deaf it
// takes connections and reads nothing from them.
type actor struct {
	*http.Server
	addr    string
	deaf    atomic.Bool
	knocked chan struct{} // gets a value when somebody talks to it while it is deaf

	mu  sync.Mutex
	got []string // the digests of the arguments
}

func newActor(t *testing.T) *actor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &actor{addr: l.Addr().String(), knocked: make(chan struct{}, 100)}
	a.Server = &http.Server{Handler: http.HandlerFunc(a.answer)}
	a.SetKeepAlivesEnabled(false) // every call knocks anew
	go func() { _ = a.Serve(&deafListener{l, a}) }()
	t.Cleanup(func() { _ = a.Close() })
	return a
}

type deafListener struct {
	net.Listener
	actor *actor
}

// Accept takes a connection; of a deaf server it goes no further.
func (d *deafListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil || !d.actor.deaf.Load() {
			return conn, err
		}
		d.actor.knocked <- struct{}{}
	}
}

func (a *actor) answer(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments json.RawMessage }
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := `{"content":[]}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"actor","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if sum, err := strict.Sum(m.Params.Arguments); err == nil {
			a.mu.Lock()
			a.got = append(a.got, sum.String())
			a.mu.Unlock()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (a *actor) calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.got...)
}

// gatewayProcess is a running annotary serve.
type gatewayProcess struct {
	*exec.Cmd
	dir, url string
}

// serveActor starts a gateway before the actor that lets it act.
func serveActor(t *testing.T, dir string, a *actor) *gatewayProcess {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	file := filepath.Join(dir, "annotary.yaml")
	text := fmt.Sprintf("listen: %s\ndata: data\nrules: {read: allow, write: allow, destructive: allow, irreversible: allow, open: allow}\nstate: {timeout: 3s}\nservers:\n  actor: {url: \"http://%s/mcp\"}\n", address, a.addr)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &gatewayProcess{Cmd: exec.Command("annotary", "serve", "--config", file), dir: dir, url: "http://" + address + "/mcp/s/actor"}
	var said bytes.Buffer
	g.Stderr = &said
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Process.Kill(); _ = g.Wait() })
	for deadline := time.Now().Add(30 * time.Second); !testenv.Listening(address); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the gateway does not listen: %s", said.String())
		}
	}
	return g
}

// kill9 kills the gateway and waits until it is gone.
func (g *gatewayProcess) kill9() {
	_ = g.Process.Kill()
	_ = g.Wait()
}

// act has the actor called with arguments that occur once.
func (g *gatewayProcess) act(ctx context.Context, client *http.Client, args string) (string, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"act","arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, args)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	for name, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "act",
	} {
		req.Header.Set(name, v)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return string(answer), err
}

// everything is the filter that leaves nothing out.
var everything api.Filter

// operator reaches the gateway as its commands do.
func (g *gatewayProcess) operator() *api.Client {
	file := func(name string) string { return filepath.Join(g.dir, "data", name) }
	return api.NewClient(
		func() (net.Conn, error) { return net.Dial("unix", file("operator.sock")) },
		func() (string, error) {
			token, err := os.ReadFile(file("operator.token"))
			return string(token), err
		},
	)
}

// recorded returns the arguments of every call that is in the log as decided, and
// those that have an outcome.
func (g *gatewayProcess) recorded(t *testing.T) (decided, ended map[string]bool) {
	t.Helper()
	client := g.operator()
	defer client.Close()
	decided, ended = map[string]bool{}, map[string]bool{}
	byCall := map[string]string{}
	err := client.Audit(t.Context(), everything, func(line []byte) error {
		e, err := audit.Decode(line)
		if err != nil {
			return err
		}
		switch e.Kind {
		case audit.Decided:
			decided[e.ArgumentsDigest], byCall[e.Call] = true, e.ArgumentsDigest
		case audit.Outcome:
			ended[byCall[e.Call]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return decided, ended
}

// TestKill9 (S2): a gateway that is killed under load has recorded every call
// that reached a server.
func TestKill9(t *testing.T) {
	rounds := 4
	if v := os.Getenv("ANNOTARY_CRASHES"); v != "" {
		var err error
		if rounds, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	a, dir := newActor(t), t.TempDir()
	client := &http.Client{}
	var n atomic.Int64
	for range rounds {
		g := serveActor(t, dir, a)
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		for range 8 {
			load.Go(func() {
				for ctx.Err() == nil {
					_, _ = g.act(ctx, client, fmt.Sprintf(`{"n":%d}`, n.Add(1))) // it dies under some of them
				}
			})
		}
		before := len(a.calls())
		for deadline := time.Now().Add(30 * time.Second); len(a.calls()) == before && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(rand.N(100 * time.Millisecond))
		g.kill9()
		stop()
		load.Wait()
	}
	decided, _ := serveActor(t, dir, a).recorded(t)
	calls := a.calls()
	for _, digest := range calls {
		if !decided[digest] {
			t.Errorf("the server got a call that is not in the log: %s", digest)
		}
	}
	t.Logf("%d calls reached the server, %d are recorded", len(calls), len(decided))
	if len(calls) == 0 {
		t.Error("nothing reached the server")
	}
}

// TestKill9_beforeForward: a gateway that is killed after it recorded a call, and
// before the server has read a byte of it, leaves the record, without an outcome.
func TestKill9_beforeForward(t *testing.T) {
	a, dir := newActor(t), t.TempDir()
	g := serveActor(t, dir, a)
	if answer, err := g.act(t.Context(), http.DefaultClient, `{"n":1}`); err != nil || !strings.Contains(answer, `"content"`) {
		t.Fatal(answer, err)
	}
	a.deaf.Store(true)
	go func() { _, _ = g.act(t.Context(), http.DefaultClient, `{"n":2}`) }() // it never ends
	<-a.knocked
	g.kill9()
	a.deaf.Store(false)
	sum, err := strict.Sum([]byte(`{"n":2}`))
	if err != nil {
		t.Fatal(err)
	}
	decided, ended := serveActor(t, dir, a).recorded(t)
	if !decided[sum.String()] || ended[sum.String()] {
		t.Errorf("the call is recorded: %v; its outcome is: %v", decided[sum.String()], ended[sum.String()])
	}
	if len(a.calls()) != 1 {
		t.Errorf("the server got %d calls", len(a.calls()))
	}
}

// TestUnwritable: where the disk takes nothing more, calls are refused and the
// server sees nothing. The first waits until the store's time is over, the others
// do not; once the disk takes writes again, so does the gateway, by itself, and
// nothing that was recorded is lost.
func TestUnwritable(t *testing.T) {
	a, dir := newActor(t), t.TempDir()
	g := serveActor(t, dir, a)
	act := func(n int, want string) {
		t.Helper()
		answer, err := g.act(t.Context(), http.DefaultClient, fmt.Sprintf(`{"n":%d}`, n))
		if err != nil || !strings.Contains(answer, want) {
			t.Errorf("call %d: %s, %v, want %s", n, answer, err, want)
		}
	}
	room := func(bytes uint64) {
		t.Helper()
		limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(g.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
			t.Fatal(err)
		}
	}
	act(1, `"content":[]`)
	for round := range 2 {
		room(1) // no file may grow
		act(2, "store_unavailable")
		start := time.Now()
		for range 10 {
			act(2, "store_unavailable")
		}
		if took := time.Since(start); took > 15*time.Second { // if each waited its 3 s, it would be 30
			t.Errorf("ten more calls were refused after %v", took)
		}
		if n := len(a.calls()); n != 1+round {
			t.Errorf("the server got %d calls", n)
		}
		room(unix.RLIM_INFINITY)
		wait(t, "the gateway does not take up writing", func() bool {
			answer, err := g.act(t.Context(), http.DefaultClient, fmt.Sprintf(`{"n":%d}`, 3+round))
			return err == nil && strings.Contains(answer, `"content":[]`)
		})
	}
	decided, _ := g.recorded(t)
	for n := range 5 {
		sum, err := strict.Sum(fmt.Appendf(nil, `{"n":%d}`, n))
		if err != nil {
			t.Fatal(err)
		}
		if n != 0 && n != 2 && !decided[sum.String()] {
			t.Errorf("call %d is not in the log", n)
		}
	}
}

// wait waits for a condition.
func wait(t *testing.T, otherwise string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
