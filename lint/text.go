package lint

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/annotary/annotary/internal/strict"
)

var textRules = []Rule{
	{
		ID: "text-invisible", Severity: always(Error),
		Demand: "What a person reads is what a model reads: no invisible and no text-reversing characters.",
		tool:   textInvisible,
	},
	{
		ID: "text-addresses-model", Severity: at(Warning, Error, Error, Error),
		Demand: "A definition describes the tool; it does not hide things from people, override other instructions or speak for other tools.",
		tool:   textAddressesModel,
	},
}

func textInvisible(p *pass) []Finding {
	if isPlain(p.Raw) {
		return nil
	}
	var all []Finding
	for at, raw := range strict.Leaves(p.Raw) {
		text, _ := strict.Text(raw)
		if hidden := slices.Concat(hiddenIn(at), hiddenIn(text)); len(hidden) > 0 {
			all = append(all, Finding{
				At: at, Message: "has characters nobody can see", Evidence: some(hidden) + " in " + at,
				Fix: "remove them",
			})
		}
	}
	return all
}

// isPlain reports whether raw can hold nothing but visible ASCII: the common
// case, decided without decoding anything.
func isPlain(raw []byte) bool {
	return !bytes.Contains(raw, []byte(`\u`)) && !bytes.ContainsFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf })
}

// hiddenIn names the hidden characters of s, each once.
func hiddenIn(s string) []string {
	var found []string
	before := rune(0)
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if isHidden(r, before, after) {
			if name := fmt.Sprintf("U+%04X", r); !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		before = r
	}
	return found
}

// isHidden reports whether a reader cannot see r or r changes the order in
// which text is shown. Joiners are honest between letters and emoji that join.
func isHidden(r, before, after rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0xFE0F: // the last asks for the emoji form
		return false
	case r == 0x200C, r == 0x200D:
		return before < utf8.RuneSelf || after < utf8.RuneSelf
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800: // fillers and the blank braille cell
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector) && !unicode.Is(prefixMarks, r)
}

// prefixMarks are visible though Unicode calls them format characters, such as
// the Arabic number sign.
var prefixMarks = unicode.Prepended_Concatenation_Mark

// An address is a way of speaking to the model that no description needs.
type address struct {
	what    string
	pattern *regexp.Regexp
}

var addresses = []address{
	{"asks to keep something from the user", regexp.MustCompile(
		`(?i)\b(?:do not|don't|never|must not|should not) (?:tell|inform|notify|alert|mention|reveal|disclose|show)(?: (?:this|it|that|anything|any of this))?(?: to)? the (?:user|human)\b(?: (?:about|that|of|what|why|you)\b|[.!,;]|$)`)},
	{"asks to act without the user's knowledge", regexp.MustCompile(
		`(?i)\b(?:secretly|covertly|without the user'?s? (?:knowledge|knowing|noticing|being aware))\b`)},
	{"asks to override other instructions", regexp.MustCompile(
		`(?i)\b(?:ignore|disregard|forget|override) (?:all |any |the |your |these |of )*(?:previous|prior|earlier|above|preceding|system|other|existing) (?:instruction|prompt|rule|message|guideline|directive)s?\b`)},
	{"poses as the system", regexp.MustCompile(
		`(?i)<\s*(?:important|system|secret|instructions?|admin|system[-_ ]?(?:prompt|message|reminder))\s*>|\[\s*(?:system|inst)\s*\]`)},
	{"speaks for other tools", regexp.MustCompile(
		`(?i)\b(?:before|after|instead of) (?:using|calling|invoking|running) (?:any|all|every) other tools?\b|\bdo not (?:use|call) any other tools?\b`)},
	{"gives the model a role", regexp.MustCompile(
		`(?i)\byou are (?:now )?(?:an?|the) (?:[a-z]+ ){0,3}(?:ai|assistant|agent|model|llm|chatbot)\b`)},
}

func textAddressesModel(p *pass) []Finding {
	var all []Finding
	for at, raw := range strict.Leaves(p.Raw) {
		if !isProse(at) {
			continue
		}
		text, _ := strict.Text(raw)
		for _, a := range addresses {
			if hit := a.pattern.FindString(text); hit != "" {
				all = append(all, Finding{
					At: at, Message: "has text that " + a.what, Evidence: quote(strings.TrimSpace(hit)) + " in " + at,
					Fix: "say what the tool does, and leave out the rest",
				})
			}
		}
	}
	return all
}

// isProse reports whether the member at the pointer is text for a reader.
func isProse(at string) bool {
	last := at[strings.LastIndexByte(at, '/')+1:]
	return last == "description" || last == "title" || last == "$comment"
}
