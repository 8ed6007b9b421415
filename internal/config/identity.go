package config

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/identity"
)

// Identity says who may call, and how callers prove who they are. Where nothing
// is written here, everybody who reaches the gateway is the local user.
type Identity struct {
	// Issuers are the authorization servers whose access tokens count, by URL.
	// A token must be meant for the address that is called, or for one of the
	// issuer's audiences.
	Issuers map[string]Issuer `yaml:"issuers"`
	// Scopes are what a client without a token is told to ask an issuer for.
	Scopes []string `yaml:"scopes"`
	// Skew is how far the clock of an issuer may be off.
	Skew Duration `yaml:"skew" default:"30s"`
	// Keys are the API keys, by name, as 'annotary keys new' writes them. A key
	// itself stands nowhere.
	Keys map[string]APIKey `yaml:"keys"`
	// Certificates lets callers in who show a certificate that an authority of
	// tls.client_ca signed. Its organisational units are the groups.
	Certificates *Certificates `yaml:"certificates"`
	// Anyone serves other machines although nobody is asked who they are:
	// whoever reaches the address is the local user.
	Anyone bool `yaml:"anyone"`
}

// Issuer is an authorization server whose tokens count.
type Issuer struct {
	// Audiences count besides the address that is called, for issuers that do
	// not know the parameter "resource".
	Audiences []string `yaml:"audiences"`
	// JWKS is the address of the issuer's keys. If empty, its metadata says.
	JWKS string `yaml:"jwks"`
	// Tenant of everybody who comes with its tokens.
	Tenant string `yaml:"tenant"`
	// TenantClaim is the claim that names the tenant instead. A claim inside
	// another is named by its JSON Pointer.
	TenantClaim string `yaml:"tenant_claim"`
	// GroupsClaim is the claim with the groups of the user, by name or JSON
	// Pointer, like /realm_access/roles.
	GroupsClaim string `yaml:"groups_claim" default:"groups"`
	// ScopesClaim is the claim with the scopes. If empty, scope, else scp.
	ScopesClaim string `yaml:"scopes_claim"`
}

// APIKey is what is known of an API key.
type APIKey struct {
	// Hash is the SHA-256 of the key.
	Hash identity.KeyHash `yaml:"hash"`
	// Subject is whom calls with the key are made for. If empty, its name.
	Subject string `yaml:"subject"`
	// Groups the subject is in.
	Groups []string `yaml:"groups"`
	// Scopes the key has.
	Scopes []string `yaml:"scopes"`
	// Until is the last day on which the key holds, written 2027-01-31. If
	// empty, it holds until it is revoked.
	Until Day `yaml:"until"`
	// Revoked says that the key holds no longer.
	Revoked bool `yaml:"revoked"`
}

// Certificates says what a client certificate proves.
type Certificates struct {
	// Subject is the name in the certificate that says who calls: common_name,
	// dns, email or uri. One that does not have exactly one such name is not
	// let in.
	Subject identity.CertificateName `yaml:"subject" default:"common_name"`
	// Tenant of everybody who comes with a certificate.
	Tenant string `yaml:"tenant"`
	// Scopes that everybody has who comes with a certificate.
	Scopes []string `yaml:"scopes"`
}

// TLS has the gateway speak HTTPS itself.
type TLS struct {
	// Certificate is the PEM file with the certificate and those above it. A
	// relative path starts at the folder of this file.
	Certificate Text `yaml:"certificate"`
	// Key is the PEM file with its private key.
	Key Text `yaml:"key"`
	// ClientCA is the PEM file with the authorities that may sign the
	// certificates of clients; identity.certificates says what those prove.
	ClientCA Text `yaml:"client_ca"`
}

// Operator is the operator's channel for other machines: who comes proves who
// they are as callers do, and needs the roles that a policy gives them.
type Operator struct {
	// Listen is the address of the channel. It is never that of MCP clients.
	Listen string `yaml:"listen"`
	// PublicURL is the URL by which operators reach it, without a path. Access
	// tokens must be meant for it with /v1 after it. If empty, the address it
	// listens on.
	PublicURL string `yaml:"public_url"`
}

// MissingScope is what becomes of a tool for whose scopes the caller lacks one.
type MissingScope string

// The ways to treat a missing scope.
const (
	HideTool  MissingScope = "hide"
	Challenge MissingScope = "challenge"
)

// UnmarshalText reads the word.
func (m *MissingScope) UnmarshalText(text []byte) error {
	return word(m, text, HideTool, Challenge)
}

// Asks reports whether callers must prove who they are.
func (i *Identity) Asks() bool {
	return len(i.Issuers) > 0 || len(i.Keys) > 0 || i.Certificates != nil
}

// BaseURL is where clients reach what listens at an address: what is written, or
// the address itself.
func (c *Config) BaseURL(written, listen string) string {
	scheme := "http://"
	if c.TLS.Certificate.Value() != "" {
		scheme = "https://"
	}
	if written != "" {
		return strings.TrimSuffix(written, "/")
	}
	return scheme + listen
}

