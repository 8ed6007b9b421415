package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// direct posts short messages to a plain http:// address: nearly every call to a
// server on the same machine or network. It is there for its cost. net/http's
// Transport hands each request to two goroutines of the connection and back;
// here the caller's own goroutine writes the request and reads the answer.
// Everything else (TLS, proxies, HTTP/2, long bodies, GET streams) goes through
// the Transport.
type direct struct {
	addr    string
	dialer  net.Dialer
	silence time.Duration

	mu    sync.Mutex
	idle  []*directConn // the freshest last
	sweep *time.Timer
}

const (
	directBody  = 64 << 10        // the longest message sent this way
	idleConns   = 512             // how many connections wait for the next call
	idleFor     = 4 * time.Second // see newTransport
	headerBytes = 64 << 10
)

// newDirect returns nil where the Transport must be used.
func newDirect(u *url.URL, o ServerOptions) *direct {
	if u.Scheme != "http" || u.User != nil {
		return nil
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return nil
	}
	addr := u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), "80")
	}
	return &direct{addr: addr, dialer: net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}, silence: o.Silence}
}

// directConn is one connection, used by one call at a time.
type directConn struct {
	net.Conn
	raw   syscall.RawConn
	r     *bufio.Reader
	left  int64 // how many bytes may still be read
	out   []byte
	since time.Time // when it became idle
}

// Read reads from the connection within the bound set for it.
func (c *directConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLongHeader
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

var errLongHeader = errors.New("the headers of the answer are too long")

// post sends one message and returns the answer's head; its body must be closed.
func (d *direct) post(ctx context.Context, u *url.URL, h http.Header, body []byte) (*http.Response, error) {
	c, err := d.get(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	res, err := c.exchange(u, h, body, d.silence)
	if err != nil {
		stop()
		_ = c.Close()
		return nil, err
	}
	if contentType(res.Header) == "text/event-stream" {
		_ = c.SetReadDeadline(time.Time{}) // the stream has a watchdog of its own
		if ctx.Err() != nil {
			_ = c.SetDeadline(time.Unix(1, 0))
		}
	}
	res.Body = &directAnswer{body: res.Body, from: d, conn: c, stop: stop, keep: !res.Close}
	return res, nil
}

func (c *directConn) exchange(u *url.URL, h http.Header, body []byte, silence time.Duration) (*http.Response, error) {
	var err error
	if c.out, err = appendRequest(c.out[:0], u, h, body); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(silence)); err != nil {
		return nil, err
	}
	if _, err := c.Write(c.out); err != nil {
		return nil, err
	}
	c.left = headerBytes
	for {
		res, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return nil, err
		}
		if res.StatusCode >= http.StatusOK { // 1xx come before the answer
			c.left = math.MaxInt64
			return res, nil
		}
	}
}

// appendRequest writes an HTTP request. Names are ours, configured ones were
// checked and a client's were read by net/http; of values that nobody made fit for
// a header, none may begin a line, or a request, of its own.
func appendRequest(b []byte, u *url.URL, h http.Header, body []byte) ([]byte, error) {
	b = append(append(b, "POST "...), u.RequestURI()...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), u.Host...)
	b = append(b, "\r\nUser-Agent: annotary\r\n"...)
	for name, values := range h {
		for _, v := range values {
			if strings.ContainsAny(v, "\r\n\x00") {
				return b, fmt.Errorf("the header %s cannot be sent", name)
			}
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...), nil
}

// get returns an idle connection that is still good, or a new one.
func (d *direct) get(ctx context.Context) (*directConn, error) {
	for {
		d.mu.Lock()
		n := len(d.idle)
		if n == 0 {
			d.mu.Unlock()
			return d.dial(ctx)
		}
		c := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		if time.Since(c.since) < idleFor && c.r.Buffered() == 0 && stillOpen(c.raw) {
			return c, nil
		}
		_ = c.Close()
	}
}

func (d *direct) dial(ctx context.Context) (*directConn, error) {
	conn, err := d.dialer.DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, err
	}
	c := &directConn{Conn: conn}
	if sc, ok := conn.(syscall.Conn); ok {
		if c.raw, err = sc.SyscallConn(); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	c.r = bufio.NewReaderSize(c, 4<<10)
	return c, nil
}

// put keeps a connection for the next call.
func (d *direct) put(c *directConn) {
	c.since = time.Now()
	if cap(c.out) > directBody {
		c.out = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.idle) >= idleConns {
		_ = c.Close()
		return
	}
	d.idle = append(d.idle, c)
	if d.sweep == nil {
		d.sweep = time.AfterFunc(idleFor, d.closeOld)
	}
}

// closeOld closes what has been idle for too long, and comes again while there
// is anything left.
func (d *direct) closeOld() {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := 0
	for old < len(d.idle) && time.Since(d.idle[old].since) >= idleFor {
		_ = d.idle[old].Close()
		old++
	}
	d.idle = append(d.idle[:0], d.idle[old:]...)
	clear(d.idle[len(d.idle) : len(d.idle)+old])
	if d.sweep = nil; len(d.idle) > 0 {
		d.sweep = time.AfterFunc(idleFor, d.closeOld)
	}
}

func (d *direct) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.idle {
		_ = c.Close()
	}
	d.idle = nil
}

// directAnswer is the body of an answer. Read to its end it gives the connection
// back; closed before, it ends it, which to a modern server is the cancellation.
type directAnswer struct {
	body io.ReadCloser
	from *direct
	stop func() bool
	keep bool

	mu   sync.Mutex
	conn *directConn // nil once it is given back
}

// Read reads the body.
func (a *directAnswer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if err == io.EOF {
		a.done(a.keep)
	}
	return n, err
}

// Close gives the answer up. It may be called while Read waits.
func (a *directAnswer) Close() error {
	a.done(false)
	return nil
}

// done lets go of the connection, once. One whose call was cancelled at the last
// moment is not used again.
func (a *directAnswer) done(keep bool) {
	a.mu.Lock()
	c := a.conn
	a.conn = nil
	a.mu.Unlock()
	if c == nil {
		return
	}
	if a.stop() && keep {
		a.from.put(c)
	} else {
		_ = c.Close()
	}
}
