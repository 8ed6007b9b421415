package annotary

import "strings"

// DefaultTenant is the tenant of an installation that has only one.
const DefaultTenant = "default"

// LocalSubject is the subject of whoever calls a gateway that serves one user.
const LocalSubject = "local"

// A Principal is whom a call is made for, as identified at the edge.
type Principal struct {
	Tenant  string // the unit of isolation
	Issuer  string // who vouched for the subject; empty for the local user
	Subject string
	Client  string // the authenticated client, never one that only names itself
	Groups  []string
	Scopes  []string
	// Profiles are the named sets of the configuration the principal is in.
	Profiles []string
}

// ID names the principal within everything: tenant, issuer and subject, each
// escaped so that no two principals share an ID.
func (p *Principal) ID() string {
	return escapePart(p.Tenant) + "/" + escapePart(p.Issuer) + "/" + escapePart(p.Subject)
}

func escapePart(s string) string {
	if !strings.ContainsAny(s, "%/") {
		return s
	}
	out := make([]byte, 0, len(s))
	for _, c := range []byte(s) {
		switch c {
		case '%':
			out = append(out, "%25"...)
		case '/':
			out = append(out, "%2F"...)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
