package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// errNotSSE is said of a URL that does not speak the old transport either.
var errNotSSE = errors.New("it offers no event stream")

// sseConn asks a server over the transport of 2024-11-05: questions are posted
// to an address the server names, answers arrive on one long stream.
type sseConn struct {
	*postConn
	endpoint string
	stream   *http.Response
	events   *rpc.Events
}

// connectSSE opens the stream and waits for the address to post to, which must
// be on the same host: our headers are for nobody else.
func (l *lister) connectSSE(ctx context.Context, post *postConn) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, post.url, nil)
	if err != nil {
		return err
	}
	post.setHeader(req)
	req.Header.Set("Accept", "text/event-stream")
	res, err := post.do(req)
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusUnauthorized {
		_ = res.Body.Close()
		return ErrLogin
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode != http.StatusOK || media != "text/event-stream" {
		_ = res.Body.Close()
		return errNotSSE
	}
	c := &sseConn{postConn: post, stream: res, events: rpc.NewEvents(res.Body, post.max)}
	l.conn = c
	base, err := url.Parse(post.url)
	if err != nil {
		return err
	}
	to, err := awaitEndpoint(c.events, base)
	if err != nil {
		return fmt.Errorf("waiting for the address to post to: %w", err)
	}
	c.endpoint = to.String()
	m, err := c.ask(ctx, "initialize", initializeParams())
	if err != nil {
		return err
	}
	return l.greet(ctx, c, m)
}

func (c *sseConn) ask(ctx context.Context, method string, params []byte) (rpc.Message, error) {
	c.next++
	id := strconv.FormatInt(c.next, 10)
	if err := c.send(ctx, rpc.NewRequest(c.next, method, params)); err != nil {
		return rpc.Message{}, err
	}
	for {
		ev, err := c.events.Next()
		if err != nil {
			return rpc.Message{}, fmt.Errorf("the stream ended: %w", err)
		}
		m, err := rpc.Parse(ev.Data, strict.Limits{Bytes: c.max})
		if err == nil && m.Kind == rpc.Response && string(m.ID()) == id {
			return m, nil
		}
	}
}

func (c *sseConn) notify(ctx context.Context, method string, params []byte) error {
	return c.send(ctx, rpc.NewNotification(method, params))
}

func (c *sseConn) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	c.setHeader(req)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return ErrLogin
	case res.StatusCode >= 300:
		return &statusError{res.StatusCode}
	}
	return nil
}

func (c *sseConn) close() {
	_ = c.stream.Body.Close()
	c.client.CloseIdleConnections()
}
