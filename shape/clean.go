package shape

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/annotary/annotary/internal/strict"
)

// Clean returns s without what a terminal or a reader would obey instead of
// show: escape sequences (ANSI, with their parameters), other control characters
// except tab, line feed and carriage return, bidirectional overrides and
// isolates, and Unicode tags, in which invisible text is smuggled. What is left
// holds no escape character, so nothing can reassemble.
func Clean(s string) string {
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\x1b' || (r >= 0x80 && r <= 0x9f):
			size = sequence(s)
		case r == utf8.RuneError && size == 1: // or bytes around a dropped one would join
			b.WriteRune(utf8.RuneError)
		case isControl(r):
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

func isControl(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // bidirectional
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}

// sequence returns the length of the escape sequence that s begins with. Of a
// broken one only the introducer goes; its text is then harmless.
func sequence(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	rest := s[size:]
	if r == '\x1b' {
		if rest == "" {
			return size
		}
		r = rune(rest[0]) + 0x40 // ESC [ is the 7-bit form of CSI, and so on
		if r < 0x80 || r > 0x9f {
			return size + escapeTail(rest)
		}
		size, rest = size+1, rest[1:]
	}
	switch r {
	case 0x9b: // CSI: parameters, then a final byte
		return size + csiTail(rest)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC: up to BEL or ST
		return size + stringTail(rest)
	}
	return size
}

// escapeTail is what follows ESC in a sequence that is no C1 control:
// intermediates, then a final byte.
func escapeTail(s string) int {
	i := 0
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e && (i > 0 || s[i] < 0x40 || s[i] >= 0x60) {
		return i + 1
	}
	return 0
}

func csiTail(s string) int {
	i := 0
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// maxStringTail bounds how much text an unclosed sequence may swallow.
const maxStringTail = 4096

func stringTail(s string) int {
	window := s[:min(len(s), maxStringTail)]
	end := len(window) + 1
	size := 0
	for _, terminator := range []string{"\a", "\x1b\\", "\u009c"} {
		if i := strings.Index(window, terminator); i >= 0 && i < end {
			end, size = i, len(terminator)
		}
	}
	if end > len(window) {
		return 0
	}
	return end + size
}

// cover replaces each character that Clean would drop, so that the length stays.
func cover(s string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// cleanStrings cleans every string and member name below n in place and reports
// whether anything changed.
func (n *node) cleanStrings(clean func(string) string) bool {
	changed := false
	if n.kind == strict.String {
		s, _ := strict.Text(n.raw)
		if c := clean(s); c != s {
			*n = *text(c)
			return true
		}
		return false
	}
	for _, kid := range n.kids {
		changed = kid.cleanStrings(clean) || changed
	}
	changed = n.cleanNames(clean) || changed
	if changed {
		n.measure()
	}
	return changed
}

// cleanNames cleans the names of n's members. Two that become one are told apart
// again.
func (n *node) cleanNames(clean func(string) string) bool {
	if !slices.ContainsFunc(n.names, func(name string) bool { return strings.ContainsFunc(name, isControl) }) {
		return false
	}
	taken := map[string]bool{}
	for _, name := range n.names {
		taken[name] = true
	}
	for i, name := range n.names {
		if strings.ContainsFunc(name, isControl) {
			n.names[i] = freeName(clean(name), taken)
		}
	}
	return true
}

// freeName returns name, or a longer one that is not taken, and takes it. It
// begins to count where no number is likely to be taken.
func freeName(name string, taken map[string]bool) string {
	free := name
	for i := len(taken); taken[free]; i++ {
		free = name + "\uFFFD" + strconv.Itoa(i)
	}
	taken[free] = true
	return free
}
