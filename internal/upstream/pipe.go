package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// pipeConn asks a child on its standard streams.
type pipeConn struct {
	proc *process

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan rpc.Message
	noise   noise
}

// noise counts what a server writes to standard output that is no message.
type noise struct {
	lines int
	first string
}

func (n *noise) add(line []byte) {
	if n.lines++; n.lines == 1 {
		n.first = string(line[:min(len(line), 80)])
	}
}

func (n *noise) String() string {
	return fmt.Sprintf("it writes what is no message to standard output (%d lines skipped, the first: %q)", n.lines, n.first)
}

func newPipeConn(t Target, opts Options) (*pipeConn, error) {
	c := &pipeConn{waiting: map[int64]chan rpc.Message{}}
	started := make(chan struct{})
	proc, err := startProcess(t, opts.MaxBytes, closeGrace, func(line []byte, err error) {
		<-started
		c.receive(line, err, strict.Limits{Bytes: opts.MaxBytes})
	})
	if err != nil {
		return nil, err
	}
	c.proc = proc
	close(started)
	return c, nil
}

// receive takes one line of the child: an answer, a question, or noise.
func (c *pipeConn) receive(line []byte, err error, lim strict.Limits) {
	var m rpc.Message
	if err == nil {
		m, err = rpc.Parse(bytes.TrimSpace(line), lim)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.noise.add(line)
	case m.Kind == rpc.Request:
		c.refuse(m)
	case m.Kind == rpc.Response:
		id, _ := strconv.ParseInt(string(m.ID()), 10, 64)
		if answer := c.waiting[id]; answer != nil {
			delete(c.waiting, id)
			answer <- m
		}
	}
}

// refuse answers a question of the server: a ping with a pong, all else with
// "unknown method", since nobody is here to answer. It must not block.
func (c *pipeConn) refuse(m rpc.Message) {
	answer := rpc.NewResult(m.ID(), []byte("{}"))
	if m.Method != "ping" {
		answer = (&rpc.Fault{Code: rpc.CodeMethodNotFound, Message: "method not found"}).Answer(m.ID())
	}
	select {
	case c.proc.in <- answer:
	default: // it does not read what it asked for
	}
}

// begin sends a request; its answer arrives on the channel.
func (c *pipeConn) begin(ctx context.Context, method string, params []byte) (<-chan rpc.Message, error) {
	answer := make(chan rpc.Message, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = answer
	c.mu.Unlock()
	return answer, c.proc.send(ctx, rpc.NewRequest(id, method, params))
}

func (c *pipeConn) ask(ctx context.Context, method string, params []byte) (rpc.Message, error) {
	answer, err := c.begin(ctx, method, params)
	if err != nil {
		return rpc.Message{}, err
	}
	return c.await(ctx, answer)
}

func (c *pipeConn) await(ctx context.Context, answer <-chan rpc.Message) (rpc.Message, error) {
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
		return rpc.Message{}, ctx.Err()
	case <-c.proc.done:
	}
	select { // it answered and ended
	case m := <-answer:
		return m, nil
	default:
		return rpc.Message{}, c.proc.gone()
	}
}

func (c *pipeConn) notify(ctx context.Context, method string, params []byte) error {
	return c.proc.send(ctx, rpc.NewNotification(method, params))
}

func (c *pipeConn) close() {
	c.proc.stop()
	<-c.proc.done
}

func (c *pipeConn) warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.noise.lines == 0 {
		return nil
	}
	return []string{c.noise.String()}
}

// connectCommand starts the command and finds out its era. A few servers of the
// legacy era do not survive a method they do not know: those are started again.
func (l *lister) connectCommand(ctx context.Context) error {
	err := l.startCommand(ctx, l.probe)
	if errors.Is(err, errGone) && ctx.Err() == nil {
		l.conn.close()
		err = l.startCommand(ctx, l.handshake)
	}
	if errors.Is(err, errGone) {
		if last := lastLine(l.conn.(*pipeConn).proc.stderr.String()); last != "" {
			err = fmt.Errorf("%w; it said: %s", err, last)
		}
	}
	return err
}

func (l *lister) startCommand(ctx context.Context, greet func(context.Context, *pipeConn) error) error {
	c, err := newPipeConn(l.target, l.opts)
	if err != nil {
		return fmt.Errorf("it could not be started: %w", err)
	}
	l.conn = c
	return greet(ctx, c)
}

// probe sends server/discover, and initialize as well if the server stays
// silent: a slow one may still be starting, an old one may ignore the unknown.
func (l *lister) probe(ctx context.Context, c *pipeConn) error {
	found, err := c.begin(ctx, "server/discover", discoverParams())
	if err != nil {
		return err
	}
	silent := time.NewTimer(l.opts.Probe)
	defer silent.Stop()
	var greeted <-chan rpc.Message
	for {
		select {
		case m := <-found:
			if m.Fault() == nil && l.discovered(m) {
				return nil
			}
			if greeted == nil {
				return l.handshake(ctx, c)
			}
			found = nil
		case m := <-greeted:
			return l.greet(ctx, c, m)
		case <-silent.C:
			if greeted, err = c.begin(ctx, "initialize", initializeParams()); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-c.proc.done:
			return c.proc.gone()
		}
	}
}

// handshake begins the legacy way.
func (l *lister) handshake(ctx context.Context, c *pipeConn) error {
	m, err := c.ask(ctx, "initialize", initializeParams())
	if err != nil {
		return err
	}
	return l.greet(ctx, c, m)
}

func (l *lister) greet(ctx context.Context, c conn, m rpc.Message) error {
	if err := l.initialized(m); err != nil {
		return err
	}
	return c.notify(ctx, "notifications/initialized", nil)
}

func lastLine(text string) string {
	lines := bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
	last := lines[len(lines)-1]
	return string(last[:min(len(last), 200)])
}
