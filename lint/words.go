package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/annotary/annotary/derive"
)

// quote shows a text in a finding, on one line and bounded.
func quote(s string) string { return strconv.Quote(short([]byte(s))) }

// short bounds what a finding repeats of a definition.
func short(raw []byte) string {
	const most = 60
	s := strings.Join(strings.Fields(string(raw)), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// some names a few of many.
func some(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// thousands writes 25000 as 25,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// hasVerb reports whether a name or title says what is done.
func hasVerb(name string) bool { return derive.Verb(name) != "" }
