// Package console is what people open in a browser: the page on which they answer
// the questions of calls.
//
// It has a listener of its own, apart from that of MCP clients. A link to a
// question holds the question's id and nothing else: without a session it shows
// nothing and gives nothing. A session comes from a link for one use that
// `annotary approvals open` opens in the browser of whoever runs the gateway
// ([Console.NewLogin]), or from an identity provider ([Login]).
//
// Pages are rendered here, need no script and allow none. What strangers wrote
// stands in them as text. Every request is held against the names the page is
// served under, every change against where it came from and a token of its
// session.
//
// The package decides nothing: it asks the gateway who may answer.
package console

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/policy"
)

// A Gateway has questions, and takes answers.
type Gateway interface {
	// Desk is where questions are kept, nil where nobody is asked.
	Desk() *approval.Desk
	// Answer records what a person says, if that person may say it.
	Answer(ctx context.Context, id string, said approval.Answer) (*approval.Approval, error)
	// Rehearsal says how the call behind a question can be tried, nil if it
	// cannot; Rehearse tries it, with a person's word where one is needed.
	Rehearsal(ctx context.Context, id string) *gateway.Rehearsal
	Rehearse(ctx context.Context, id string, word *approval.Answer) (string, error)
	// MayAnswer reports whether a person may say yes through a channel.
	MayAnswer(ctx context.Context, a *approval.Approval, by *annotary.Principal, channel policy.Channel) bool
}

// A Store keeps sessions, by compare-and-set.
type Store interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// Options say what the pages are about and how they are reached.
type Options struct {
	Gateway Gateway
	Store   Store
	// URL is where browsers reach the pages, without a path.
	URL string
	// Login lets people in by an identity provider. If nil, only links for one
	// use do, and whoever has one is Owner.
	Login *Login
	Owner annotary.Principal
	// Hook takes answers from other programs. If nil, none are taken.
	Hook *Hook
	// Log receives what an operator should know. If nil, nothing is logged.
	Log *slog.Logger
}

// A Console serves the pages.
type Console struct {
	Options
	hosts  map[string]bool
	secure bool // browsers come by https
	tries  tries
}

// New makes a console.
func New(o Options) (*Console, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the address of the page is http:// or https:// and a host, without a path")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.URL = u.Scheme + "://" + u.Host
	c := &Console{Options: o, hosts: map[string]bool{u.Host: true}, secure: u.Scheme == "https"}
	if host, port, err := net.SplitHostPort(u.Host); err == nil && isLoopback(host) {
		for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
			c.hosts[name+":"+port] = true
		}
	}
	return c, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Link is the address of the page for a question.
func (c *Console) Link(id string) string { return c.URL + "/approvals/" + url.PathEscape(id) }

// A route is one address, and what it takes to be answered there.
type route struct {
	pattern string
	open    bool // no session is needed
	answer  func(*Console, http.ResponseWriter, *http.Request, *session) error
}

var routes = []route{
	{"GET /{$}", false, (*Console).home},
	{"GET /approvals", false, (*Console).list},
	{"GET /approvals/{id}", false, (*Console).show},
	{"POST /approvals/{id}", false, (*Console).answerOne},
	{"POST /approvals/{id}/try", false, (*Console).try},
	{"POST /approvals", false, (*Console).answerMany},
	{"POST /logout", false, (*Console).logout},
	{"GET /login", true, (*Console).login},
	{"GET /login/callback", true, (*Console).loggedIn},
	{"POST /answers", true, (*Console).hook},
	{"GET /style.css", true, (*Console).style},
}

// Handler answers browsers.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if err := c.serve(&r, w, req); err != nil {
				c.fail(w, req, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) { c.fail(w, req, errNothingHere) })
	return c.guard(mux)
}

// serve finds out whose session it is, and lets the route answer.
func (c *Console) serve(r *route, w http.ResponseWriter, req *http.Request) error {
	if r.open {
		return r.answer(c, w, req, nil)
	}
	s, err := c.sessionOf(req)
	if err != nil {
		return err
	}
	if req.Method == http.MethodPost {
		req.Body = http.MaxBytesReader(w, req.Body, maxForm)
		if err := req.ParseForm(); err != nil {
			return errBadForm
		}
		if !s.knows(req.PostForm.Get("csrf")) {
			return errForeign
		}
	}
	return r.answer(c, w, req, s)
}

// maxForm bounds what a form may carry.
const maxForm = 256 << 10

// Serve answers on l until the context ends.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler: c.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
