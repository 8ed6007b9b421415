package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// Hello is the first line of a pipe: which server it is for, where the client's
// process stands, and whether it wants reads only. That is a version of its own:
// a gateway that knows nothing of it hangs up instead of letting writes through.
func Hello(server, dir string, readOnly bool) []byte {
	version := 1
	if readOnly {
		version = 2
	}
	return fmt.Appendf(nil, `{"annotary":%d,"server":%s,"dir":%s}`+"\n", version, strict.Quote(server), strict.Quote(dir))
}

// ServePipes serves the pipes of `annotary stdio` until the listener closes.
// Whoever may open the socket is the local user.
func (h *Handler) ServePipes(ctx context.Context, l net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		h.pipes.Add(1)
		open.Go(func() {
			defer h.pipes.Add(-1)
			h.servePipe(ctx, conn)
		})
	}
}

// Pipes returns how many pipes are open.
func (h *Handler) Pipes() int { return int(h.pipes.Load()) }

// pipe is one client that speaks in lines: the other end of an `annotary stdio`.
type pipe struct {
	*Handler
	conn   net.Conn
	who    annotary.Principal
	owner  string
	server string
	dir    string
	reads  bool // only reads are served

	calls sync.WaitGroup
	mu    sync.Mutex // guards writing and what follows
	open  map[upstream.Era]*gateway.Session
	stop  map[string]context.CancelFunc // calls of the modern era, by id
}

func (h *Handler) servePipe(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	who := identity.Local()
	p := &pipe{
		Handler: h, conn: conn, who: who, owner: gateway.Owner(&who),
		open: map[upstream.Era]*gateway.Session{}, stop: map[string]context.CancelFunc{},
	}
	lines := rpc.NewLines(conn, h.opts.MaxBody)
	if !p.greeted(lines) {
		return
	}
	for {
		line, err := lines.Next()
		if err == nil {
			p.message(ctx, line)
			continue
		}
		if !errors.Is(err, rpc.ErrLong) {
			break
		}
		p.fault(nil, err)
	}
	p.calls.Wait() // a client that stops asking still gets its answers
	cancel()
	for _, s := range p.open {
		h.endSession(&legacySession{Session: s})
	}
}

// welcome answers a hello: from here on the gateway answers for what it is sent.
var welcome = []byte(`{"annotary":1}`)

// greeted reads the first line and answers it.
func (p *pipe) greeted(lines *rpc.Lines) bool {
	_ = p.conn.SetReadDeadline(deadline(p.opts.ReadHeader))
	line, err := lines.Next()
	if err != nil || strict.Check(line, strict.Limits{}) != nil {
		return false
	}
	version := string(strict.Get(line, "annotary"))
	if p.reads = version == "2"; !p.reads && version != "1" {
		return false
	}
	_ = p.conn.SetReadDeadline(time.Time{})
	p.server, _ = strict.Text(strict.Get(line, "server"))
	p.dir, _ = strict.Text(strict.Get(line, "dir"))
	p.write(welcome)
	return true
}

// write sends one line to a client that must not take for ever to accept it.
func (p *pipe) write(msg []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.conn.SetWriteDeadline(deadline(p.opts.Write))
	if _, err := p.conn.Write(append(slices.Clip(rpc.OneLine(msg)), '\n')); err != nil { // others may hold msg too
		_ = p.conn.Close() // ends the reading too
	}
}

func (p *pipe) fault(id []byte, err error) {
	status, f := faultOf(err)
	if status == http.StatusOK {
		p.opts.Log.Warn("a call failed", "server", p.server, "error", err)
	}
	p.write(f.Answer(id))
}

// message takes one line on its way. Messages to a command keep their order;
// others wait for HTTP, each on its own.
func (p *pipe) message(ctx context.Context, line []byte) {
	m, err := rpc.Parse(line, strict.Limits{Bytes: p.opts.MaxBody, Depth: p.opts.MaxDepth})
	if err != nil {
		p.fault(nil, err)
		return
	}
	version, _ := m.Version()
	era := upstream.EraLegacy
	if rpc.IsModern(version) || (m.Kind == rpc.Notification && p.open[upstream.EraLegacy] == nil) {
		era = upstream.EraModern
	}
	if era == upstream.EraModern && m.Method == "notifications/cancelled" {
		p.cancel(string(m.RequestID()))
		return
	}
	s := p.session(era)
	switch server := p.gateway.Servers()[p.server]; {
	case m.Kind != rpc.Request, m.Method == "initialize":
		p.call(ctx, m, s)
	case m.Method == "subscriptions/listen": // ends with the pipe, which does not wait for it
		go p.call(ctx, m, s)
	case server != nil && server.Command != "":
		if a := p.begin(ctx, m, s); a != nil {
			p.calls.Go(func() { p.deliver(m, s, a) })
		}
	default:
		p.calls.Go(func() { p.call(ctx, m, s) })
	}
}

