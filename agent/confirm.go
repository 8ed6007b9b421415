package agent

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/prompt"
)

// How much of a stranger's text a question holds, in characters.
const (
	maxTitle       = 80
	maxDescription = 160
	maxValue       = 80
	maxArguments   = 8
)

// confirmation is the question for a person. What a server or a model wrote is
// quoted and cut, so that it cannot pass for the question itself.
func confirmation(t *annotary.Entry, s *Step) string {
	class := t.Hints.Class()
	if class == annotary.Read && !s.Ask() {
		return ""
	}
	what := deed(t) + arguments(s.Call.Arguments)
	if s.Trifecta {
		what += " This conversation has seen private data and strangers' words, and this call may carry them out."
	}
	switch {
	case t.Hints.Irreversible():
		return "This action is irreversible. " + what + " Proceed?"
	case class == annotary.Destroy:
		return "About to " + what + " It can be undone. OK?"
	default:
		return "About to " + what + " OK?"
	}
}

// deed names the tool, its title first, and what its server says of it.
func deed(t *annotary.Entry) string {
	text := "call " + prompt.Quote(cmp.Or(t.Title, t.Name), maxTitle)
	if t.Hints.Irreversible() {
		text = "C" + text[1:]
	}
	if t.Title != "" {
		text += " (" + prompt.Quote(t.Name, maxTitle) + ")"
	}
	if t.Server != "" {
		text += " of " + prompt.Quote(t.Server, maxTitle)
	}
	if t.Description != "" {
		text += ", described as " + prompt.Quote(t.Description, maxDescription)
	}
	return text
}

// arguments lists the values of a call's arguments, secrets left out. An empty
// list is one: it may mean everything.
func arguments(raw []byte) string {
	var shown []string
	more := 0
	for pointer, value := range strict.Ends(raw) {
		if len(shown) == maxArguments {
			more++
			continue
		}
		name := strings.TrimPrefix(pointer, "/")
		shown = append(shown, prompt.Quote(name, maxTitle)+" = "+leaf(pointer, value))
	}
	if len(shown) == 0 {
		return "."
	}
	if more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return ", with " + strings.Join(shown, ", ") + "."
}

func leaf(pointer string, value strict.Raw) string {
	text, ok := strict.Text(value)
	if !ok {
		text = string(value)
	}
	if secretName.MatchString(pointer) || secretValue.MatchString(text) {
		return "(redacted)"
	}
	return prompt.Quote(text, maxValue)
}

// What a question never shows: values under names that say secret, and values
// that look like keys and tokens. A person who must decide sees that there is one.
var (
	secretName  = regexp.MustCompile(`(?i)(password|passwd|passphrase|secret|token|api[-_]?key|authorization|credentials?|private[-_]?key|access[-_]?key|cookie|session[-_]?id|(^|[/_-])(pass|otp|pin|cvv|cvc|ssn))($|/|[-_][^/]*$)`)
	secretValue = regexp.MustCompile(`(?i)(-----BEGIN|\beyJ[\w-]{8,}\.[\w-]+|\b(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|npm|shpat|SG)[-_.][\w-]{12,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bbearer\s+\S{8,}|://[^/\s:@]+:[^/\s@]+@)`)
)
