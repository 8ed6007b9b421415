package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

const acceptBoth = "application/json, text/event-stream"

// postConn asks a server over streamable HTTP: one POST for each question.
type postConn struct {
	client  *http.Client
	url     string
	header  map[string]string
	max     int
	version string // sent as header, once known
	session string
	next    int64
}

// statusError is an HTTP answer that carries no message.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("it answered HTTP %d %s", e.code, http.StatusText(e.code))
}

// newHTTPClient follows redirects within the host only: the headers we send
// are meant for nobody else.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != via[0].URL.Host || len(via) > 3 {
				return fmt.Errorf("it redirects to %s", req.URL.Host)
			}
			return nil
		},
	}
}

// connectURL finds out how a URL wants to be spoken to: modern, legacy, or the
// transport that came before streamable HTTP.
func (l *lister) connectURL(ctx context.Context) error {
	if _, err := parseURL(l.target.URL); err != nil {
		return err
	}
	c := &postConn{client: newHTTPClient(), url: l.target.URL, header: l.target.Header, max: l.opts.MaxBytes}
	l.conn = c
	c.version = rpc.Modern
	m, err := c.ask(ctx, "server/discover", discoverParams())
	if err == nil && m.Fault() == nil && l.discovered(m) {
		c.version = l.out.Version
		return nil
	}
	if err != nil && !tryLegacy(err) {
		return err
	}
	c.version, c.session = "", ""
	m, err = c.ask(ctx, "initialize", initializeParams())
	if err == nil {
		if err = l.initialized(m); err == nil {
			c.version = l.out.Version
			return c.notify(ctx, "notifications/initialized", nil)
		}
		return err
	}
	if se, ok := errors.AsType[*statusError](err); ok && (se.code == http.StatusNotFound || se.code == http.StatusMethodNotAllowed) {
		if old := l.connectSSE(ctx, c); !errors.Is(old, errNotSSE) {
			return old
		}
	}
	return err
}

// tryLegacy reports whether a failed server/discover says no more than that the
// server does not know it.
func tryLegacy(err error) bool {
	se, ok := errors.AsType[*statusError](err)
	return (ok && se.code < 500) || errors.Is(err, errNoAnswer)
}

// errNoAnswer is said of an HTTP answer without the response asked for.
var errNoAnswer = errors.New("it sent no answer")

func (c *postConn) ask(ctx context.Context, method string, params []byte) (rpc.Message, error) {
	c.next++
	res, err := c.post(ctx, method, rpc.NewRequest(c.next, method, params))
	if err != nil {
		return rpc.Message{}, err
	}
	defer res.Body.Close()
	if id := res.Header.Get(rpc.HeaderSession); id != "" {
		c.session = id
	}
	return c.answer(res)
}

func (c *postConn) notify(ctx context.Context, method string, params []byte) error {
	res, err := c.post(ctx, method, rpc.NewNotification(method, params))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return &statusError{res.StatusCode}
	}
	return nil
}

func (c *postConn) post(ctx context.Context, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.setHeader(req)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", acceptBoth)
	if rpc.IsModern(c.version) {
		req.Header.Set(rpc.HeaderMethod, method)
	}
	return c.do(req)
}

// do sends a request. Its errors go to logs, so that they do not name the address.
func (c *postConn) do(req *http.Request) (*http.Response, error) {
	res, err := c.client.Do(req)
	return res, rpc.Unnamed(err)
}

func (c *postConn) setHeader(req *http.Request) {
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	if c.version != "" {
		req.Header.Set(rpc.HeaderVersion, c.version)
	}
	if c.session != "" {
		req.Header.Set(rpc.HeaderSession, c.session)
	}
}

// answer finds the response in the HTTP answer: the body itself, or one event
// of a stream.
func (c *postConn) answer(res *http.Response) (rpc.Message, error) {
	if res.StatusCode == http.StatusUnauthorized {
		return rpc.Message{}, ErrLogin
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case media == "text/event-stream" && res.StatusCode < 300:
		return c.answerIn(rpc.NewEvents(res.Body, c.max))
	case media == "application/json":
		body, err := rpc.ReadAll(res.Body, res.ContentLength, c.max)
		if err != nil {
			return rpc.Message{}, err
		}
		m, err := rpc.Parse(body, strict.Limits{Bytes: c.max})
		if err == nil && m.Kind == rpc.Response {
			return m, nil
		}
		if res.StatusCode < 300 {
			return rpc.Message{}, errors.Join(errNoAnswer, err)
		}
	}
	if res.StatusCode >= 300 {
		return rpc.Message{}, &statusError{res.StatusCode}
	}
	return rpc.Message{}, fmt.Errorf("%w but content of type %q", errNoAnswer, media)
}

func (c *postConn) answerIn(events *rpc.Events) (rpc.Message, error) {
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return rpc.Message{}, errNoAnswer
		}
		if err != nil {
			return rpc.Message{}, err
		}
		m, err := rpc.Parse(ev.Data, strict.Limits{Bytes: c.max})
		if err == nil && m.Kind == rpc.Response {
			return m, nil
		}
	}
}

// close ends a legacy session; a server that forgot it already is fine.
func (c *postConn) close() {
	defer c.client.CloseIdleConnections()
	if c.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url, nil)
	if err != nil {
		return
	}
	c.setHeader(req)
	if res, err := c.do(req); err == nil {
		_ = res.Body.Close()
	}
}
