package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/annotary/annotary/internal/strict"
)

// The keyword that asks clients to repeat an argument as a header (MCP
// 2026-07-28, streamable HTTP).
const headerKey = "x-mcp-header"

var headerRules = []Rule{
	{
		ID: "header-name", Severity: always(Error),
		Demand: "x-mcp-header is a header name: one or more characters of an HTTP token. Clients drop the tool otherwise.",
		tool:   headerName,
	},
	{
		ID: "header-type", Severity: always(Error),
		Demand: "x-mcp-header stands only on parameters of type string, integer or boolean. Clients drop the tool otherwise.",
		tool:   headerType,
	},
	{
		ID: "header-unreachable", Severity: always(Error),
		Demand: "x-mcp-header stands only where properties alone lead to it, not below items, a $ref or a choice. Clients drop the tool otherwise.",
		tool:   headerUnreachable,
	},
	{
		ID: "header-duplicate", Severity: always(Error),
		Demand: "No two parameters of a tool share a header name; case does not tell header names apart. Clients drop the tool otherwise.",
		tool:   headerDuplicate,
	},
	{
		ID: "header-secret", Severity: always(Warning),
		Demand: "A secret is not repeated in a header, where every proxy on the way can read and log it.",
		tool:   headerSecret,
	},
}

// A header is one use of x-mcp-header in an input schema.
type header struct {
	at        string // of the schema that has it
	param     string
	schema    []byte
	value     []byte
	reachable bool
}

// headers returns every use, in the order of the schema.
func (p *pass) headers() []header {
	if !strings.Contains(string(p.Input), headerKey) {
		return nil
	}
	var all []header
	findHeaders(p.Input, "/inputSchema", "", true, &all)
	return all
}

// findHeaders walks a schema. Only a chain of properties keeps it reachable.
func findHeaders(schema []byte, at, param string, reachable bool, all *[]header) {
	for name, raw := range strict.Members(schema) {
		switch {
		case name == headerKey:
			*all = append(*all, header{at, param, schema, raw, reachable && param != ""})
		case name == "properties":
			for sub, s := range strict.Members(raw) {
				findHeaders(s, at+"/properties/"+strict.EscapePointer(sub), sub, reachable, all)
			}
		case name == "default", name == "examples", name == "enum", name == "const":
			// data, not schemas
		case strict.KindOf(raw) == strict.Object:
			findHeaders(raw, at+"/"+strict.EscapePointer(name), param, false, all)
		case strict.KindOf(raw) == strict.Array:
			for i, s := range strict.Elements(raw) {
				findHeaders(s, fmt.Sprintf("%s/%s/%d", at, strict.EscapePointer(name), i), param, false, all)
			}
		}
	}
}

func (h *header) finding(message, fix string) Finding {
	return Finding{At: h.at, Message: message, Evidence: headerKey + ": " + short(h.value) + " at " + h.at, Fix: fix}
}

func headerName(p *pass) []Finding {
	var all []Finding
	for _, h := range p.headers() {
		if name, ok := strict.Text(h.value); !ok || !isToken(name) {
			all = append(all, h.finding("names a header that HTTP does not allow", "use letters, digits and hyphens"))
		}
	}
	return all
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7F || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func headerType(p *pass) []Finding {
	var all []Finding
	for _, h := range p.headers() {
		if kind, _ := strict.Text(strict.Get(h.schema, "type")); !slices.Contains([]string{"string", "integer", "boolean"}, kind) {
			f := h.finding("repeats in a header what is no string, integer or boolean", "remove "+headerKey+" or change the type")
			f.Evidence += ", type: " + short(strict.Get(h.schema, "type"))
			all = append(all, f)
		}
	}
	return all
}

func headerUnreachable(p *pass) []Finding {
	var all []Finding
	for _, h := range p.headers() {
		if !h.reachable {
			all = append(all, h.finding("asks for a header where clients may not look", "put it on a parameter reached by properties alone"))
		}
	}
	return all
}

func headerDuplicate(p *pass) []Finding {
	var all []Finding
	seen := map[string]string{}
	for _, h := range p.headers() {
		name, _ := strict.Text(h.value)
		name = strings.ToLower(name)
		if first, ok := seen[name]; ok && name != "" {
			f := h.finding("uses a header name twice", "give each parameter its own header")
			f.Evidence += ", also at " + first
			all = append(all, f)
			continue
		}
		seen[name] = h.at
	}
	return all
}

// secretNames are parameters whose values must not lie around in logs.
var secretNames = []string{"password", "passwd", "secret", "token", "apikey", "accesstoken", "authtoken", "credential", "credentials", "privatekey", "clientsecret"}

func headerSecret(p *pass) []Finding {
	var all []Finding
	for _, h := range p.headers() {
		if slices.Contains(secretNames, fold(h.param)) {
			all = append(all, h.finding("repeats a secret in a header", "remove "+headerKey+" from "+h.param))
		}
	}
	return all
}
