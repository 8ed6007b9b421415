package wire_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/annotary/annotary/internal/strict"
)

// TestMain runs the fixture server instead of the tests where asked to.
func TestMain(m *testing.M) {
	if os.Getenv("FIXTURE") != "" {
		newFixture().run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fixture is an MCP server on standard streams, of both eras, whose answers
// show what reached it.
type fixture struct {
	mu        sync.Mutex
	asked     map[string]chan []byte // questions to the client, by id
	cancelled []string
	heard     []string // notifications
	begun     int      // calls of sleep
}

func newFixture() *fixture { return &fixture{asked: map[string]chan []byte{}} }

func (f *fixture) run() {
	if os.Getenv("FIXTURE") == "noisy" {
		fmt.Println("Listening on stdio...")
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		f.line(bytes.TrimRight(line, "\n"))
	}
}

func (f *fixture) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func (f *fixture) line(line []byte) {
	method, _ := strict.Text(strict.Get(line, "method"))
	id := strict.Get(line, "id")
	switch {
	case method == "": // the answer to a question
		f.mu.Lock()
		answer := f.asked[string(id)]
		f.mu.Unlock()
		if answer != nil {
			answer <- line
		}
	case id == nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.heard = append(f.heard, method)
		if method == "notifications/cancelled" {
			f.cancelled = append(f.cancelled, string(strict.Get(line, "params", "requestId")))
		}
	default:
		go f.request(line, id, method)
	}
}

func (f *fixture) request(line, id []byte, method string) {
	switch method {
	case "initialize":
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%s,"capabilities":{"tools":{},"x":1e400},"serverInfo":{"name":"fixture","version":"1"}}}`,
			id, strict.Get(line, "params", "protocolVersion"))
	case "server/discover":
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`, id)
	case "subscriptions/listen":
		f.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, id)
		f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, id)
	case "tools/list":
		if os.Getenv("FIXTURE") != "tools" {
			f.echo(line, id)
			return
		}
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":%s}}`, id, listed)
	case "tools/call":
		name, _ := strict.Text(strict.Get(line, "params", "name"))
		f.call(line, id, name)
	default:
		f.echo(line, id)
	}
}

// listed are the tools of a fixture that is judged.
const listed = `[{"name":"sleep","inputSchema":{"type":"object"}},{"name":"begun","inputSchema":{"type":"object"}},{"name":"heard","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]`

func (f *fixture) echo(line, id []byte) {
	f.say(`{"jsonrpc":"2.0","id":%s,"result":{"seen":%s,"echo":%s},"extra":[9007199254740993,1e400]}`, id, strict.Quote(string(line)), orNull(strict.Get(line, "params")))
}

func orNull(raw []byte) []byte {
	if raw == nil {
		return []byte("null")
	}
	return raw
}

// call answers a tool call; the name says how.
func (f *fixture) call(line, id []byte, name string) {
	text := func(s string) {
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":%s}]}}`, id, strict.Quote(s))
	}
	switch name {
	case "echo":
		f.echo(line, id)
	case "pid":
		text(strconv.Itoa(os.Getpid()))
	case "dir":
		dir, _ := os.Getwd()
		text(dir)
	case "env":
		env := os.Environ()
		sort.Strings(env)
		text(strings.Join(env, "\n"))
	case "sleep": // never answers
		f.mu.Lock()
		f.begun++
		f.mu.Unlock()
	case "begun":
		f.mu.Lock()
		begun := f.begun
		f.mu.Unlock()
		text(strconv.Itoa(begun))
	case "die":
		os.Exit(7)
	case "heard":
		f.mu.Lock()
		heard := strings.Join(f.heard, " ") + "|" + strings.Join(f.cancelled, " ")
		f.mu.Unlock()
		text(heard)
	case "progress":
		token := strict.Get(line, "params", "_meta", "progressToken")
		f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":%s,"x":1e400}}`, token)
		f.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half-way"}}`)
		text("done")
	case "ask":
		text(string(f.ask()))
	}
}

// ask asks the client a question and returns its answer.
func (f *fixture) ask() []byte {
	answer := make(chan []byte, 1)
	f.mu.Lock()
	id := fmt.Sprintf(`"q%d"`, len(f.asked))
	f.asked[id] = answer
	f.mu.Unlock()
	f.say(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"sure?","n":9007199254740993}}`, id)
	return <-answer
}
