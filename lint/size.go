package lint

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/annotary/annotary"
)

// What a list may cost. Claude Code warns from 25,000 tokens of tools on
// (anthropics/claude-code#6702); OpenAI's scanner is said to stop at 5,000
// tokens a tool, which is second-hand.
const (
	maxListTokens = 25_000
	maxToolTokens = 5_000
)

var sizeRules = []Rule{
	{
		ID: "list-large", Severity: at(Warning, Warning, Error, Warning),
		Demand: "The list leaves room for the conversation; Claude Code warns from 25,000 tokens of tools on.",
		Vendor: map[Profile]string{OpenAI: "OpenAI's scanner is said to refuse large lists (second-hand; 16,000 to 32,000 tokens)"},
		list:   listLarge,
	},
	{
		ID: "tool-large", Severity: at(Off, Off, Warning, Warning),
		Demand: "One tool costs a model's context at most 5,000 tokens.",
		Vendor: map[Profile]string{OpenAI: "OpenAI's scanner is said to stop at 5,000 tokens a tool (second-hand)"},
		tool:   toolLarge,
	},
}

// tokens estimates what the definition costs a model's context, white space
// between values left out.
func (p *pass) tokens() int {
	var b bytes.Buffer
	if err := json.Compact(&b, p.Raw); err != nil {
		return annotary.Tokens(len(p.Raw))
	}
	return annotary.Tokens(b.Len())
}

func (l *list) tokens() int {
	sum := 0
	for i := range l.passes {
		sum += l.passes[i].tokens()
	}
	return sum
}

func listLarge(l *list) []Finding {
	sum := l.tokens()
	if sum <= maxListTokens {
		return nil
	}
	return one(Finding{
		Message:  fmt.Sprintf("the list costs ≈%s tokens, over %s", thousands(sum), thousands(maxListTokens)),
		Evidence: fmt.Sprintf("%d tools", len(l.passes)), Fix: "offer fewer tools, or shorter texts and schemas",
	})
}

func toolLarge(p *pass) []Finding {
	n := p.tokens()
	if n <= maxToolTokens {
		return nil
	}
	return one(Finding{
		Message: fmt.Sprintf("costs ≈%s tokens, over %s", thousands(n), thousands(maxToolTokens)),
		Fix:     "shorten its description and schemas",
	})
}
