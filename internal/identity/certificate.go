package identity

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/annotary/annotary"
)

// certificateIssuer is the issuer of principals who call with a certificate.
const certificateIssuer = "certificates"

// A CertificateName is the part of a certificate that names who holds it.
type CertificateName string

// The names a certificate can have.
const (
	CommonName CertificateName = "common_name"
	DNSName    CertificateName = "dns"
	Email      CertificateName = "email"
	URI        CertificateName = "uri"
)

// UnmarshalText reads which name is meant.
func (n *CertificateName) UnmarshalText(text []byte) error {
	switch v := CertificateName(text); v {
	case CommonName, DNSName, Email, URI:
		*n = v
		return nil
	}
	return fmt.Errorf("must be %s, %s, %s or %s", CommonName, DNSName, Email, URI)
}

// Certificates says what a client certificate proves. Which authorities may sign
// one is a matter of the listener's TLS.
type Certificates struct {
	// Subject is the name that says who calls. If empty, the common name.
	Subject CertificateName
	// Tenant is that of all of them. If empty, the default one.
	Tenant string
	// Scopes are what everybody with a certificate has.
	Scopes []string
}

// principal says whom the certificate of a connection speaks for. Its
// organisational units are the groups. A certificate that does not have exactly
// one such name speaks for nobody.
func (c *Certificates) principal(conn *tls.ConnectionState) (annotary.Principal, bool) {
	if c == nil || conn == nil || len(conn.VerifiedChains) == 0 {
		return annotary.Principal{}, false
	}
	leaf := conn.VerifiedChains[0][0]
	names := c.names(leaf)
	if len(names) != 1 || names[0] == "" {
		return annotary.Principal{}, false
	}
	return annotary.Principal{
		Tenant: cmp.Or(c.Tenant, annotary.DefaultTenant), Issuer: certificateIssuer, Subject: names[0],
		Client: names[0], Groups: leaf.Subject.OrganizationalUnit, Scopes: c.Scopes,
	}, true
}

func (c *Certificates) names(leaf *x509.Certificate) []string {
	switch c.Subject {
	case DNSName:
		return leaf.DNSNames
	case Email:
		return leaf.EmailAddresses
	case URI:
		var names []string
		for _, u := range leaf.URIs {
			names = append(names, u.String())
		}
		return names
	default:
		return []string{leaf.Subject.CommonName}
	}
}
