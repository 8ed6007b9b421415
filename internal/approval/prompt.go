package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/detect"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// A Prompt is everything a person needs to decide, made in one place for every
// channel. What strangers wrote is cleaned, on one line and cut to size, so that
// it can pass neither for the question nor for a part of it.
type Prompt struct {
	Title  string `json:"title"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Class  string `json:"class"`
	// Who asks: the principal, and the client it came through.
	Who    string `json:"who"`
	Client string `json:"client,omitempty"`
	// Arguments are the values of the call, what looks like a secret hidden in
	// them; More is how many are not shown.
	Arguments []Argument `json:"arguments"`
	More      int        `json:"more,omitempty"`
	// Undo says whether there is a way back.
	Undo  string       `json:"undo"`
	Hints []HintShown  `json:"hints"`
	Why   []ReasonTold `json:"why"`
	// Seen is what the conversation has seen, in words; empty where that is not
	// followed.
	Seen string `json:"seen,omitempty"`
	// Changed names what is different in the definition since the last yes.
	Changed []string `json:"changed,omitempty"`
	// Parts are what the tool's behaviour consists of, kept with a yes.
	Parts map[string]string `json:"parts,omitempty"`
}

// An Argument is one value of the call.
type Argument struct {
	Pointer string `json:"pointer"`
	Value   string `json:"value"`            // as text
	Hidden  bool   `json:"hidden,omitempty"` // something in it is not shown
	// Cut is how many characters at its end are not shown.
	Cut int `json:"cut,omitempty"`
}

// HintShown is one thing that is held to be true of the tool, and by whose word.
type HintShown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	By    string `json:"by"`
	Why   string `json:"why,omitempty"`
}

// ReasonTold is one rule that asks.
type ReasonTold struct {
	Code annotary.Code `json:"code"`
	Rule string        `json:"rule,omitempty"`
	Text string        `json:"text"`
	Hint string        `json:"hint,omitempty"`
}

// How much is shown of what strangers wrote, in characters.
const (
	maxTitle     = 80
	maxName      = 128
	maxValue     = 240
	maxText      = 200
	maxArguments = 24
)

// Shown is what a prompt is made of.
type Shown struct {
	Tool      *annotary.Tool // nil for what is no tool
	Server    string
	Name      string
	Hints     *annotary.Hints
	Principal *annotary.Principal
	Arguments []byte
	Reasons   []Reason
	// Seen is what the conversation has seen; nil where that is not followed.
	Seen    *annotary.Label
	Parts   map[string]string
	Changed []string
}

// NewPrompt makes the prompt.
func NewPrompt(s Shown) Prompt {
	title := s.Name
	if s.Tool != nil {
		title = cmp.Or(s.Tool.Title, s.Name)
	}
	p := Prompt{
		Title: line(title, maxTitle), Server: line(s.Server, maxName), Tool: line(s.Name, maxName),
		Class: s.Hints.Class().String(), Who: line(s.Principal.Subject, maxName), Client: line(s.Principal.Client, maxName),
		Undo: undo(s.Hints), Hints: hintsShown(s.Hints), Seen: seen(s.Seen), Parts: s.Parts,
	}
	p.Arguments, p.More = argumentsShown(&s)
	for _, r := range s.Reasons {
		p.Why = append(p.Why, ReasonTold{r.Code, line(r.Rule, maxName), line(r.Text, maxText), line(r.Hint, maxText)})
	}
	for _, c := range s.Changed {
		p.Changed = append(p.Changed, line(c, maxText))
	}
	return p
}

func undo(h *annotary.Hints) string {
	switch {
	case h.Class() == annotary.Read:
		return "It changes nothing."
	case h.Is(annotary.Reversible):
		return "It can be undone."
	case h.Class() == annotary.Write:
		return "It changes something, and destroys nothing."
	case h[annotary.Reversible].Value == annotary.No:
		return "It cannot be undone."
	default:
		return "It may destroy, and no way back is known."
	}
}

// sources are what stands behind a hint, in words.
var sources = map[annotary.Source]string{
	annotary.FromDefault:  "nobody vouches for better",
	annotary.FromDerived:  "its definition suggests it",
	annotary.FromDeclared: "the server says so",
	annotary.FromVerified: "seen in a watched run",
	annotary.FromConfined: "enforced by the kernel",
	annotary.FromOperator: "the operator says so",
	annotary.FromObserved: "it was seen to do it",
}

func hintsShown(h *annotary.Hints) []HintShown {
	out := make([]HintShown, 0, len(h))
	for n := range annotary.HintName(annotary.NumHints) {
		out = append(out, HintShown{n.String(), h[n].Value.String(), sources[h[n].From], line(h[n].Why, maxText)})
	}
	return out
}

func seen(l *annotary.Label) string {
	switch {
	case l == nil:
		return ""
	case l.Both():
		return "private data, strangers' words"
	case !l.Public:
		return "private data"
	case !l.Trusted:
		return "strangers' words"
	default:
		return "neither private data nor strangers' words"
	}
}

// argumentsShown returns the values of the arguments and how many are left out.
func argumentsShown(s *Shown) (shown []Argument, more int) {
	clean, hidden := detect.JSON(s.Arguments)
	for pointer, raw := range strict.Ends(clean) {
		if len(shown) == maxArguments {
			more++
			continue
		}
		text, ok := strict.Text(raw)
		if !ok {
			text = string(raw)
		}
		value, left := lineOf(text, maxValue)
		shown = append(shown, Argument{line(pointer, maxName), value, slices.Contains(hidden, pointer), left})
	}
	return shown, more
}

// Line makes one harmless line out of what a person or a stranger wrote.
func Line(s string) string { return line(s, maxText) }

// line makes one line of at most limit visible characters out of any text.
func line(s string, limit int) string {
	text, _ := lineOf(s, limit)
	return text
}

// lineOf makes one line as line does, and says how many characters it leaves out.
// A line break shows as a sign, so that it can begin no line of ours.
func lineOf(s string, limit int) (text string, left int) {
	var b strings.Builder
	n := 0
	for _, r := range shape.Clean(s) {
		switch {
		case r == '\n':
			r = '⏎'
		case r == '\t' || unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r), unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point), r == '\u2800':
			continue
		}
		if n++; n <= limit {
			b.WriteRune(r)
		}
	}
	if n > limit {
		return strings.TrimRight(b.String(), " ") + "…", n - limit
	}
	return strings.TrimSpace(b.String()), 0
}

// Text writes the prompt for people who read plain text.
func (p *Prompt) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", p.Title)
	fmt.Fprintf(&b, "Tool %s of server %s, on behalf of %s.\n", p.Tool, p.Server, p.asker())
	for _, a := range p.Arguments {
		fmt.Fprintf(&b, "  %s: %q%s\n", a.Pointer, a.Value, a.unseen())
	}
	if len(p.Arguments) == 0 {
		b.WriteString("  (no arguments)\n")
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "  and %d more arguments that are not shown\n", p.More)
	}
	b.WriteString(p.Undo + "\n")
	for _, c := range p.Changed {
		fmt.Fprintf(&b, "Changed since you last said yes: %s\n", c)
	}
	b.WriteString("You are asked because:\n")
	for _, r := range p.Why {
		fmt.Fprintf(&b, "  %s (%s)\n", r.Text, cmp.Or(r.Rule, string(r.Code)))
	}
	b.WriteString("What is held to be true of it:\n")
	for _, h := range p.Hints {
		fmt.Fprintf(&b, "  %s: %s (%s)\n", h.Name, h.Value, h.By)
	}
	if p.Seen != "" {
		fmt.Fprintf(&b, "This conversation has seen: %s.\n", p.Seen)
	}
	return b.String()
}

// unseen says that a value goes on where it was cut.
func (a *Argument) unseen() string {
	if a.Cut == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more characters that are not shown", a.Cut)
}

func (p *Prompt) asker() string {
	if p.Client == "" {
		return p.Who
	}
	return p.Who + " through " + p.Client
}
