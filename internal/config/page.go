package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary/internal/identity"
)

// Page is where people answer questions in a browser. It has an address of its
// own: what MCP clients reach is not where calls are approved.
type Page struct {
	// Listen is the address of the page. If the default one is taken, another
	// port is used; off means that there is no page.
	Listen string `yaml:"listen" default:"127.0.0.1:7338"`
	// URL is how browsers reach the page if not by the address above, such as
	// https://approvals.example.com. It has no path.
	URL string `yaml:"url"`
	// Login lets people in by an identity provider. If it is left out, the person
	// who runs the gateway signs in with annotary approvals open.
	Login PageLogin `yaml:"login"`
}

// PageLogin says by which OpenID Connect provider people sign in.
type PageLogin struct {
	// Issuer is the address of the provider, as it names itself.
	Issuer string `yaml:"issuer"`
	// ClientID is as whom the page is known there. Its redirect address is that
	// of the page, with /login/callback.
	ClientID string `yaml:"client_id"`
	// ClientSecret proves it.
	ClientSecret Secret `yaml:"client_secret"`
	// Scopes are asked for besides openid.
	Scopes []string `yaml:"scopes"`
	// Groups is the claim that holds the groups of a person.
	Groups string `yaml:"groups" default:"groups"`
	// Tenant is whom the people belong to. If empty, the only tenant there is.
	Tenant string `yaml:"tenant"`
}

// Webhook tells another program of questions and takes answers from it, signed as
// the Standard Webhooks specification has it.
type Webhook struct {
	// URL is where questions are sent. If empty, they are not.
	URL Text `yaml:"url"`
	// Secret signs what is sent and proves what comes in: whsec_ and the base64
	// of at least 24 random bytes. Whoever has it can answer through channel
	// webhook in the name of anybody. If empty, no answers are taken.
	Secret Secret `yaml:"secret"`
}

// What a secret of the Standard Webhooks specification looks like.
const (
	secretPrefix = "whsec_"
	minSecret    = 24
)

// Key returns what the secret signs with, nil if there is none.
func (w *Webhook) Key() ([]byte, error) {
	if w.Secret.Value() == "" {
		return nil, nil
	}
	text, ok := strings.CutPrefix(w.Secret.Value(), secretPrefix)
	if !ok {
		return nil, errors.New("does not begin with " + secretPrefix)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) < minSecret {
		return nil, fmt.Errorf("is not %s and the base64 of at least %d bytes", secretPrefix, minSecret)
	}
	return raw, nil
}

func (d *decoder) checkPage(c *Config, root *yaml.Node) {
	p := &c.Page
	if p.Listen != string(Off) {
		d.checkListen(root, "page.listen", p.Listen)
		host, _, _ := net.SplitHostPort(p.Listen)
		if ip := net.ParseIP(host); p.Login.Issuer == "" && c.Judged() && ip != nil && !ip.IsLoopback() {
			d.at(root, []string{"page", "listen"}, "name an identity provider under page.login, or listen on 127.0.0.1",
				"other machines can reach the approval page, and nobody can sign in there")
		}
	}
	u, err := url.Parse(p.URL)
	if p.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "") {
		d.at(root, []string{"page", "url"}, "write it like https://approvals.example.com, without a path", "page.url cannot be %q", p.URL)
	}
	d.checkLogin(&p.Login, root)
}

func (d *decoder) checkLogin(l *PageLogin, root *yaml.Node) {
	path := []string{"page", "login"}
	switch {
	case l.Issuer == "" && lookup(root, path...) != nil:
		d.at(root, path, "add the address of the provider", "page.login has no issuer")
	case l.Issuer == "":
	case identity.Safe(l.Issuer) != nil:
		d.at(root, append(path, "issuer"), "write https:// and a host, as the provider names itself", "page.login.issuer cannot be %q", l.Issuer)
	case l.ClientID == "":
		d.at(root, path, "add what the provider calls this page", "page.login has no client_id")
	}
}

func (d *decoder) checkWebhook(w *Webhook, root *yaml.Node) {
	const remedy = "make one with: echo whsec_$(openssl rand -base64 32)"
	if w.URL.written != "" {
		d.checkURL(root, []string{"webhook", "url"}, w.URL)
		if w.Secret.text.written == "" {
			d.at(root, []string{"webhook"}, remedy, "webhook.url means something only with a secret, which signs what is sent")
		}
	}
	if _, err := w.Key(); err != nil {
		d.at(root, []string{"webhook", "secret"}, remedy, "webhook.secret %v", err)
	}
}
