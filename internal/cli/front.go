package cli

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/console"
)

// A front is the page on which people answer the questions of a running gateway.
type front struct {
	console atomic.Pointer[console.Console]
	end     context.CancelFunc
}

// link is the address of the page for a question, empty if there is no page.
func (f *front) link(id string) string {
	if c := f.console.Load(); c != nil {
		return c.Link(id)
	}
	return ""
}

// login makes a link that signs the owner in on the page.
func (f *front) login(ctx context.Context, id string) (api.LoginAnswer, error) {
	c := f.console.Load()
	if c == nil {
		return api.LoginAnswer{}, api.ErrNoPage()
	}
	link, err := c.NewLogin(ctx, id)
	page := c.URL + "/approvals"
	if id != "" {
		page = c.Link(id)
	}
	return api.LoginAnswer{Link: link, Page: page}, err
}

func (f *front) close() {
	if f.end != nil {
		f.end()
	}
}

// openPage serves the page once there is anything to ask, and tells the webhook.
// What it is made from is read once: it does not change while the gateway runs.
func (d *daemon) openPage(c *config.Config) error {
	if c.Page.Listen == "off" || d.front.console.Load() != nil {
		return nil
	}
	l, err := listenPage(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	page, err := d.console(ctx, c, l.Addr())
	if err != nil {
		cancel()
		_ = l.Close()
		return err
	}
	d.front.end = cancel
	d.front.console.Store(page)
	go func() {
		if err := page.Serve(ctx, l); err != nil {
			d.log.Error("the approval page is no longer served", "error", err)
		}
	}()
	d.log.Info("people answer questions on a page", "at", page.URL, "open it with", "annotary approvals open")
	return nil
}

// tellHook tells the webhook of questions. It needs the gateway to judge.
func (d *daemon) tellHook(ctx context.Context) {
	c := d.front.console.Load()
	if c == nil || c.Hook == nil {
		return
	}
	go func() {
		if err := c.Tell(ctx); err != nil && ctx.Err() == nil {
			d.log.Error("the webhook is no longer told of questions", "error", err)
		}
	}()
}

// listenPage listens where the page is to be. The usual port may be taken by the
// gateway of another configuration: then any other will do.
func listenPage(c *config.Config) (net.Listener, error) {
	secure, err := tlsConfig(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", c.Page.Listen)
	if err != nil && c.Page.Listen == config.Default().Page.Listen {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, annotary.E(annotary.CodeConnect, "the approval page cannot listen on "+c.Page.Listen+": "+inTheWay(err), err).
			WithHint("set page.listen in the configuration to another address, or to off")
	}
	if secure == nil {
		return l, nil
	}
	secure.ClientAuth = tls.NoClientCert // people sign in
	return tls.NewListener(l, secure), nil
}

func (d *daemon) console(ctx context.Context, c *config.Config, at net.Addr) (*console.Console, error) {
	o := console.Options{
		Gateway: d.gateway, Store: d.ledger.approvals, Log: d.log, URL: c.BaseURL(c.Page.URL, at.String()),
		Owner: annotary.Principal{Tenant: annotary.DefaultTenant, Subject: annotary.LocalSubject},
	}
	if login := c.Page.Login; login.Issuer != "" {
		var err error
		o.Login, err = console.NewLogin(ctx, o.URL, console.LoginOptions{
			Issuer: login.Issuer, ClientID: login.ClientID, ClientSecret: login.ClientSecret.Value(),
			Scopes: login.Scopes, Groups: login.Groups, Tenant: login.Tenant,
		})
		if err != nil {
			return nil, err
		}
	} else if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return nil, annotary.E(annotary.CodeConfig, "other machines can reach the approval page at "+at.String()+", and nobody can sign in there", nil).
			WithHint("name an identity provider under page.login, or listen on 127.0.0.1")
	}
	key, err := c.Webhook.Key()
	if err != nil {
		return nil, err
	}
	if key != nil {
		o.Hook = &console.Hook{URL: c.Webhook.URL.Value(), Secret: key}
	}
	return console.New(o)
}
