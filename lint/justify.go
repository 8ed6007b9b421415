package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/annotary/annotary"
)

// MaxJustification is how many characters a field of OpenAI's submission form
// takes.
const MaxJustification = 200

// A Justification is why a tool states one hint as it does.
type Justification struct {
	Tool  string         `json:"tool"`
	Hint  string         `json:"hint"`
	Value annotary.Value `json:"value"`
	// Text is at most [MaxJustification] characters; empty where the
	// definition shows nothing for the value.
	Text string `json:"text"`
	// Missing says why there is no text, and what to do.
	Missing string `json:"missing,omitempty"`
}

// Justify writes, for the three hints OpenAI asks about, why each tool states
// what it states. It says only what the definition shows.
func Justify(tools []annotary.Tool) []Justification {
	l := newList(tools, OpenAI)
	all := []Justification{}
	for i := range l.passes {
		for _, n := range demanded(OpenAI, annotary.Unknown) {
			all = append(all, l.passes[i].justify(n))
		}
	}
	return all
}

func (p *pass) justify(n annotary.HintName) Justification {
	c := p.claims[n]
	j := Justification{Tool: p.Name, Hint: n.Wire(), Value: p.Stated[n].Value()}
	if p.moot(n) && p.shows(annotary.ReadOnly) == annotary.Yes {
		c = p.claims[annotary.ReadOnly] // what only reads destroys nothing
		c.Value = annotary.No
	}
	switch {
	case j.Value == annotary.Unknown:
		j.Missing = fmt.Sprintf("%s is %s: set it first", n.Wire(), p.Stated[n])
	case c.Value == annotary.Unknown:
		j.Missing = "nothing in the definition shows this: justify it in your own words"
	case c.Value != j.Value:
		j.Missing = "the definition speaks against this: " + c.Why
	default:
		j.Text = clip(fmt.Sprintf("%s is %s because %s.", n.Wire(), j.Value, c.Why), MaxJustification)
	}
	return j
}

// clip shortens a text to at most n characters, at a word.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	cut := string([]rune(s)[:n-1])
	if at := strings.LastIndexByte(cut, ' '); at > 0 {
		cut = cut[:at]
	}
	return cut + "…"
}
