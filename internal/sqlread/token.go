package sqlread

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind says what a token is.
type kind uint8

const (
	end    kind = iota
	word        // keyword or unquoted name, folded to lower case
	quoted      // quoted name, without its quotes
	str         // string or bit string
	num         // number
	param       // placeholder or variable
	op          // operator
	punct       // ( ) [ ] , ; . : ::
)

// A token is one word of a text. Start and end are byte offsets.
type token struct {
	kind       kind
	text       string
	start, end int
}

// A lexer cuts a text into tokens as one dialect does. The first thing it does
// not know ends it with a reason.
type lexer struct {
	d    Dialect
	src  string
	i    int
	toks []token
	why  string
}

// tokenize returns the tokens of a text, or why it has none.
func tokenize(sql string, d Dialect) ([]token, string) {
	l := &lexer{d: d, src: sql}
	if d == MySQL && afterForeign.MatchString(sql) {
		l.fail("it has a backslash or backquote right after a letter outside ASCII, which some character sets take for its part")
	}
	for l.i < len(l.src) && l.why == "" {
		l.step()
	}
	return l.toks, l.why
}

// afterForeign matches what GBK, Big5 or Shift JIS may swallow as the second
// byte of a letter, if that is how the connection reads our UTF-8.
var afterForeign = regexp.MustCompile("[^\x00-\x7f][\\\\`]")

// at returns the byte n places ahead, 0 past the end.
func (l *lexer) at(n int) byte {
	if l.i+n >= len(l.src) {
		return 0
	}
	return l.src[l.i+n]
}

func (l *lexer) ahead(s string) bool { return strings.HasPrefix(l.src[l.i:], s) }

func (l *lexer) fail(format string, args ...any) {
	l.why = fmt.Sprintf(format, args...)
}

// emit ends the token that began here after n bytes.
func (l *lexer) emit(k kind, n int, text string) {
	l.toks = append(l.toks, token{k, text, l.i, l.i + n})
	l.i += n
}

// step reads one token or skips one space or comment.
func (l *lexer) step() {
	c := l.at(0)
	switch {
	// Vertical tab and the like are spaces to some versions only.
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		l.i++
	case l.ahead("/*"):
		l.blockComment()
	case l.lineComment():
	case c == '\'':
		l.str(0, false)
	case c == '"' && l.d == MySQL:
		l.str(0, false)
	case c == '"', c == '`' && l.d != Postgres:
		l.quotedName(c, c)
	case c == '[' && l.d == SQLite:
		l.quotedName('[', ']')
	case c == '$':
		l.dollar()
	case isDigit(c) || c == '.' && isDigit(l.at(1)):
		l.number()
	case isWordStart(rune(c)) || c >= utf8.RuneSelf:
		l.word()
	case strings.IndexByte("()[],;.", c) >= 0:
		l.emit(punct, 1, string(c))
	case c == ':' || (c == '@' || c == '?') && l.d != Postgres:
		l.variable(c)
	default:
		l.operator()
	}
}

// blockComment skips a comment. PostgreSQL nests comments, the others do not.
// Comments that some server executes or obeys are not skipped by anybody here,
// and MySQL's half-kept promise to nest is not relied on.
func (l *lexer) blockComment() {
	for _, open := range []string{"/*!", "/*M!", "/*m!", "/*+"} {
		if l.ahead(open) {
			l.fail("it has a comment that a server may obey (%s … */)", open)
			return
		}
	}
	depth, i := 1, l.i+2
	for ; depth > 0; i++ {
		switch rest := l.src[min(i, len(l.src)):]; {
		case rest == "":
			l.fail("a comment has no end")
			return
		case strings.HasPrefix(rest, "*/"):
			depth--
			i++
		case strings.HasPrefix(rest, "/*") && l.d == MySQL:
			l.fail("it has a comment within a comment")
			return
		case strings.HasPrefix(rest, "/*") && l.d == Postgres:
			depth++
			i++
		}
	}
	l.i = i
}

