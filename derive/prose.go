package derive

import (
	"strings"
	"unicode"
)

// maxProse bounds how many words of a description are looked at. What a tool
// does is said at the beginning; manuals follow.
const maxProse = 160

// A prose is a description taken apart.
type prose struct {
	words []string // lower case, at most maxProse
	first int      // how many of them are in the first sentence
	lead  string   // the verb the first sentence begins with
	later []string // verbs that begin later sentences
	verbs []string // further verbs of the first sentence that share its place: "list, create or close"
}

// fillers may stand before the verb of a sentence that says what a tool does.
var fillers = wordSet("a an the this tool use used can be to you your allows allow lets let for when will it is mcp " +
	"please function api call calls helps help enables enable provides provide ability safely quickly automatically " +
	"easily efficiently directly simply first tool's that which users user agent agents claude llm with and or, smart " +
	"intelligently returns, fully recommended preferred primary")

func readProse(text string) prose {
	var p prose
	sentence, begun := 0, false // begun: the sentence has had its verb, or a word that is none
	prev := byte(0)
	eachWord(text, func(w string, mark byte) bool {
		p.words = append(p.words, w)
		b, isVerb := base(w)
		switch {
		case !begun && isVerb:
			begun = true
			if sentence == 0 {
				p.lead = b
			} else if strings.HasSuffix(w, "s") { // a statement, not advice
				p.later = append(p.later, b)
			}
		case !begun && !fillers[w]:
			begun = true
		case begun && sentence == 0 && isVerb && (prev == ',' || prev == '/' || prevJoins(p.words)):
			p.verbs = append(p.verbs, b)
		}
		if sentence == 0 {
			p.first++
		}
		if mark == '.' {
			sentence++
			begun = false
		}
		prev = mark
		return len(p.words) < maxProse
	})
	return p
}

// prevJoins reports whether the word before the last one joins verbs.
func prevJoins(words []string) bool {
	if len(words) < 2 {
		return false
	}
	switch words[len(words)-2] {
	case "and", "or", "then", "to":
		return true
	}
	return false
}

// eachWord yields the words of a text in lower case, each with the mark that
// follows it: '.' at the end of a sentence, ',' or '/' between words, else 0.
func eachWord(text string, yield func(word string, mark byte) bool) {
	inWord := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '-' || r == '_'
	}
	for text != "" {
		start := strings.IndexFunc(text, inWord)
		if start < 0 {
			return
		}
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text)
		}
		word := strings.ToLower(strings.Trim(text[:end], "'-_"))
		text = text[end:]
		if word != "" && !yield(word, markOf(text)) {
			return
		}
	}
}

func markOf(rest string) byte {
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case ' ', '\t', ')', '*', '`', '"':
		case '.', '!', '?', ':', ';':
			if i+1 < len(rest) && rest[i] == '.' && rest[i+1] > ' ' {
				return 0 // a dot inside "e.g" or "v1.2"
			}
			return '.'
		case '\n':
			return '.'
		case ',', '/':
			return rest[i]
		default:
			if strings.HasPrefix(rest[i:], "—") || strings.HasPrefix(rest[i:], "–") {
				return '.'
			}
			return 0
		}
	}
	return '.'
}
