package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// A Stdio carries the lines of one client to the gateway and back. It outlives
// the gateway: when that dies, what was asked is answered with an error, and the
// next line finds, or starts, the next gateway. A handshake is then repeated as
// the client spoke it.
type Stdio struct {
	// Dial connects to the gateway, starting one if need be.
	Dial func(context.Context) (net.Conn, error)
	// Hello is sent first on every connection.
	Hello []byte
	// In and Out are the client's.
	In  io.Reader
	Out io.Writer

	printing sync.Mutex
	readers  sync.WaitGroup // one for each connection, also of those that were lost

	mu      sync.Mutex
	conn    net.Conn
	pending map[string]struct{} // ids of requests without an answer
	swallow string              // the id of a repeated initialize, whose answer is ours
	hello   []byte              // initialize as the client sent it
	ready   []byte              // notifications/initialized as the client sent it
}

// maxLine is the longest line carried either way; the gateway has its own,
// lower limits.
const maxLine = 64 << 20

// errGatewayGone is what a client hears of calls that were under way.
var errGatewayGone = errors.New("the gateway stopped before it answered: whether the call had an effect is unknown")

// Run carries lines until the client's end closes and all answers are given.
func (s *Stdio) Run(ctx context.Context) error {
	s.pending = map[string]struct{}{}
	lines := rpc.NewLines(s.In, maxLine)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return s.finish(ctx)
		}
		if errors.Is(err, rpc.ErrLong) {
			_, f := faultOf(err)
			err = s.print(f.Answer(nil))
		} else if err == nil {
			err = s.send(ctx, line)
		}
		if err != nil {
			return err
		}
	}
}

// send takes one line of the client to the gateway. What cannot be sent is
// answered here.
func (s *Stdio) send(ctx context.Context, line []byte) error {
	m, _ := rpc.Parse(line, strict.Limits{Bytes: maxLine}) // the gateway says what is wrong with it
	conn, err := s.connect(ctx, &m)
	for err == nil && !s.note(conn, &m) {
		conn, err = s.connect(ctx, &m)
	}
	if err == nil {
		_, _ = conn.Write(append(line, '\n')) // if it fails the reader notices, and answers
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if m.Kind == rpc.Request {
		return s.print((&rpc.Fault{Code: rpc.CodeInternal, Message: "no gateway could be reached: " + err.Error()}).Answer(m.ID()))
	}
	return nil
}

// note remembers what must be answered, and what must be repeated. It reports
// false if the connection was lost meanwhile: nobody would answer.
func (s *Stdio) note(conn net.Conn, m *rpc.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != conn {
		return false
	}
	if m.Kind == rpc.Request {
		s.pending[string(m.ID())] = struct{}{}
	}
	switch m.Method {
	case "initialize":
		s.hello, s.ready = append([]byte(nil), m.Raw...), nil
	case "notifications/initialized":
		s.ready = append([]byte(nil), m.Raw...)
	}
	return true
}

// connect returns the connection to the gateway, a new one if the last is lost.
func (s *Stdio) connect(ctx context.Context, m *rpc.Message) (net.Conn, error) {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	conn, lines, err := s.greet(ctx)
	if err != nil {
		return nil, err
	}
	var greeting []byte
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hello != nil && m.Method != "initialize" {
		hello, err := rpc.Parse(s.hello, strict.Limits{})
		if err != nil {
			return nil, err
		}
		s.swallow = string(hello.ID())
		greeting = append(append(greeting, s.hello...), '\n')
		if s.ready != nil {
			greeting = append(append(greeting, s.ready...), '\n')
		}
	}
	if _, err := conn.Write(greeting); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("greeting the gateway: %w", err)
	}
	s.conn = conn
	s.readers.Go(func() { s.read(conn, lines) })
	return conn, nil
}

// greetWithin is how long gateways that do not greet back are tried.
const greetWithin = 10 * time.Second

// greet connects, says hello and waits to be greeted back. One that was killed a
// moment ago may still take connections without ever serving them; whoever does
// not greet has seen nothing of the client's, so another is tried.
func (s *Stdio) greet(ctx context.Context) (net.Conn, *rpc.Lines, error) {
	for until := time.Now().Add(greetWithin); ; time.Sleep(10 * time.Millisecond) {
		conn, err := s.Dial(ctx)
		if err != nil {
			return nil, nil, err
		}
		lines := rpc.NewLines(conn, maxLine)
		_ = conn.SetDeadline(until)
		if _, err = conn.Write(s.Hello); err == nil {
			if _, err = lines.Next(); err == nil {
				return conn, lines, conn.SetDeadline(time.Time{})
			}
		}
		_ = conn.Close()
		if ctx.Err() != nil || time.Now().After(until) {
			return nil, nil, fmt.Errorf("greeting the gateway: %w", err)
		}
	}
}

// read takes the gateway's lines to the client.
func (s *Stdio) read(conn net.Conn, lines *rpc.Lines) {
	for {
		line, err := lines.Next()
		if err != nil && !errors.Is(err, rpc.ErrLong) {
			s.lost(conn)
			return
		}
		if err == nil && s.answered(line) && s.print(line) != nil {
			s.lost(conn)
			return
		}
	}
}

// answered crosses a response off and reports whether the client is to see it.
func (s *Stdio) answered(line []byte) bool {
	m, err := rpc.Parse(line, strict.Limits{Bytes: maxLine})
	if err != nil || m.Kind != rpc.Response {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := string(m.ID())
	if s.swallow != "" && s.swallow == id {
		s.swallow = ""
		return false
	}
	delete(s.pending, id)
	return true
}

// lost answers what the gateway left open.
func (s *Stdio) lost(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	open := s.pending
	s.pending, s.conn, s.swallow = map[string]struct{}{}, nil, ""
	s.mu.Unlock()
	for id := range open {
		_ = s.print((&rpc.Fault{Code: rpc.CodeInternal, Message: errGatewayGone.Error()}).Answer([]byte(id)))
	}
}

// print writes one line to the client. Standard output carries nothing else.
func (s *Stdio) print(line []byte) error {
	s.printing.Lock()
	defer s.printing.Unlock()
	_, err := s.Out.Write(append(line, '\n'))
	return err
}

// finish tells the gateway that nothing more comes and waits for its answers, and
// for those to what an earlier one left open.
func (s *Stdio) finish(ctx context.Context) error {
	s.mu.Lock()
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() { s.readers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}