func (d *decoder) checkIdentity(c *Config, root *yaml.Node) {
	d.checkPublic(c, root, "public_url", c.PublicURL, c.Listen)
	d.checkTLS(c, root)
	d.checkOperator(c, root)
	id := &c.Identity
	for address, i := range id.Issuers {
		path := []string{"identity", "issuers", address}
		if err := identity.Safe(address); err != nil || strings.ContainsAny(address, "?#") {
			d.at(root, path, "write the issuer as its tokens name it: https:// and a host", "%q cannot be an issuer", address)
		}
		if i.JWKS != "" && identity.Safe(i.JWKS) != nil {
			d.at(root, append(path, "jwks"), "write https:// and a host", "%q cannot be the address of keys", i.JWKS)
		}
	}
	d.checkKeys(id.Keys, root)
	if id.Anyone && id.Asks() {
		d.at(root, []string{"identity", "anyone"}, "remove one of them", "identity lets anyone in, and asks who they are")
	}
	d.checkScopes(root, []string{"identity", "scopes"}, id.Scopes)
	if id.Certificates != nil {
		d.checkScopes(root, []string{"identity", "certificates", "scopes"}, id.Certificates.Scopes)
	}
}

// checkPublic wants an address of which tokens can say that they are meant for
// it. What listens for all addresses has none of its own.
func (d *decoder) checkPublic(c *Config, root *yaml.Node, key, written, listen string) {
	path := strings.Split(key, ".")
	if written == "" {
		host, _, _ := net.SplitHostPort(listen)
		if ip := net.ParseIP(host); len(c.Identity.Issuers) > 0 && (host == "" || ip != nil && ip.IsUnspecified()) {
			d.at(root, path, "write the URL by which clients reach it, like https://mcp.example.com",
				"tokens must be meant for this gateway, and %s does not say how it is called", key)
		}
		return
	}
	u, err := url.Parse(written)
	if err != nil || identity.Safe(written) != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		d.at(root, path, "write https:// and a host, without a path", "%s cannot be %q", key, written)
	}
}

func (d *decoder) checkOperator(c *Config, root *yaml.Node) {
	path := []string{"operator", "listen"}
	if c.Operator.Listen == "" {
		if c.Operator.PublicURL != "" {
			d.at(root, []string{"operator", "public_url"}, "add operator.listen", "operator.public_url means something only with an address to listen on")
		}
		return
	}
	d.checkListen(root, "operator.listen", c.Operator.Listen)
	if _, port, _ := net.SplitHostPort(c.Operator.Listen); port != "0" && c.Operator.Listen == c.Listen {
		d.at(root, path, "choose another port", "MCP clients are served on %s", c.Listen)
	}
	if !c.Identity.Asks() {
		d.at(root, path, "write identity", "nothing says how operators prove who they are")
	}
	if !c.Judged() {
		d.at(root, path, "write 'preset: careful'", "nothing says who has which role over the gateway")
	}
	d.checkPublic(c, root, "operator.public_url", c.Operator.PublicURL, c.Operator.Listen)
}

func (d *decoder) checkTLS(c *Config, root *yaml.Node) {
	cert, key, ca := c.TLS.Certificate.written != "", c.TLS.Key.written != "", c.TLS.ClientCA.written != ""
	switch {
	case cert != key:
		d.at(root, []string{"tls"}, "name both files", "tls wants a certificate and its key")
	case ca && !cert:
		d.at(root, []string{"tls", "client_ca"}, "add certificate and key", "tls.client_ca means something only where the gateway speaks TLS")
	case ca && c.Identity.Certificates == nil:
		d.at(root, []string{"tls", "client_ca"}, "write identity: {certificates: {}}", "nothing says what the certificates of clients prove")
	case !ca && c.Identity.Certificates != nil:
		d.at(root, []string{"identity", "certificates"}, "name the authorities in tls.client_ca", "nobody may sign the certificates of clients")
	}
}

func (d *decoder) checkKeys(keys map[string]APIKey, root *yaml.Node) {
	seen := map[identity.KeyHash]string{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		k, path := keys[name], []string{"identity", "keys", name}
		if why := badName(name); why != "" {
			d.at(root, path, "", "a key cannot be called %q: %s", name, why)
		}
		if k.Hash == (identity.KeyHash{}) {
			d.at(root, path, "make one with 'annotary keys new "+name+"'", "identity.keys.%s has no hash", name)
		} else if other, twice := seen[k.Hash]; twice {
			d.at(root, append(path, "hash"), "make one with 'annotary keys new'", "identity.keys.%s has the hash of %s", name, other)
		}
		seen[k.Hash] = name
		d.checkScopes(root, append(path, "scopes"), k.Scopes)
	}
}

// checkScopes refuses what cannot be a scope (RFC 6749, section 3.3).
func (d *decoder) checkScopes(root *yaml.Node, path, scopes []string) {
	for _, s := range scopes {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			d.at(root, path, "a scope is letters, digits and signs without spaces", "%q cannot be a scope", s)
		}
	}
}

// checkScopeRules finds scope rules that would protect nothing.
func (d *decoder) checkScopeRules(c *Config, root *yaml.Node) {
	if (len(c.Scopes) > 0 || len(c.ScopesByClass) > 0) && !c.Judged() {
		key := "scopes"
		if len(c.Scopes) == 0 {
			key = "scopes_by_class"
		}
		d.at(root, []string{key}, "write 'preset: careful'", "%s means something only where calls are judged", key)
	}
	for pattern, scopes := range c.Scopes {
		server, _, _ := strings.Cut(pattern, "/")
		if _, ok := c.Servers[server]; !ok && !strings.Contains(server, "*") {
			d.at(root, []string{"scopes", pattern}, guess(server, slices.Sorted(maps.Keys(c.Servers))), "there is no server %q", server)
		}
		d.checkScopes(root, []string{"scopes", pattern}, scopes)
	}
	for class, scopes := range c.ScopesByClass {
		if _, ok := annotary.ParseClass(class); !ok {
			d.at(root, []string{"scopes_by_class", class}, "write read, write or destructive", "there is no class %q", class)
		}
		d.checkScopes(root, []string{"scopes_by_class", class}, scopes)
	}
}
