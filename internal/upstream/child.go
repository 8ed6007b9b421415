package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// queueBytes is how much of one stream waits in memory for a slow reader.
const queueBytes = 8 << 20

// child is a running command that many calls share. Its ids are ours: each
// call gets a number, which is its id and its progress token on the pipe. The
// instance's lock guards what changes.
type child struct {
	in        *instance
	link      *link
	next      int64
	calls     map[int64]*call
	questions map[string]*pipeLeg // which leg a question went to, by the child's id
	noise     noise
	served    bool // it has answered a client
}

// call is one request on the pipe.
type call struct {
	q         *queue
	leg       *pipeLeg // nil for our own
	id, token []byte   // as the client sent them
}

func newChild(ctx context.Context, in *instance) (*child, error) {
	c := &child{in: in, calls: map[int64]*call{}, questions: map[string]*pipeLeg{}}
	started := make(chan struct{})
	link, err := in.connect(ctx, func(line []byte, err error) {
		<-started
		c.receive(line, err)
	})
	if err != nil {
		return nil, err
	}
	c.link = link
	close(started)
	in.server.children.Go(func() { <-link.done; c.gone() })
	return c, nil
}

// connect starts the command, or opens the old transport to a URL.
func (in *instance) connect(ctx context.Context, receive func([]byte, error)) (*link, error) {
	t := in.server.Target
	if t.Command == "" {
		return in.server.openSSE(ctx, receive)
	}
	if t.Dir == "" {
		t.Dir = in.key.dir
	}
	p, err := startProcess(t, in.server.opts.MaxBytes, in.server.opts.Stop, receive)
	if err != nil {
		return nil, err
	}
	return p.link, nil
}

// register gives a call its number.
func (c *child) register(cl *call) int64 {
	c.next++
	c.calls[c.next] = cl
	return c.next
}

// begin sends a request of our own.
func (c *child) begin(ctx context.Context, method string, params []byte) (*queue, error) {
	m, err := rpc.Parse(rpc.NewRequest(0, method, params), strict.Limits{})
	if err != nil {
		return nil, err
	}
	return c.forward(ctx, &m, &call{})
}

// ask sends a request and waits for its answer.
func (c *child) ask(ctx context.Context, m *rpc.Message) (rpc.Message, error) {
	q, err := c.forward(ctx, m, &call{})
	if err != nil {
		return rpc.Message{}, err
	}
	for {
		it, err := q.Next(ctx)
		if err != nil {
			return rpc.Message{}, err
		}
		if it.Final {
			return rpc.Parse(it.Msg, strict.Limits{Bytes: c.in.server.opts.MaxBytes})
		}
	}
}

// tell repeats a message to a new child; nobody waits for the answer.
func (c *child) tell(ctx context.Context, raw []byte) error {
	m, err := rpc.Parse(raw, strict.Limits{})
	if err != nil {
		return err
	}
	if m.Kind == rpc.Notification {
		return c.send(ctx, raw)
	}
	_, err = c.forward(ctx, &m, &call{})
	return err
}

// forward puts a request on the pipe under a number of ours.
func (c *child) forward(ctx context.Context, m *rpc.Message, cl *call) (*queue, error) {
	quiet := c.in.server.opts.Silence
	if m.Method == "subscriptions/listen" {
		quiet = 0
	}
	cl.q = newQueue(queueBytes, quiet)
	cl.id, cl.token = bytes.Clone(m.ID()), bytes.Clone(m.ProgressToken())
	c.in.mu.Lock()
	if err := c.link.ended(); err != nil { // gone has run or waits for the lock, or it is being stopped
		c.in.mu.Unlock()
		return nil, unsent(err)
	}
	n := c.register(cl)
	if cl.leg != nil {
		cl.leg.inflight[string(cl.id)] = n
	}
	c.in.mu.Unlock()
	number := strconv.AppendInt(nil, n, 10)
	cl.q.onClose = func() { c.drop(n, cl) }
	if err := c.send(ctx, m.Splice(rpc.Splice{ID: number, ProgressToken: number})); err != nil {
		c.drop(n, cl)
		return nil, err
	}
	return cl.q, nil
}

// send queues a message for the child.
func (c *child) send(ctx context.Context, msg []byte) error {
	if err := c.link.send(ctx, msg); err != nil {
		return unsent(err)
	}
	return nil
}

