package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/identity"
)

// identityOf makes what says who calls at this address, by a configuration.
func identityOf(c *config.Config, at net.Addr) *identity.Identity {
	if at == nil {
		return nil
	}
	return identity.New(identityOptions(c, baseURL(c, at)))
}

func identityOptions(c *config.Config, base string) identity.Options {
	o := identity.Options{URL: base, Scopes: c.Identity.Scopes, Skew: c.Identity.Skew.D()}
	for url, i := range c.Identity.Issuers {
		o.Issuers = append(o.Issuers, identity.Issuer{
			URL: url, JWKS: i.JWKS, Audiences: i.Audiences, Tenant: i.Tenant, TenantClaim: i.TenantClaim,
			GroupsClaim: i.GroupsClaim, ScopesClaim: i.ScopesClaim,
		})
	}
	for name, k := range c.Identity.Keys {
		o.Keys = append(o.Keys, identity.Key{
			Name: name, Hash: k.Hash, Subject: k.Subject, Groups: k.Groups, Scopes: k.Scopes,
			Expires: k.Until.End(), Revoked: k.Revoked,
		})
	}
	if certs := c.Identity.Certificates; certs != nil {
		o.Certificates = &identity.Certificates{Subject: certs.Subject, Tenant: certs.Tenant, Scopes: certs.Scopes}
	}
	return o
}

// baseURL is where clients reach the gateway that listens at this address.
func baseURL(c *config.Config, at net.Addr) string { return c.BaseURL(c.PublicURL, at.String()) }

// listen opens the address for MCP clients, if others may reach it.
func (d *daemon) listen(address string) (net.Listener, error) {
	l, err := listenAt(address, d.config())
	if err != nil {
		return nil, err
	}
	if err := mayListen(d.config(), l.Addr()); err != nil {
		_ = l.Close()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = l.Addr()
	d.handler.Trust(identityOf(d.cfg, d.at))
	d.log.Info("who can call", "listen", address, "callers", callers(d.cfg, d.at))
	return l, nil
}

// listenAt listens, with TLS where certificate files are named.
func listenAt(address string, c *config.Config) (net.Listener, error) {
	secure, err := tlsConfig(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, annotary.E(annotary.CodeConnect, "cannot listen on "+address+": "+inTheWay(err), err).
			WithHint("end what listens there, or name another address: --listen, or listen in the configuration")
	}
	if secure != nil {
		return tls.NewListener(l, secure), nil
	}
	return l, nil
}

// inTheWay is why an address cannot be listened on, which is said already.
func inTheWay(err error) string {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return err.Error()
}

// mayListen refuses an address that other machines reach where nobody is asked
// who they are.
func mayListen(c *config.Config, at net.Addr) error {
	if tcp, ok := at.(*net.TCPAddr); !ok || tcp.IP.IsLoopback() || c.Identity.Asks() || c.Identity.Anyone {
		return nil
	}
	return annotary.E(annotary.CodeConfig, "other machines can reach "+at.String()+", and nobody is asked who they are", nil).
		WithHint("make a key with 'annotary keys new', or see docs/identity.md; 'identity: {anyone: true}' lets everybody in")
}

// callers says in words who can call.
func callers(c *config.Config, at net.Addr) string {
	var who []string
	if n := len(c.Identity.Issuers); n > 0 {
		who = append(who, "whoever has a token of "+count(n, "issuer"))
	}
	keys := 0
	for name, k := range c.Identity.Keys {
		if listKey(name, k, time.Now()).State == keyHolds {
			keys++
		}
	}
	if keys > 0 {
		who = append(who, "holders of "+count(keys, "API key"))
	}
	if c.Identity.Certificates != nil {
		who = append(who, "holders of a client certificate")
	}
	switch {
	case len(who) > 0:
		return strings.Join(who, ", ")
	case c.Identity.Asks():
		return "nobody: no key holds"
	case mayListen(c, at) == nil && !c.Identity.Anyone:
		return "everybody on this machine"
	default:
		return "everybody who reaches the address"
	}
}

// tlsConfig reads the certificate files, nil if none are named. With nothing but
// certificates to prove who one is, a connection without one is refused.
func tlsConfig(c *config.Config) (*tls.Config, error) {
	if c.TLS.Certificate.Value() == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLS.Certificate.Value(), c.TLS.Key.Value())
	if err != nil {
		return nil, annotary.E(annotary.CodeConfig, "the certificate and key of tls cannot be used", err).
			WithHint("both are PEM files that belong together: " + err.Error())
	}
	t := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.TLS.ClientCA.Value() == "" {
		return t, nil
	}
	raw, err := os.ReadFile(c.TLS.ClientCA.Value())
	t.ClientCAs = x509.NewCertPool()
	if err != nil || !t.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, annotary.E(annotary.CodeConfig, "the file of tls.client_ca holds no certificate", err).
			WithHint("name a PEM file with the authorities that sign the certificates of clients")
	}
	t.ClientAuth = tls.VerifyClientCertIfGiven
	if len(c.Identity.Issuers)+len(c.Identity.Keys) == 0 {
		t.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return t, nil
}

// scopeRules are the scopes that the configuration wants of callers of a server.
func scopeRules(c *config.Config, server, path string) []catalog.ScopeRule {
	at := annotary.Position{File: filepath.Base(path)}
	var rules []catalog.ScopeRule
	for pattern, scopes := range c.Scopes {
		if of, tools, _ := strings.Cut(pattern, "/"); catalog.Match(of, server) {
			rules = append(rules, catalog.ScopeRule{Tools: tools, Scopes: scopes, At: at})
		}
	}
	for name, scopes := range c.ScopesByClass {
		if class, ok := annotary.ParseClass(name); ok {
			rules = append(rules, catalog.ScopeRule{Class: &class, Scopes: scopes, At: at})
		}
	}
	return rules
}
