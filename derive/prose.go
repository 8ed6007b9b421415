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
	words   []string // lower case, at most maxProse
	opening string   // the word the first sentence begins with
	acts    bool     // an article follows that word, as it follows verbs
	lead    string   // the verb it begins with
	direct  bool     // nothing stands before that verb
	verbs   []string // further verbs that share its place: "list, create or close"
	also    []string // those of them that are done too: "get or update", "lists users and deletes …"
	later   []string // verbs that begin later sentences and state what is done
}

// fillers may stand before the verb of a sentence that says what a tool does.
var fillers = wordSet("a an the this tool use used can be to you your allows allow lets let for when will it is mcp " +
	"please function api call calls helps help enables provides provide ability safely quickly automatically easily " +
	"efficiently directly simply that which users user agent agents llm with and smart intelligently fully recommended " +
	"preferred primary")

var articles = wordSet("a an the one all any this that these your each every")

// readProse takes a description apart.
func readProse(text string) prose {
	var p prose
	tokens := tokenize(text)
	for from, sentence := 0, 0; from < len(tokens); sentence++ {
		to := from
		for to < len(tokens) && tokens[to].mark != '.' {
			to++
		}
		to = min(to+1, len(tokens))
		p.readSentence(tokens[from:to], sentence == 0)
		from = to
	}
	p.words = make([]string, 0, len(tokens))
	for _, t := range tokens {
		p.words = append(p.words, t.word)
	}
	return p
}

// readSentence notes the verbs of one sentence.
func (p *prose) readSentence(tokens []token, first bool) {
	i := 0
	for i < len(tokens) && fillers[tokens[i].word] {
		i++
	}
	if i == len(tokens) {
		return
	}
	lead, ok := verbAt(tokens, i)
	states := strings.HasSuffix(tokens[i].word, "s") // otherwise it may be advice
	switch {
	case !first && ok && states:
		p.later = append(p.later, lead)
		return
	case !first:
		return
	}
	p.opening, p.lead, p.direct = tokens[i].word, lead, i == 0
	p.acts = i+1 < len(tokens) && articles[tokens[i+1].word]
	chain := lead != "" // only verbs and what joins them so far
	for j := i + 1; j < len(tokens); j++ {
		v, ok := verbAt(tokens, j)
		if !ok || !joins(tokens[j-1]) {
			chain = chain && (tokens[j].word == "and" || tokens[j].word == "or")
			continue
		}
		p.verbs = append(p.verbs, v)
		if chain || states && strings.HasSuffix(tokens[j].word, "s") {
			p.also = append(p.also, v)
		}
	}
}

// verbAt returns the verb that the token is a form of. "Marks of a course" has
// none: what "of" follows is a noun.
func verbAt(tokens []token, i int) (string, bool) {
	if i+1 < len(tokens) && tokens[i+1].word == "of" {
		return "", false
	}
	return base(tokens[i].word)
}

// joins reports whether a verb behind the token shares the place of the first.
func joins(t token) bool {
	switch t.word {
	case "and", "or", "then", "to":
		return true
	}
	return t.mark == ',' || t.mark == '/'
}

// A token is a word of a text and the mark that follows it: '.' at the end of a
// sentence, ',' or '/' between words, else 0.
type token struct {
	word string
	mark byte
}

// tokenize returns the first words of a text in lower case.
func tokenize(text string) []token {
	tokens := make([]token, 0, min(maxProse, len(text)/5+1))
	for text != "" && len(tokens) < maxProse {
		start := strings.IndexFunc(text, inWord)
		if start < 0 {
			break
		}
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text)
		}
		word := strings.ToLower(strings.Trim(text[:end], "'-_"))
		text = text[end:]
		if word != "" {
			tokens = append(tokens, token{word, markOf(text)})
		}
	}
	return tokens
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '-' || r == '_'
}

// markOf says what stands between the word before rest and the next one.
func markOf(rest string) byte {
	for i, r := range rest {
		switch r {
		case ' ', '\t', ')', '*', '`', '"':
		case '.':
			if i+1 < len(rest) && rest[i+1] > ' ' {
				return 0 // inside "e.g." or "v1.2"
			}
			return '.'
		case '!', '?', ':', ';', '\n', '—', '–':
			return '.'
		case ',', '/':
			return byte(r)
		default:
			return 0
		}
	}
	return '.'
}
