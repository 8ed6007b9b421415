package wire_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

// TestBytes is I3: what we do not mean to change is byte-identical after the
// hop. Random messages with everything a typed model loses go through every
// way there is; only ids and progress tokens on a pipe are ours.
func TestBytes(t *testing.T) {
	web := newMirror(t)
	g := start(t, wire.Options{}, command(t, "pipe", upstream.ServerOptions{}),
		server(t, upstream.Target{Name: "web", URL: web.url}, upstream.ServerOptions{}))
	socket := servePipes(t, g)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, era := range []string{"modern", "legacy"} {
		session := map[string]string{"web": "", "pipe": ""}
		if era == "legacy" {
			session["web"], session["pipe"] = g.open("web"), g.open("pipe")
		}
		for n := range 150 {
			m := randomMessage(rng, era == "modern", n)
			t.Run(fmt.Sprintf("%s/%d", era, n), func(t *testing.T) {
				sent := m.with(m.id, m.token)
				reply := randomReply(rng, m.id)
				web.reply(reply, n%2 == 0)
				_, got := g.post("web", sent, rpc.HeaderSession, session["web"])
				web.check(t, sent, got)

				_, got = g.post("pipe", sent, rpc.HeaderSession, session["pipe"])
				m.checkMirrored(t, got)
			})
		}
		lines := dialPipe(t, socket, "pipe", era == "legacy")
		toWeb := dialPipe(t, socket, "web", era == "legacy")
		for n := range 50 {
			m := randomMessage(rng, era == "modern", n)
			sent := oneLine(m.with(m.id, m.token))
			m.checkMirrored(t, lines.ask(t, sent))

			reply := randomReply(rng, m.id)
			web.reply(reply, n%2 == 0)
			if got := toWeb.ask(t, sent); got != oneLine(reply) || web.seen() != sent {
				t.Errorf("sent  %s\nseen  %s\nreply %s\ngot   %s", sent, web.seen(), reply, got)
			}
		}
	}
}

// message is a request whose members we own can be filled in.
type message struct{ text, id, token string }

const idMark, tokenMark = "\x00id\x00", "\x00token\x00"

func (m message) with(id, token string) string {
	return strings.NewReplacer(idMark, id, tokenMark, token).Replace(m.text)
}

// checkMirrored checks the answer of the fixture: it must have seen every byte
// but those we own, and all of its answer must have come back.
func (m message) checkMirrored(t *testing.T, got string) {
	t.Helper()
	seen, _ := strict.Text(strict.Get([]byte(got), "result", "seen"))
	number := string(strict.Get([]byte(seen), "id"))
	line := oneLine(m.with(number, number))
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"seen":%s,"echo":%s},"extra":[9007199254740993,1e400]}`,
		m.id, strict.Quote(line), strict.Get([]byte(line), "params"))
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

func randomMessage(rng *rand.Rand, modern bool, n int) message {
	inMeta := []string{`"progressToken":` + tokenMark, `"com.example/deep":` + strings.Repeat(`{"a":[`, 20) + "1e400" + strings.Repeat("]}", 20)}
	if modern {
		inMeta = append(inMeta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`,
			`"io.modelcontextprotocol/clientCapabilities":`+object(rng, []string{`"x":9007199254740993`}))
	}
	params := []string{`"name":"echo"`, `"arguments":` + randomValue(rng, 3), `"_meta":` + object(rng, inMeta), `"task":{"ttl":1e400}`, `"unbekannt":` + randomValue(rng, 2)}
	method := []string{`"method":"tools/call"`, `"method":"x/unknown"`, `"method": "tools\/call"`}[rng.IntN(3)]
	members := []string{`"jsonrpc":"2.0"`, `"id":` + idMark, method, `"params":` + object(rng, params), `"x-top":` + randomValue(rng, 1)}
	id := []string{fmt.Sprint(n), `"a b"`, `"é\u00e9"`, "9007199254740993", "-1.50"}[rng.IntN(5)]
	return message{object(rng, members), id, []string{"7", `"tok"`, "1e3"}[rng.IntN(3)]}
}

func randomReply(rng *rand.Rand, id string) string {
	content := `"content":[{"type":"video","bytes":9007199254740993,"_meta":{"a":null}},{"type":"text","text":"\u2028\/"}]`
	result := []string{content, `"resultType":"task"`, `"taskId":"t"`, `"_meta":` + randomValue(rng, 3), `"structuredContent":` + randomValue(rng, 3)}
	return strings.NewReplacer(idMark, id).Replace(object(rng, []string{`"jsonrpc":"2.0"`, `"id":` + idMark, `"result":` + object(rng, result), `"x":1e400`}))
}

// object writes members in any order with any white space.
func object(rng *rand.Rand, members []string) string {
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	space := func() string { return []string{"", "", " ", "\n", "\t", " \r\n "}[rng.IntN(6)] }
	return "{" + space() + strings.Join(members, space()+","+space()) + space() + "}"
}