// session returns what lasts as long as the pipe.
func (p *pipe) session(era upstream.Era) *gateway.Session {
	if p.open[era] == nil {
		p.open[era] = &gateway.Session{ID: session.NewID(), Era: era, Principal: p.who, Server: p.server, Dir: p.dir}
	}
	return p.open[era]
}

func (p *pipe) cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stop := p.stop[id]; stop != nil {
		stop()
	}
}

func (p *pipe) call(ctx context.Context, m rpc.Message, s *gateway.Session) {
	if a := p.begin(ctx, m, s); a != nil {
		p.deliver(m, s, a)
	}
	if m.Method == "notifications/initialized" {
		go p.listen(ctx, s)
	}
}

// pending is a call that was sent and what cancels it.
type pending struct {
	*upstream.Answer
	ctx  context.Context //nolint:containedctx // of the call, which stop ends
	stop context.CancelFunc
}

// begin sends a message. A failure is told at once and gives nil.
func (p *pipe) begin(ctx context.Context, m rpc.Message, s *gateway.Session) *pending {
	if !p.flight.begin(p.owner) {
		p.refuse(&m)
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	if m.Kind == rpc.Request {
		p.mu.Lock()
		p.stop[string(m.ID())] = stop
		p.mu.Unlock()
	}
	call := &gateway.Call{Principal: p.who, Server: p.server, Era: s.Era, Dir: p.dir, Message: m, Session: s, ReadOnly: p.reads}
	a, err := p.gateway.Call(ctx, call)
	if err != nil {
		p.finish(&m, &pending{ctx: ctx, stop: stop})
		if m.Kind == rpc.Request && !errors.Is(err, context.Canceled) {
			p.fault(m.ID(), err)
		}
		return nil
	}
	return &pending{a, ctx, stop}
}

func (p *pipe) refuse(m *rpc.Message) {
	if m.Kind == rpc.Request {
		p.write(coded(rpc.CodeInternal, "too many calls at once", "too_many_calls").Answer(m.ID()))
	}
}

func (p *pipe) finish(m *rpc.Message, a *pending) {
	if a.Answer != nil {
		a.Close()
	}
	a.stop()
	p.flight.end(p.owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.stop, string(m.ID()))
}

// deliver writes what comes back.
func (p *pipe) deliver(m rpc.Message, s *gateway.Session, a *pending) {
	defer p.finish(&m, a)
	switch {
	case m.Kind != rpc.Request:
	case a.Stream == nil && a.Body == nil:
		p.fault(m.ID(), upstream.ErrBroken)
	case a.Stream == nil:
		p.write(a.Body)
	default:
		if err := p.stream(a, s); err != nil && a.ctx.Err() == nil {
			p.fault(m.ID(), err)
		}
	}
}

// stream writes messages until the response. A stream that a legacy server let
// go before is taken up where it ended.
func (p *pipe) stream(a *pending, s *gateway.Session) error {
	stream, last := a.Stream, ""
	for {
		it, err := stream.Next(a.ctx)
		switch {
		case errors.Is(err, io.EOF) && last != "" && s.Era == upstream.EraLegacy:
			pause(a.ctx)
			again, err := p.gateway.Listen(a.ctx, s, last)
			if err != nil {
				return err
			}
			defer again.Close()
			if again.Stream == nil {
				return upstream.ErrStopped
			}
			stream = again.Stream
		case errors.Is(err, io.EOF):
			return upstream.ErrStopped
		case err != nil:
			return err
		}
		if it.ID != "" {
			last = it.ID
		}
		if len(it.Msg) == 0 {
			continue
		}
		p.write(it.Msg)
		if it.Final || isResponse(it.Msg) {
			return nil
		}
	}
}

func isResponse(msg []byte) bool {
	return strict.Get(msg, "method") == nil && strict.Get(msg, "id") != nil
}

// listenAgain is how long after a lost event stream the next is opened.
const listenAgain = time.Second

// listen writes what belongs to no call for as long as the pipe lasts.
func (p *pipe) listen(ctx context.Context, s *gateway.Session) {
	last := ""
	for ctx.Err() == nil {
		a, err := p.gateway.Listen(ctx, s, last)
		if err == nil && a.Stream == nil {
			if a.Close(); a.Status == http.StatusMethodNotAllowed {
				return // the server has no such stream
			}
		}
		for err == nil && a.Stream != nil {
			var it upstream.Item
			if it, err = a.Stream.Next(ctx); err != nil {
				a.Close()
				break
			}
			if it.ID != "" {
				last = it.ID
			}
			if len(it.Msg) > 0 {
				p.write(it.Msg)
			}
		}
		pause(ctx)
	}
}

// pause waits before a lost stream is opened again.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(listenAgain):
	}
}
