package lint

import (
	"fmt"
	"strings"
)

// Lengths of tool names. The specification stops at 128; the model APIs behind
// most clients stop at 64, prefix included (microsoft/vscode#243602,
// anthropics/claude-code#19882).
const (
	maxName       = 128
	maxAPIName    = 64
	usualServer   = 16 // what a server's name is taken to cost if it is unknown
	clientPrefix  = "mcp__%s__"
	nameAlphabet  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	prefixMargins = len("mcp__") + len("__")
)

var nameRules = []Rule{
	{
		ID: "name-pattern", Severity: at(Warning, Error, Error, Error),
		Demand: "A name has only letters, digits, underscore, hyphen and dot.",
		tool:   namePattern,
	},
	{
		ID: "name-too-long", Severity: always(Error),
		Demand: "A name has at most 128 characters.",
		tool:   nameTooLong,
	},
	{
		ID: "name-behind-prefix", Severity: always(Warning),
		Demand: "A name still fits the 64 characters of the model APIs behind a client's prefix, mcp__server__.",
		tool:   nameBehindPrefix,
	},
	{
		ID: "name-duplicate", Severity: always(Error),
		Demand: "A name is used once in a server; nobody can tell which of two a call would reach.",
		tool:   nameDuplicate,
	},
}

func namePattern(p *pass) []Finding {
	var odd []string
	for _, r := range p.Name {
		if !strings.ContainsRune(nameAlphabet, r) {
			odd = append(odd, fmt.Sprintf("%q", r))
		}
	}
	if len(odd) == 0 {
		return nil
	}
	return one(Finding{
		At: "/name", Message: "has a name outside the specification's pattern", Evidence: "it has " + some(odd),
		Fix: "use letters, digits, underscore, hyphen and dot only",
	})
}

func nameTooLong(p *pass) []Finding {
	if len(p.Name) <= maxName {
		return nil
	}
	return one(Finding{
		At: "/name", Message: fmt.Sprintf("has a name of %d characters, over %d", len(p.Name), maxName),
		Fix: "shorten the name",
	})
}

func nameBehindPrefix(p *pass) []Finding {
	if len(p.Name) > maxName {
		return nil // said already
	}
	server, room := "", usualServer
	if p.Server != "" {
		server, room = p.Server, len(p.Server)
	}
	total := prefixMargins + room + len(p.Name)
	if total <= maxAPIName {
		return nil
	}
	f := Finding{
		At: "/name", Message: fmt.Sprintf("is too long behind a client's prefix: %d characters, over %d", total, maxAPIName),
		Evidence: fmt.Sprintf(clientPrefix+"%s", server, p.Name),
		Fix:      fmt.Sprintf("shorten the name by %d", total-maxAPIName),
	}
	if server == "" {
		f.Evidence = fmt.Sprintf("%d characters leave %d for the server's name", len(p.Name), max(0, maxAPIName-prefixMargins-len(p.Name)))
	}
	return one(f)
}

func nameDuplicate(p *pass) []Finding {
	first := p.list.first[p.Name]
	if first == p.index {
		return nil
	}
	return one(Finding{
		At: "/name", Message: "has the name of another tool", Evidence: fmt.Sprintf("tools %d and %d of the list", first+1, p.index+1),
		Fix: "rename one of them",
	})
}