// unsent says of a message that it never left.
func unsent(err error) error {
	if errors.Is(err, errGone) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// drop forgets a call. One that was given up is cancelled: in the modern era
// closing is cancelling, in the legacy era only what was given up for good.
func (c *child) drop(n int64, cl *call) {
	c.in.mu.Lock()
	_, unfinished := c.calls[n]
	c.forget(n, cl)
	c.in.rest()
	c.in.mu.Unlock()
	if unfinished && (c.in.key.era == EraModern || cl.q.givenUp()) {
		note := rpc.NewNotification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d}`, n))
		select {
		case c.link.in <- note:
		case <-c.link.done:
		case <-time.After(closeGrace): // it does not read: nothing to be done
		}
	}
}

func (c *child) forget(n int64, cl *call) {
	delete(c.calls, n)
	if cl.leg != nil && cl.leg.inflight[string(cl.id)] == n {
		delete(cl.leg.inflight, string(cl.id))
	}
}

// receive takes one line of the child.
func (c *child) receive(line []byte, err error) {
	var m rpc.Message
	if err == nil {
		m, err = rpc.Parse(bytes.TrimSpace(line), strict.Limits{Bytes: c.in.server.opts.MaxBytes})
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	switch {
	case err != nil:
		if c.noise.add(line); c.noise.lines == 1 {
			c.in.server.log.Warn("the command writes what is no message to standard output", "line", c.noise.first, "error", err)
		}
	case m.Kind == rpc.Response:
		c.answered(&m)
	case m.Kind == rpc.Request:
		c.asked(&m)
	default:
		c.notified(&m)
	}
}

func (c *child) answered(m *rpc.Message) {
	n, _ := strconv.ParseInt(string(m.ID()), 10, 64)
	cl := c.calls[n]
	if cl == nil {
		return // given up, or never asked
	}
	if cl.leg != nil {
		c.served, c.in.failures = true, 0
	}
	c.forget(n, cl)
	cl.q.put(Item{Msg: m.Splice(rpc.Splice{ID: cl.id}), Final: true})
	c.in.rest()
}

// notified passes a notification on to the call it names, else to those it may
// concern.
func (c *child) notified(m *rpc.Message) {
	if sub := m.Subscription(); sub != nil {
		if cl := c.numbered(sub); cl != nil {
			cl.q.put(Item{Msg: m.Splice(rpc.Splice{Subscription: cl.id})})
		}
		return
	}
	switch m.Method {
	case "notifications/progress":
		if cl := c.numbered(m.ProgressToken()); cl != nil && cl.token != nil {
			cl.q.put(Item{Msg: m.Splice(rpc.Splice{ProgressToken: cl.token})})
		}
	case "notifications/cancelled":
		id := string(m.RequestID())
		if l := c.questions[id]; l != nil {
			delete(c.questions, id)
			l.deliver(c, m)
		}
	case "notifications/resources/updated":
		uri, _ := strict.Text(strict.Get(m.Params(), "uri"))
		for l := range c.in.legs {
			if l.subscribed[uri] {
				l.outbox.put(Item{Msg: m.Raw})
			}
		}
	case "notifications/message":
		c.logged(m)
	default:
		for l := range c.in.legs {
			l.outbox.put(Item{Msg: m.Raw})
		}
	}
}

// logged passes on a log message. It names no call: it goes to the only call
// there is, or to the only client; where there are several it could be
// anybody's, and stays here.
func (c *child) logged(m *rpc.Message) {
	if len(c.in.legs) == 1 {
		for l := range c.in.legs {
			l.deliver(c, m)
		}
		return
	}
	if len(c.calls) == 1 {
		for _, cl := range c.calls {
			cl.q.put(Item{Msg: m.Raw})
		}
		return
	}
	c.in.server.log.Debug("a log message of a shared command belongs to nobody")
}

func (c *child) numbered(number []byte) *call {
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return nil
	}
	return c.calls[n]
}

// asked passes a question of the child on to the only client there is. With
// several nobody knows whom it means.
func (c *child) asked(m *rpc.Message) {
	switch {
	case m.Method == "ping":
		c.reply(rpc.NewResult(m.ID(), []byte("{}")))
	case len(c.in.legs) == 1 && c.in.key.era == EraLegacy:
		for l := range c.in.legs {
			c.questions[string(m.ID())] = l
			l.deliver(c, m)
		}
	default:
		c.in.server.log.Warn("a question of the command was refused: not exactly one session is attached",
			"method", m.Method, "sessions", len(c.in.legs))
		c.reply((&rpc.Fault{Code: rpc.CodeMethodNotFound, Message: "nobody is here to answer"}).Answer(m.ID()))
	}
}

// reply answers the child without waiting for it to read.
func (c *child) reply(msg []byte) {
	select {
	case c.link.in <- msg:
	default:
		c.in.server.log.Warn("the command does not read its answers")
	}
}

// gone ends every call of a child that is no more.
func (c *child) gone() {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	for n, cl := range c.calls {
		c.forget(n, cl)
		cl.q.fail(fmt.Errorf("%w: %w", ErrStopped, c.link.gone()))
	}
	if c.in.child == c {
		c.in.child = nil
		if !c.served && !c.link.asked() {
			c.in.failed(c.link.gone())
		}
	}
	if !c.link.asked() {
		c.in.server.log.Warn("the command stopped", "error", c.link.exit, "said", lastLine(c.link.stderr.String()))
	}
	c.in.rest()
}