func randomValue(rng *rand.Rand, depth int) string {
	scalars := []string{"9007199254740993", "1e400", "-0.0", "1E+2", "0.10", "null", "true", `"\u00e9é\ud83d\ude00"`, `"\/"`, `""`, `[]`, `{}`}
	if depth == 0 || rng.IntN(3) == 0 {
		return scalars[rng.IntN(len(scalars))]
	}
	if rng.IntN(2) == 0 {
		return "[" + randomValue(rng, depth-1) + " ,\n" + randomValue(rng, depth-1) + "]"
	}
	return object(rng, []string{`"a":` + randomValue(rng, depth-1), `"A":` + randomValue(rng, depth-1), `"\u0061b":` + randomValue(rng, depth-1)})
}

// mirror is an HTTP server of both eras that keeps what it saw and says what it
// was told to.
type mirror struct {
	url string

	mu     sync.Mutex
	body   string
	answer string
	stream string // the answer as events, empty for plain JSON
}

func newMirror(t testing.TB) *mirror {
	m := &mirror{}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

// ServeHTTP answers the handshake properly and all else as told.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch method, _ := strict.Text(strict.Get(body, "method")); {
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete:
	case method == "initialize":
		w.Header().Set(rpc.HeaderSession, "upstream-session")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}}`, strict.Get(body, "id"))
	case strings.HasPrefix(method, "notifications/"):
		w.WriteHeader(http.StatusAccepted)
	default:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.body = string(body)
		if m.stream != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, m.stream)
			return
		}
		io.WriteString(w, m.answer)
	}
}

// reply sets the next answer: plain, or as an oddly written stream.
func (m *mirror) reply(answer string, plain bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer, m.stream = answer, ""
	if !plain {
		m.stream = ": hello\n\nid: 7\nretry: 10\ndata:\n\nevent: message\r\nx: y\r\ndata:{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\r\n\r\nid:8\ndata: " + oneLine(answer) + "\n\n"
	}
}

func (m *mirror) seen() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.body
}

func (m *mirror) check(t *testing.T, sent, got string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.body != sent {
		t.Errorf("sent %s\nseen %s", sent, m.body)
	}
	want := m.answer
	if m.stream != "" {
		want = m.stream
	}
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// servePipes opens the gateway's socket.
func servePipes(t testing.TB, g *gate) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.handler.ServePipes(t.Context(), l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return path
}

// lines is a client that speaks in lines.
type lines struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialPipe(t testing.TB, socket, server string, legacy bool) *lines {
	t.Helper()
	return dialPipeFrom(t, socket, server, "", legacy)
}

func dialPipeFrom(t testing.TB, socket, server, dir string, legacy bool) *lines {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write(wire.Hello(server, dir, false)); err != nil {
		t.Fatal(err)
	}
	l := &lines{conn, bufio.NewReaderSize(conn, 1<<20)}
	if welcome, err := l.r.ReadString('\n'); err != nil || welcome != "{\"annotary\":1}\n" {
		t.Fatalf("the gateway greets with %q, %v", welcome, err)
	}
	if legacy {
		l.ask(t, initialize)
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return l
}

// ask sends a request and returns the response; what comes before is skipped.
func (l *lines) ask(t testing.TB, line string) string {
	t.Helper()
	if err := l.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(l.conn, line); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := l.r.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for the answer to %s: %v", line, err)
		}
		if got = strings.TrimRight(got, "\n"); strict.Get([]byte(got), "method") == nil {
			return got
		}
	}
}

// TestBytes_corpus sends every definition of the corpus there and back.
func TestBytes_corpus(t *testing.T) {
	corpus := testenv.Corpus(t)
	web := newMirror(t)
	g := start(t, wire.Options{MaxBody: 32 << 20}, command(t, "pipe", upstream.ServerOptions{}),
		server(t, upstream.Target{Name: "web", URL: web.url}, upstream.ServerOptions{}))
	ids := map[string]string{"web": g.open("web"), "pipe": g.open("pipe")}
	var page []string
	count := 0
	flush := func() {
		list := strings.Join(page, ",")
		page = nil
		m := message{`{"jsonrpc":"2.0","id":` + idMark + `,"method":"x/tools","params":{"tools":[` + list + `]}}`, `"p"`, ""}
		_, got := g.post("pipe", m.with(m.id, ""), rpc.HeaderSession, ids["pipe"])
		m.checkMirrored(t, got)
		web.reply(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`+list+`]}}`, count%2 == 0)
		sent := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		_, got = g.post("web", sent, rpc.HeaderSession, ids["web"])
		web.check(t, sent, got)
	}
	for line := range bytes.Lines(corpus) {
		page = append(page, string(strict.Get(line, "tool")))
		if count++; len(page) == 400 {
			flush()
		}
	}
	flush()
	if count < 8000 {
		t.Errorf("only %d definitions", count)
	}
}

// startDirect runs a command and talks to it without a gateway.
func startDirect(t testing.TB, target upstream.Target) *lines {
	t.Helper()
	cmd := exec.Command(target.Command, target.Args...)
	cmd.Env = os.Environ()
	for name, value := range target.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	ours, theirs := socketPair(t)
	cmd.Stdin, cmd.Stdout = theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() {
		ours.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &lines{ours, bufio.NewReaderSize(ours, 1<<20)}
}

// socketPair returns two ends of a pipe that carries both ways.
func socketPair(t testing.TB) (net.Conn, *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(fds[0]), "ours")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	return conn, os.NewFile(uintptr(fds[1]), "theirs")
}
