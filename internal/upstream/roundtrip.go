package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// newTransport is tuned for many calls to one host. Connections are given up
// before common servers do (Node: 5 s), since a call written to a connection
// that is just being closed has an unknown outcome.
func newTransport(o ServerOptions) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    o.Connect,
		ResponseHeaderTimeout:  o.Silence,
		IdleConnTimeout:        4 * time.Second,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    512,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // bytes pass as they are
		ForceAttemptHTTP2:      true,
	}
}

func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%q is not an HTTP address", rpc.Address(raw))
	}
	return u, nil
}

// roundTrip sends one HTTP request. Redirects are followed within the host and
// remembered.
func (s *Server) roundTrip(ctx context.Context, method string, h http.Header, body []byte) (*http.Response, error) {
	for range 3 {
		u := s.url.Load()
		var res *http.Response
		var err error
		if s.direct != nil && method == http.MethodPost && len(body) <= directBody {
			res, err = s.direct.post(ctx, u, h, body)
		} else {
			res, err = s.transport.RoundTrip(newRequest(ctx, method, u, h, body))
		}
		if err != nil {
			return nil, transportError(ctx, err)
		}
		if res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusPermanentRedirect {
			return res, nil
		}
		to, err := u.Parse(res.Header.Get("Location"))
		_ = res.Body.Close()
		if err != nil || to.Host != u.Host || to.Scheme != u.Scheme {
			return nil, fmt.Errorf("%w: it redirects elsewhere", ErrBroken)
		}
		s.url.Store(to)
	}
	return nil, fmt.Errorf("%w: it redirects in a circle", ErrBroken)
}

func newRequest(ctx context.Context, method string, u *url.URL, h http.Header, body []byte) *http.Request {
	req := (&http.Request{
		Method: method, URL: u, Host: u.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body != nil {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req
}

// checkHeader refuses configured headers that would break a request apart.
func checkHeader(header map[string]string) error {
	for name, value := range header {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Accept", rpc.HeaderSession:
			return fmt.Errorf("the header %q is set by the protocol", name)
		}
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) ||
			strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the header %q cannot be sent", name)
		}
	}
	return nil
}

// transportError says what a failed round trip means for the call.
func transportError(ctx context.Context, err error) error {
	var op *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: %w", ErrSilent, err)
	default:
		return fmt.Errorf("%w: %w", ErrStopped, err)
	}
}

// answer turns an HTTP answer into ours. Errors that are messages pass as they
// are; others say nothing to an MCP client and become errors of ours.
func (s *Server) answer(ctx context.Context, res *http.Response) (*Answer, error) {
	a := &Answer{Status: res.StatusCode, Session: res.Header.Get(rpc.HeaderSession) != ""}
	switch contentType(res.Header) {
	case "text/event-stream":
		if res.StatusCode == http.StatusOK {
			a.Stream, a.Events = newEventStream(s, res.Body), true
			return a, nil
		}
	case "application/json":
		buf, err := rpc.ReadBody(res.Body, res.ContentLength, s.opts.MaxBytes)
		_ = res.Body.Close()
		if errors.Is(err, rpc.ErrLong) {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if err != nil { // cut short
			return nil, transportError(ctx, err)
		}
		if looksLikeMessage(*buf, res.StatusCode) {
			a.buf, a.Body = buf, *buf
			return a, nil
		}
		rpc.PutBuffer(buf)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again
	_ = res.Body.Close()
	return a, statusErr(res.StatusCode)
}

// looksLikeMessage spares an error that is JSON but no message, such as
// {"error":"not found"}, from reaching a client that expects JSON-RPC.
func looksLikeMessage(body []byte, status int) bool {
	return len(body) > 0 && (status < 300 || strict.Get(body, "jsonrpc") != nil)
}

// statusErr says what an HTTP status without a message means; nil if all is
// well.
func statusErr(status int) error {
	switch status {
	case http.StatusAccepted, http.StatusNoContent, http.StatusOK, http.StatusMethodNotAllowed:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrLogin
	case http.StatusNotFound:
		return ErrNoSession
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusRequestTimeout {
		return fmt.Errorf("%w: %w: HTTP status %d", ErrBroken, ErrRejected, status)
	}
	return fmt.Errorf("%w: HTTP status %d", ErrBroken, status)
}

func contentType(h http.Header) string {
	v := h["Content-Type"]
	if len(v) == 0 {
		return ""
	}
	media, _, _ := strings.Cut(v[0], ";")
	return strings.ToLower(strings.TrimSpace(media))
}
