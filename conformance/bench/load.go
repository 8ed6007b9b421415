package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// text is what every call sends and gets back: 1 KB.
var text = strings.Repeat("0123456789abcdef", 64)

// callBody is one call of the echo tool. No two are equal: equal reads would
// share an answer.
func callBody(revision string, id int) []byte {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s","n":%d}`, id, text, id)
	if revision == modern {
		b = fmt.Appendf(b, `,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}`, modern)
	}
	return append(b, "}}"...)
}

func initializeBody() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, legacy)
}

const initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// correct reports whether an answer is the right one to the call with id.
func correct(answer []byte, id int) error {
	want := fmt.Appendf(nil, `"id":%d,`, id)
	if !bytes.Contains(answer, want) || !bytes.Contains(answer, []byte(text)) || bytes.Contains(answer, []byte(`"isError":true`)) {
		return fmt.Errorf("wrong answer to call %d: %.300s", id, answer)
	}
	return nil
}

// A caller makes one call after the other.
type caller interface {
	call(ctx context.Context, id int) error
}

// httpCaller is one client that speaks streamable HTTP.
type httpCaller struct {
	client   *http.Client
	url      string
	revision string
	session  string
}

// newHTTPCaller connects as its era does: legacy clients shake hands first.
func newHTTPCaller(ctx context.Context, client *http.Client, url, revision string) (*httpCaller, error) {
	c := &httpCaller{client: client, url: url, revision: revision}
	if revision == modern {
		return c, nil
	}
	if _, err := c.post(ctx, initializeBody()); err != nil {
		return nil, err
	}
	_, err := c.post(ctx, []byte(initializedBody))
	return c, err
}

func (c *httpCaller) post(ctx context.Context, body []byte) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := q.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", c.revision)
	if c.revision == modern {
		h.Set("Mcp-Method", "tools/call")
		h.Set("Mcp-Name", "echo")
	}
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
	}
	res, err := c.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode > 299 {
		return nil, fmt.Errorf("%s: %.300s", res.Status, answer)
	}
	if s := res.Header.Get("Mcp-Session-Id"); s != "" {
		c.session = s
	}
	return answer, nil
}

func (c *httpCaller) call(ctx context.Context, id int) error {
	answer, err := c.post(ctx, callBody(c.revision, id))
	if err != nil {
		return err
	}
	return correct(answer, id)
}

// pipe is a command spoken to on its standard streams by many callers.
type pipe struct {
	revision string
	cmd      *exec.Cmd
	mu       sync.Mutex
	in       io.WriteCloser
	waiting  sync.Map // id → chan []byte
}

func newPipe(gogc, revision string, path string, args ...string) (*pipe, error) {
	p := &pipe{revision: revision, cmd: exec.Command(path, args...)}
	p.cmd.Env = append(os.Environ(), "GOGC="+gogc)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	if revision == modern {
		return p, nil
	}
	if _, err := p.send(context.Background(), initializeBody(), "0"); err != nil {
		return nil, err
	}
	return p, p.write([]byte(initializedBody))
}

func (p *pipe) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, rest, _ := bytes.Cut(lines.Bytes(), []byte(`"id":`))
		id := string(rest[:max(0, bytes.IndexAny(rest, ",}"))])
		if ch, ok := p.waiting.LoadAndDelete(id); ok {
			ch.(chan []byte) <- bytes.Clone(lines.Bytes())
		}
	}
}

func (p *pipe) write(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.in.Write(append(message, '\n'))
	return err
}

func (p *pipe) send(ctx context.Context, message []byte, id string) ([]byte, error) {
	ch := make(chan []byte, 1)
	p.waiting.Store(id, ch)
	if err := p.write(message); err != nil {
		return nil, err
	}
	select {
	case answer := <-ch:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) call(ctx context.Context, id int) error {
	answer, err := p.send(ctx, callBody(p.revision, id), strconv.Itoa(id))
	if err != nil {
		return err
	}
	return correct(answer, id)
}

func (p *pipe) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// load has every caller call for as long as d and returns how long each call
// took, sorted.
func load(ctx context.Context, callers []caller, d time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, d+30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	took := make([][]time.Duration, len(callers))
	errs := make([]error, len(callers))
	end := time.Now().Add(d)
	for i, c := range callers {
		wg.Go(func() {
			for n := 1; errs[i] == nil && time.Now().Before(end); n++ {
				begin := time.Now()
				errs[i] = c.call(ctx, n*len(callers)+i)
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, nil
}
