package find

import (
	_ "embed" // for the list of synonyms
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// split cuts text into lower-case words: at everything that is no letter or
// digit, and at the humps of camelCase. "mergePullRequest", "merge_pull_request"
// and "Merge pull-request" are the same three words. Digits stay with their
// letters, as in s3 and oauth2.
func split(text string) []string {
	words := make([]string, 0, len(text)/6+1)
	start, before := -1, rune(0) // of the word we are in, and the letter before
	flush := func(end int) {
		if start >= 0 {
			words = appendWord(words, strings.ToLower(text[start:end]))
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case r == '\'' && start >= 0 && inWord(text[i+1:]):
			// don't, user's: one word, cut by trimPossessive
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
		default:
			if unicode.IsUpper(r) && start >= 0 && startsHump(before, text[i:]) {
				flush(i)
			}
			if start < 0 {
				start = i
			}
		}
		before = r
	}
	flush(len(text))
	return words
}

// appendWord adds a word. Chinese and Japanese are written without spaces; of
// them every pair of neighbouring characters is a word.
func appendWord(words []string, word string) []string {
	if strings.IndexFunc(word, isUnspaced) < 0 {
		return append(words, trimPossessive(word))
	}
	runes := []rune(word)
	for i := range max(1, len(runes)-1) {
		words = append(words, string(runes[i:min(i+2, len(runes))]))
	}
	return words
}

func isUnspaced(r rune) bool {
	// No such character comes before the radicals; most text does.
	return r >= '⺀' && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// inWord reports whether a letter comes next.
func inWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r)
}

// startsHump reports whether the upper-case letter at the start of rest begins a
// new word: after a lower-case letter or digit (mergePull), or as the last of a
// run of capitals that a lower-case letter follows (HTTPServer), unless that is
// the plural of an acronym (URLs).
func startsHump(before rune, rest string) bool {
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	_, size := utf8.DecodeRuneInString(rest)
	next, n := utf8.DecodeRuneInString(rest[size:])
	after, _ := utf8.DecodeRuneInString(rest[size+n:])
	return unicode.IsUpper(before) && unicode.IsLower(next) && (next != 's' || unicode.IsLower(after))
}

func trimPossessive(w string) string {
	if at := strings.IndexByte(w, '\''); at > 0 {
		return w[:at]
	}
	return w
}

// stem takes the endings off an English word that change its form but not what
// a tool does: plural, -ing, -ed, -ion, -ment, a silent e. It is lighter than
// Porter's, since names of tools are short and false friends are worse than
// misses.
func stem(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	w = stemPlural(w)
	for _, ending := range []struct {
		text string
		rest int // least letters before it
	}{{"ing", 3}, {"ed", 3}, {"ment", 5}, {"ation", 4}, {"ion", 5}} {
		rest, ok := strings.CutSuffix(w, ending.text)
		if !ok || len(rest) < ending.rest || !hasVowel(rest) {
			continue
		}
		if ending.text == "ion" && !strings.HasSuffix(rest, "t") && !strings.HasSuffix(rest, "s") {
			continue
		}
		if ending.text == "ation" {
			rest += "at"
		}
		w = undouble(rest)
		break
	}
	if len(w) > 3 && strings.HasSuffix(w, "e") {
		w = w[:len(w)-1]
	}
	return w
}

func stemPlural(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case hasAnySuffix(w, "sses", "xes", "ches", "shes", "zes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !hasAnySuffix(w, "ss", "us", "is") && w != "news":
		return w[:len(w)-1]
	}
	return w
}

func hasAnySuffix(w string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(w, s) {
			return true
		}
	}
	return false
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

// undouble turns runn into run, but leaves call, pass and buzz.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lszaeiou", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

var (
	mailAddress = regexp.MustCompile(`\S+@\S+\.\w+`)
	webAddress  = regexp.MustCompile(`(?i)\bhttps?://\S+`)
)

// queryWords are the words of a question that say which tool is wanted. What
// looks like an argument is replaced by the word for its kind, or dropped.
func queryWords(text string) []string {
	text = webAddress.ReplaceAllString(text, " url ")
	text = mailAddress.ReplaceAllString(text, " email ")
	var words []string
	for _, w := range split(text) {
		if !stopWords[w] && !isNumber(w) {
			words = append(words, w)
		}
	}
	return words
}

func isNumber(w string) bool {
	return strings.IndexFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func stems(words map[string]bool) map[string]bool {
	m := map[string]bool{}
	for w := range words {
		m[stem(w)] = true
	}
	return m
}

// stopWords carry no meaning for the choice of a tool.
var stopWords = set(`
a an and any are as at be been being but by can could did do does doing done for from had has have how i if im in into
is it its ive just let lets like me might mine my need needs of off on onto or our out over please s should so some t
than that the their them then there these they this those to too up upon us very via want wants was we were what whats
when where whether which while who whom whose why will with within would yes yet you your yours
about across after again against also always am another around because before between both each either else ever every
everything few give given gives going gonna got here kind lot many maybe more most much must near now one ones
only other others own per quick quickly really right same say since something somehow sort still such sure tell thing
things though through together told try trying until using usually way well whatever yourself mcp tool tools
today tomorrow yesterday tonight currently recently later soon
`)

// serverWords say nothing about which server it is.
var serverWords = set(`mcp server servers the api npm official client tool tools app io com org dev ai js ts node`)

// synonyms are groups of words that ask for the same thing, one group a line. A
// word finds the others of its group at less weight.
//
//go:embed synonyms.txt
var synonyms string

// generic words are in too many tools to say by themselves which one is meant:
// a tool that matches nothing else does not fit.
var generic = stems(set(`
delete remove erase destroy drop purge trash create add new make insert generate get fetch read retrieve show view
display see check describe look list browse all enumerate search find query lookup discover update edit modify change
set patch send post deliver run execute exec invoke start launch begin trigger stop halt kill terminate cancel abort
open go move copy write save store use manage handle perform put
data info information detail details item items value name id list result results status current recent latest last
first next old number specific content text object full single existing given available by type
`))

// A deed is what a verb does, as far as it takes to tell a question for reading
// from a wish to change something.
type deed uint8

const (
	noDeed deed = iota
	reads
	creates
	changes
	deletes
)

var deeds = func() map[string]deed {
	m := map[string]deed{}
	for d, words := range map[deed]string{
		reads:   `get list show view read fetch retrieve search find query describe check count lookup browse see look inspect`,
		creates: `create add new insert make generate upload`,
		changes: `update edit modify set change patch rename move enable disable toggle assign`,
		deletes: `delete remove drop destroy purge trash erase clear`,
	} {
		for w := range strings.FieldsSeq(words) {
			m[stem(w)] = d
		}
	}
	return m
}()

// asks are the words a question for information begins with. How is none of
// them: how do I delete a file.
var asks = set(`what whats which who whose when where why is are was were does did am has`)

// deedOfQuestion returns what a question wants done.
func deedOfQuestion(text string) deed {
	words := split(text)
	if len(words) > 0 && asks[words[0]] {
		return reads
	}
	return firstDeed(words)
}

// firstDeed returns what the first verb among the words does.
func firstDeed(words []string) deed {
	for _, w := range words {
		if d := deeds[stem(w)]; d != noDeed {
			return d
		}
	}
	return noDeed
}
