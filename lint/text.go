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
	for _, escape := range []string{`\u`, `\b`, `\f`} {
		if bytes.Contains(raw, []byte(escape)) {
			return false
		}
	}
	return !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x7f })
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
	switch r {
	case '\t', '\n', '\r', 0xFE0F: // the last asks for the emoji form
		return false
	case 0x200C, 0x200D:
		return before < utf8.RuneSelf || after < utf8.RuneSelf
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800: // fillers and the blank braille cell
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector) && !unicode.Is(prefixMarks, r)
}

// prefixMarks are visible though Unicode calls them format characters, such as
// the Arabic number sign.
var prefixMarks = unicode.Prepended_Concatenation_Mark

// An address is a way of speaking to the model that no description needs. The
// pattern is tried only on definitions that have the clue, in any case.
type address struct {
	what    string
	clue    string
	pattern *regexp.Regexp
}

var addresses = []address{
	{"asks to keep something from the user", "the user", regexp.MustCompile(
		`(?i)\b(?:do not|don't|never|must not|should not) (?:tell|inform|notify|alert|mention|reveal|disclose|show)(?: (?:this|it|that|anything|any of this))?(?: to)? the user\b(?: (?:about|that|of|what|why|you)\b|[.!,;]|$)`)},
	{"asks to act without the user's knowledge", "without the user", regexp.MustCompile(
		`(?i)\bwithout the user'?s? (?:knowledge|knowing|noticing|being aware)\b`)},
	{"asks to act in secret", "secretly", regexp.MustCompile(`(?i)\bsecretly\b`)},
	{"asks to override other instructions", "ignore", regexp.MustCompile(
		`(?i)\bignore ` + overridden)},
	{"asks to override other instructions", "disregard", regexp.MustCompile(
		`(?i)\bdisregard ` + overridden)},
	{"poses as the system", "<important>", regexp.MustCompile(`(?i)<important>`)},
	{"poses as the system", "<system", regexp.MustCompile(`(?i)<system(?:[-_ ](?:prompt|message|reminder))?>`)},
	{"poses as the system", "[system]", regexp.MustCompile(`(?i)\[system\]`)},
	{"speaks for other tools", "other ", regexp.MustCompile(
		`(?i)\b(?:before|after|instead of) (?:using|calling|invoking|running) (?:any|all|every) other tools?\b|` +
			`\b(?:do not|must not) (?:use|call|invoke) (?:any )?other (?:[a-z]+ )?tools?\b`)},
	{"speaks for other tools", " this tool ", regexp.MustCompile(
		`(?i)\b(?:must|always) (?:call|use|invoke|run) this tool (?:first\b|before (?:any|all|every)\b)`)},
	{"gives the model a role", "you are ", regexp.MustCompile(
		`(?i)\byou are (?:now )?(?:an?|the) (?:[a-z]+ ){0,3}(?:ai|assistant|agent|model|llm|chatbot)\b`)},
	{"gives the model orders", "llm ", regexp.MustCompile(`(?i)\bthe llm ` + ordered)},
	{"gives the model orders", "ai ", regexp.MustCompile(`(?i)\bai (?:agent|assistant|model)s? ` + ordered)},
}

const (
	overridden = `(?:all |any |the |your |these |of )*(?:previous|prior|earlier|above|preceding|system|other|existing) (?:instruction|prompt|rule|message|guideline|directive)s?\b`
	ordered    = `(?:must|shall|should (?:always|never|strictly|automatically))(?: not| never| always)? (?:call|use|invoke|run|follow|obey|ensure|validate|refine|suggest|execute|ignore|send|include)\b`
)

func textAddressesModel(p *pass) []Finding {
	lower := strings.ToLower(string(p.Raw))
	var all []Finding
	for _, a := range addresses {
		if !strings.Contains(lower, a.clue) {
			continue
		}
		for at, raw := range strict.Leaves(p.Raw) {
			if hit := a.in(at, raw); hit != "" {
				all = append(all, Finding{
					At: at, Message: "has text that " + a.what, Evidence: quote(hit) + " in " + at,
					Fix: "say what the tool does, and leave out the rest",
				})
			}
		}
	}
	return all
}

// in returns what speaks to the model in the text at the pointer.
func (a *address) in(at string, raw []byte) string {
	if !isProse(at) {
		return ""
	}
	text, _ := strict.Text(raw)
	return a.pattern.FindString(text)
}

// isProse reports whether the member at the pointer is text for a reader.
func isProse(at string) bool {
	last := at[strings.LastIndexByte(at, '/')+1:]
	return last == "description" || last == "title" || last == "$comment"
}
