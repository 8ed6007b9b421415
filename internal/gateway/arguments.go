package gateway

import (
	"errors"
	"unicode/utf8"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// checkArguments holds the arguments of a call that may change something against
// the tool's input schema. Where that cannot be done, a person is to look: the
// call is neither let through unseen nor impossible.
func (m *matter) checkArguments() {
	if m.told != "" || m.openArguments || m.hints.Class() == annotary.Read || m.judge.Stances[m.server.Name].Unvalidated {
		return
	}
	args := m.call.Message.Arguments()
	if args == nil {
		args = []byte("{}") // what leaving them out means
	}
	var bad *shape.Violation
	schema, err := m.tool.Input()
	if strict.KindOf(args) != strict.Object {
		err = &shape.Violation{Problem: "is a " + strict.KindOf(args).String() + ", not object"}
	} else if err == nil {
		err = schema.Validate(args)
	}
	switch {
	case err == nil:
	case errors.As(err, &bad):
		at := bad.At
		if at == "" {
			at = "the arguments"
		}
		d := refusing(annotary.CodeArguments, cut(at)+": "+cut(bad.Problem))
		d.Reasons[0].Hint = "Correct the arguments and call again; the tool's inputSchema says what it takes."
		m.refuse(annotary.CodeArguments, d)
	default:
		m.unchecked = &annotary.Reason{
			Code: annotary.CodeUnchecked, Ask: annotary.VerdictAskOnce,
			Text: "the arguments could not be held against the tool's input schema: " + cut(err.Error()),
			Hint: "The operator can switch this check off for the server with 'validate: off'.",
		}
	}
}

// withUnchecked turns an allowance into a question where the arguments could not
// be checked.
func (m *matter) withUnchecked(d annotary.Decision) annotary.Decision {
	if m.unchecked == nil {
		return d
	}
	return d.Stricter(annotary.Decision{Effect: annotary.Ask, Reasons: []annotary.Reason{*m.unchecked}})
}

// maxShown is as much as is shown of a text that somebody else made up.
const maxShown = 400

func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	end := maxShown
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
