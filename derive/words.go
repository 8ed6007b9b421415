package derive

import (
	"strings"
	"unicode"
)

// splitName splits a name written in any casing into lower-case words:
// getHTTPHeaders, get_http_headers, get-http-headers and Get.HTTP.Headers are
// all get, http, headers.
func splitName(name string) []string {
	var words []string
	start := 0
	runes := []rune(name)
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + 1
		case i > start && startsWord(runes, i):
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return words
}

// startsWord reports whether a new word begins at i although no separator
// stands before it: at the hump of a camel, and at the last capital of an
// acronym that a word follows.
func startsWord(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	if !unicode.IsUpper(runes[i-1]) {
		return true
	}
	return i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// base returns the verb of the lexicon that w is a form of: lists, listing and
// list are all list.
func base(w string) (string, bool) {
	if _, ok := lexicon[w]; ok {
		return w, true
	}
	for _, suffix := range []struct{ cut, put string }{
		{"ies", "y"}, {"es", ""}, {"s", ""}, {"es", "e"}, {"ing", ""}, {"ing", "e"},
	} {
		stem, ok := strings.CutSuffix(w, suffix.cut)
		if !ok || len(stem) < 2 {
			continue
		}
		if _, ok := lexicon[stem+suffix.put]; ok {
			return stem + suffix.put, true
		}
		if n := len(stem); suffix.cut == "ing" && stem[n-1] == stem[n-2] {
			if _, ok := lexicon[stem[:n-1]]; ok { // getting, running
				return stem[:n-1], true
			}
		}
	}
	return "", false
}