// lineComment skips a comment up to the end of its line and reports whether
// there was one. MySQL wants a space after the dashes and knows #; only
// PostgreSQL ends the line at a carriage return.
func (l *lexer) lineComment() bool {
	dashes := l.ahead("--") && (l.d != MySQL || l.at(2) <= ' ' || l.at(2) == 0x7f)
	if !dashes && (l.d != MySQL || l.at(0) != '#') {
		return false
	}
	stop := "\n"
	if l.d == Postgres {
		stop = "\n\r"
	}
	n := strings.IndexAny(l.src[l.i:], stop)
	if n < 0 {
		n = len(l.src) - l.i
	}
	l.i += n
	return true
}

// str reads a string whose quote stands prefix bytes ahead. Settings of
// PostgreSQL and MySQL decide whether a backslash escapes the quote after it,
// so a string that would end elsewhere under the other setting is refused.
func (l *lexer) str(prefix int, escapes bool) {
	from := l.i + prefix
	plain, escaped := closing(l.src, from, false), closing(l.src, from, true)
	stop := plain
	switch {
	case escapes:
		stop = escaped
	case l.d != SQLite && plain != escaped:
		l.fail("a setting of the server decides where one of its strings ends")
		return
	}
	if stop < 0 {
		l.fail("a string has no end")
		return
	}
	l.emit(str, stop-l.i, "")
}

// closing returns the index after the quote that closes the one at i, or -1. A
// doubled quote stands for itself.
func closing(s string, i int, escapes bool) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] != quote:
		case i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// quotedName reads a name in quotes.
func (l *lexer) quotedName(open, shut byte) {
	stop := -1
	if open == shut {
		stop = closing(l.src, l.i, false)
	} else if n := strings.IndexByte(l.src[l.i:], shut); n > 0 {
		stop = l.i + n + 1
	}
	if stop < 0 {
		l.fail("a quoted name has no end")
		return
	}
	name := l.src[l.i+1 : stop-1]
	if open == shut {
		name = strings.ReplaceAll(name, string([]byte{open, open}), string(open))
	}
	l.emit(quoted, stop-l.i, name)
}

// dollar reads $1 and, for PostgreSQL, a dollar-quoted string.
func (l *lexer) dollar() {
	n := 1
	for isDigit(l.at(n)) {
		n++
	}
	if n > 1 && l.d != MySQL && !l.wordGoesOn(n) && l.at(n) != '(' {
		l.emit(param, n, "")
		return
	}
	tag := l.dollarTag()
	if tag == "" {
		l.fail("it has a $ that begins nothing known")
		return
	}
	length := strings.Index(l.src[l.i+len(tag):], tag)
	if length < 0 {
		l.fail("a dollar-quoted string has no end")
		return
	}
	l.emit(str, length+2*len(tag), "")
}

// dollarTag returns the opening tag of a dollar-quoted string, or "".
func (l *lexer) dollarTag() string {
	if l.d != Postgres {
		return ""
	}
	n := 1
	for isWordStart(rune(l.at(n))) || n > 1 && isDigit(l.at(n)) {
		n++
	}
	if l.at(n) != '$' {
		return ""
	}
	return l.src[l.i : l.i+n+1]
}

// number reads a number. What follows one directly is read in different ways
// by different versions, so nothing may.
func (l *lexer) number() {
	var n int
	if l.d != Postgres && l.at(0) == '0' && l.at(1)|0x20 == 'x' && isHex(l.at(2)) {
		for n = 2; isHex(l.at(n)); n++ {
		}
	} else {
		n = l.decimal()
	}
	if l.wordGoesOn(n) || l.at(n) == '.' {
		l.fail("something follows the number %s directly", l.src[l.i:l.i+n])
		return
	}
	l.emit(num, n, "")
}

// decimal returns the length of the decimal number here.
func (l *lexer) decimal() int {
	n := 0
	digits := func() {
		for isDigit(l.at(n)) {
			n++
		}
	}
	digits()
	if l.at(n) == '.' {
		n++
		digits()
	}
	if l.at(n)|0x20 != 'e' {
		return n
	}
	mark := n
	n++
	if l.at(n) == '+' || l.at(n) == '-' {
		n++
	}
	if !isDigit(l.at(n)) {
		return mark
	}
	digits()
	return n
}

