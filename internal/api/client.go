package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/override"
)

// A Client asks a running gateway.
type Client struct {
	http  http.Client
	base  string // the URL of a gateway of another machine; empty for the one here
	token func() (string, error)
}

// NewRemoteClient makes a client of the gateway whose operator's channel has this
// URL. It follows no redirect: the token is for this gateway.
func NewRemoteClient(url, token string) *Client {
	c := &Client{base: strings.TrimSuffix(url, "/"), token: func() (string, error) { return token, nil }}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// NewClient makes a client that reaches the gateway by dial and shows it the token.
func NewClient(dial func() (net.Conn, error), token func() (string, error)) *Client {
	return &Client{token: token, http: http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() },
	}}}
}

// Close lets the gateway go.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status says how the gateway is doing.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var a Status
	return a, c.get(ctx, "GET", "/v1/status", nil, &a)
}

// Why says what would become of a call.
func (c *Client) Why(ctx context.Context, q WhyRequest) (WhyAnswer, error) {
	var a WhyAnswer
	return a, c.get(ctx, "POST", "/v1/why", q, &a)
}

// Overrides returns the operator's words in force.
func (c *Client) Overrides(ctx context.Context) (Overrides, error) {
	var a Overrides
	return a, c.get(ctx, "GET", "/v1/overrides", nil, &a)
}

// Say has the gateway write the operator's words down in its store.
func (c *Client) Say(ctx context.Context, words []override.Word) error {
	return c.get(ctx, "POST", "/v1/overrides", Sayings{words}, &struct{}{})
}

// Backup writes a copy of what the gateway keeps and returns its size.
func (c *Client) Backup(ctx context.Context, w io.Writer) (int64, error) {
	res, err := c.do(ctx, "GET", "/v1/backup", nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(w, res.Body)
	if err != nil {
		return n, annotary.E(annotary.CodeConnect, "the gateway stopped before everything was copied", err).
			WithHint("its log says why; try again")
	}
	return n, nil
}

// Reload has the gateway read its configuration again.
func (c *Client) Reload(ctx context.Context) error {
	return c.get(ctx, "POST", "/v1/reload", struct{}{}, &struct{}{})
}

// Audit calls each for every entry that is meant, as it stands in the log.
func (c *Client) Audit(ctx context.Context, f Filter, each func(line []byte) error) error {
	res, err := c.do(ctx, "GET", "/v1/audit?"+f.query().Encode(), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, audit.MaxBytes+2)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			return err
		}
	}
	if lines.Err() != nil {
		return annotary.E(annotary.CodeConnect, "the gateway stopped before the log was read to its end", lines.Err()).
			WithHint("ask again")
	}
	return nil
}

// get asks and reads the answer into v.
func (c *Client) get(ctx context.Context, method, path string, body, v any) error {
	res, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(v)
}

// do asks, and returns what the gateway says went wrong as an error.
func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, annotary.E(annotary.CodeInvalid, "the question cannot be written: "+err.Error(), err).
				WithHint("arguments are a JSON object")
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, cmp.Or(c.base, "http://gateway")+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	token, err := c.token()
	var res *http.Response
	if err == nil {
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err = c.http.Do(req)
	}
	if err != nil && c.base != "" {
		return nil, annotary.E(annotary.CodeConnect, "no gateway answers at "+c.base, err).
			WithHint("the address is that of operator.listen, and not of the MCP clients")
	}
	if err != nil {
		return nil, NotRunning(err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	var f Failure
	if err := json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&f); err != nil {
		return nil, annotary.E(annotary.CodeInternal, "the gateway answered "+res.Status, err)
	}
	return nil, annotary.E(f.Code, f.Message, nil).WithHint(f.Hint)
}

// NotRunning is the error of a command that finds no gateway on this machine.
func NotRunning(err error) error {
	return annotary.E(annotary.CodeConnect, "no gateway is running here", err).
		WithHint("start one with 'annotary serve', or name the configuration of the one you mean with --config")
}
