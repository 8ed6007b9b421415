package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStdio_share is S6: six pipes started at once share one gateway. It is
// killed in the middle of a call: each pipe says so, and its next call works.
func TestStdio_share(t *testing.T) {
	dir := t.TempDir()
	annotary := filepath.Join(dir, "annotary") // under this name the test binary is the program
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, annotary); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "annotary.yaml")
	data := filepath.Join(dir, "data")
	text := fmt.Sprintf("data: %s\npreset: off\nservers:\n  slow: {command: sh, args: [%s]}\n", data, filepath.Join(dir, "slow.sh"))
	write(t, config, text)
	write(t, filepath.Join(dir, "slow.sh"), slowServer)

	pipes := make([]*pipe, 6)
	var starting sync.WaitGroup
	for i := range pipes {
		starting.Go(func() { pipes[i] = startPipe(t, annotary, config) })
	}
	starting.Wait()
	for _, p := range pipes {
		p.expect(t, hello, `"serverInfo"`)
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	first := gatewayPid(t, data)
	for _, p := range pipes {
		p.expect(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, `"id":2,"result"`)
		if pid := gatewayPid(t, data); pid != first {
			t.Errorf("there are gateways %d and %d", first, pid)
		}
	}
	for _, p := range pipes {
		p.send(t, `{"jsonrpc":"2.0","id":"x","method":"sleep"}`)
	}
	time.Sleep(200 * time.Millisecond)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, p := range pipes {
		p.await(t, "the gateway stopped before it answered")
		p.expect(t, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, `"id":3,"result"`)
	}
	if again := gatewayPid(t, data); again == first {
		t.Error("the gateway was not killed")
	} else if err := syscall.Kill(again, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// slowServer answers everything but "sleep".
const slowServer = `while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  case "$line" in
    *initialize\"*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"slow","version":"1"}}}' ;;
    *sleep*) ;;
    *\"id\"*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
  esac
done
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gatewayPid asks the socket who listens on it.
func gatewayPid(t *testing.T, dir string) int {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(dir, "gateway.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pid, err := peer(conn.(*net.UnixConn))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// pipe is a running `annotary stdio`.
type pipe struct {
	in    io.WriteCloser
	lines chan string
}

func startPipe(t *testing.T, annotary, config string) *pipe {
	cmd := exec.Command(annotary, "stdio", "--server", "slow", "--config", config)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
	}
	p := &pipe{in, make(chan string, 16)}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
	}()
	t.Cleanup(func() {
		in.Close()
		time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
	})
	return p
}

func (p *pipe) send(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		t.Fatal(err)
	}
}

func (p *pipe) expect(t *testing.T, line, want string) {
	t.Helper()
	p.send(t, line)
	p.await(t, want)
}

// await reads the next line, which must hold what is wanted.
func (p *pipe) await(t *testing.T, want string) {
	t.Helper()
	select {
	case line := <-p.lines:
		if !strings.Contains(line, want) {
			t.Errorf("got %q, want %q in it", line, want)
		}
	case <-time.After(15 * time.Second):
		t.Fatalf("no line with %q", want)
	}
}
