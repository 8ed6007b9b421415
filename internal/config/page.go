package config

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
