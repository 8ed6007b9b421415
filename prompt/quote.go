package prompt

import (
	"regexp"
	"strings"
	"unicode"
)

// maxName is how many characters of a tool's name are shown; the specification
// allows 128.
const maxName = 128

// plainName is what the specification allows in a name. Such a name needs no
// quotes.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)

func name(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return Quote(s, maxName)
}

// Quote returns a stranger's text in double quotes, on one line, at most limit
// characters of it. Whatever the text, the result holds exactly two double
// quotes, its first and its last character; no line break, control, invisible or
// bidirectional character; no backslash; and none of the angle and square
// brackets and backticks that mark-up, chat templates and our own marks are made
// of. Lookalikes take their place, so that a person still reads the sentence.
func Quote(text string, limit int) string {
	return inQuotes([]rune(clean(text)), limit)
}

// inQuotes cuts a clean text to limit characters, says so with an ellipsis, and
// quotes it.
func inQuotes(text []rune, limit int) string {
	switch {
	case len(text) <= limit:
		return `"` + string(text) + `"`
	case limit < 1:
		return `""`
	default:
		return `"` + strings.TrimRight(string(text[:limit-1]), " ") + `…"`
	}
}

// standIns replace what could end the quotes or look like structure.
var standIns = map[rune]rune{
	'<': '‹', '>': '›', '[': '(', ']': ')', '\\': '/', '`': '\'',
	'＜': '‹', '＞': '›', '［': '(', '］': ')', '＼': '/',
}

// clean makes one line of visible characters out of any text.
func clean(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case isInvisible(r):
			continue
		case isQuote(r):
			r = '\''
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if s, ok := standIns[r]; ok {
			r = s
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isInvisible reports whether a character leaves no mark on paper.
func isInvisible(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800'
}

// isQuote reports whether a character is, or looks like, a double quote.
func isQuote(r rune) bool {
	return unicode.Is(unicode.Quotation_Mark, r) && !strings.ContainsRune("'‹›", r) || strings.ContainsRune("″‶ʺ˝״˶ˮ᳓❝❞🙶🙷🙸", r)
}