// word reads a keyword or an unquoted name, or a string with a letter before
// its quote. Letters outside ASCII are kept; the space-like, the invisible and
// every other sign outside ASCII is refused.
func (l *lexer) word() {
	n := 0
	for l.wordGoesOn(n) {
		_, size := utf8.DecodeRuneInString(l.src[l.i+n:])
		n += size
	}
	if n == 0 {
		r, _ := utf8.DecodeRuneInString(l.src[l.i:])
		l.fail("it has the sign %U outside of strings and quotes", r)
		return
	}
	text := lower(l.src[l.i : l.i+n])
	switch next := l.at(n); {
	case next == '&' && text == "u" && l.d == Postgres && (l.at(2) == '\'' || l.at(2) == '"'):
		l.fail("it has a U& string or name")
	case next == '\'' && text == "e" && l.d == Postgres:
		l.str(n, true)
	case next == '\'' && strings.Contains(stringPrefixes[l.d], text) && len(text) == 1:
		l.str(n, false)
	default:
		l.emit(word, n, text)
	}
}

// stringPrefixes are the letters that may stand before a string.
var stringPrefixes = [...]string{Postgres: "bnx", MySQL: "bnx", SQLite: "x"}

// wordGoesOn reports whether the character n bytes ahead may stand in a word.
func (l *lexer) wordGoesOn(n int) bool {
	r, _ := utf8.DecodeRuneInString(l.src[min(l.i+n, len(l.src)):])
	if r < utf8.RuneSelf {
		return isWordStart(r) || isDigit(byte(r)) || r == '$'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r))
}

// variable reads what begins with : @ or ?. An assignment is refused here.
func (l *lexer) variable(c byte) {
	n := 1
	switch {
	case l.ahead(":="):
		l.fail("it assigns a variable (:=)")
		return
	case l.d == Postgres: // a cast or a slice
		if l.at(1) == ':' {
			n = 2
		}
		l.emit(punct, n, l.src[l.i:l.i+n])
		return
	case l.ahead("@@") && l.d == MySQL:
		n = 2
	}
	from := n
	for l.variableGoesOn(c, n) {
		n++
	}
	if n == from && c != '?' || c == ':' && l.d == MySQL || l.wordGoesOn(n) || l.at(n) == ':' || l.at(n) == '(' {
		l.fail("it has a %c that begins nothing known", c)
		return
	}
	l.emit(param, n, "")
}

// variableGoesOn reports whether the byte n ahead belongs to a variable that
// began with c.
func (l *lexer) variableGoesOn(c byte, n int) bool {
	switch b := l.at(n); {
	case c == '?':
		return l.d == SQLite && isDigit(b)
	case b == '.':
		return l.d == MySQL
	default:
		return isWordStart(rune(b)) || isDigit(b)
	}
}

// operator reads an operator on the dialect's list.
func (l *lexer) operator() {
	if l.d == Postgres {
		l.postgresOperator()
		return
	}
	for size := 3; size > 0; size-- {
		if o := l.src[l.i:min(l.i+size, len(l.src))]; len(o) == size && operators[l.d][o] {
			l.emit(op, size, o)
			return
		}
	}
	l.fail("it has the sign %q, which begins no known operator", l.at(0))
}

// postgresOperator reads an operator as PostgreSQL does: the longest run of
// operator characters before a comment, and a run without one of ~!@#%^&|`?
// does not end in + or -. Each sign of a run may turn out to be one operator, and
// the rest of the run is looked at for each, so a long one is refused.
func (l *lexer) postgresOperator() {
	const chars, special, longest = "+-*/<>=~!@#%^&|`?", "~!@#%^&|`?", 63
	n := 0
	for l.i+n < len(l.src) && strings.IndexByte(chars, l.at(n)) >= 0 {
		if rest := l.src[l.i+n:]; strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
			break
		}
		if n++; n > longest {
			l.fail("it has a run of more than %d operator signs", longest)
			return
		}
	}
	o := l.src[l.i : l.i+n]
	for plain := !strings.ContainsAny(o, special); plain && n > 1 && (o[n-1] == '+' || o[n-1] == '-'); o = o[:n] {
		n--
	}
	if !operators[Postgres][o] {
		l.fail("it has the sign %q, which is no built-in operator", l.src[l.i:l.i+max(n, 1)])
		return
	}
	l.emit(op, n, o)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isWordStart(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_'
}

// lower folds ASCII only, as the databases fold keywords: a Kelvin sign is no k.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}
