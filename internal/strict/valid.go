package strict

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// valid is a quick check for the ordinary document. What it accepts is good; for
// what it does not, the full decoder says why, or accepts it after all: names
// with escapes and objects with very many members are left to it.
func valid(data []byte, depth int) bool {
	v := validator{b: data, depth: depth}
	v.blank()
	if !v.value() {
		return false
	}
	v.blank()
	return v.i == len(v.b)
}

// openNames is how many names of unfinished objects valid remembers.
const openNames = 48

type validator struct {
	b     []byte
	i     int
	depth int             // how many levels may still open
	names [openNames]Span // of the unfinished objects, the outermost first
	open  int             // how many names there are
}

func (v *validator) blank() {
	for v.i < len(v.b) && (v.b[v.i] == ' ' || v.b[v.i] == '\n' || v.b[v.i] == '\r' || v.b[v.i] == '\t') {
		v.i++
	}
}

// next consumes c if it comes next.
func (v *validator) next(c byte) bool {
	if v.i < len(v.b) && v.b[v.i] == c {
		v.i++
		return true
	}
	return false
}

func (v *validator) value() bool {
	if v.i >= len(v.b) {
		return false
	}
	switch c := v.b[v.i]; c {
	case '{':
		return v.object()
	case '[':
		return v.array()
	case '"':
		_, ok := v.text()
		return ok
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	default:
		return v.number()
	}
}

func (v *validator) word(w string) bool {
	if len(v.b)-v.i < len(w) || string(v.b[v.i:v.i+len(w)]) != w {
		return false
	}
	v.i += len(w)
	return true
}

func (v *validator) object() bool {
	if v.depth == 0 {
		return false
	}
	v.depth--
	v.i++
	own := v.open
	v.blank()
	for first := true; !v.next('}'); first = false {
		if !first && !v.comma() {
			return false
		}
		if !v.member(own) {
			return false
		}
		v.blank()
	}
	v.open = own
	v.depth++
	return true
}

// comma consumes a comma and the blanks around it.
func (v *validator) comma() bool {
	if !v.next(',') {
		return false
	}
	v.blank()
	return true
}

// member reads a name that none of the object's names before equals, and its
// value.
func (v *validator) member(own int) bool {
	if v.i >= len(v.b) || v.b[v.i] != '"' {
		return false
	}
	at, ok := v.text()
	name := v.b[at.From:at.To]
	if !ok || bytes.IndexByte(name, '\\') >= 0 || v.open == openNames {
		return false
	}
	for _, other := range v.names[own:v.open] {
		if string(v.b[other.From:other.To]) == string(name) {
			return false
		}
	}
	v.names[v.open] = at
	v.open++
	v.blank()
	if !v.next(':') {
		return false
	}
	v.blank()
	return v.value()
}

func (v *validator) array() bool {
	if v.depth == 0 {
		return false
	}
	v.depth--
	v.i++
	v.blank()
	for first := true; !v.next(']'); first = false {
		if !first && !v.comma() {
			return false
		}
		if !v.value() {
			return false
		}
		v.blank()
	}
	v.depth++
	return true
}

// text reads a string and returns where its inside stands.
func (v *validator) text() (Span, bool) {
	b, start := v.b, v.i+1
	ascii := true
	for i := start; i < len(b); i++ {
		for i+8 <= len(b) && eightPlain(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
		}
		if i == len(b) {
			break
		}
		switch c := b[i]; {
		case plain[c]:
		case c == '"':
			v.i = i + 1
			return Span{start, i}, ascii || utf8.Valid(b[start:i])
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return Span{}, false
			}
			i += n - 1
		case c < 0x20:
			return Span{}, false
		default:
			ascii = false
		}
	}
	return Span{}, false
}

// eightPlain reports whether eight bytes at once are plain: none has its high
// bit set, none is a control character, a quote or a backslash.
func eightPlain(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	control := x - 0x20*each
	quote := (x ^ '"'*each) - each
	backslash := (x ^ '\\'*each) - each
	return (x|control|quote|backslash)&high == 0
}

// plain are the bytes that mean themselves in a string.
var plain = func() (p [256]bool) {
	for c := byte(0x20); c < utf8.RuneSelf; c++ {
		p[c] = c != '"' && c != '\\'
	}
	return p
}()

// escape returns the length of the escape sequence b begins with, zero if it is
// none. Halves of a surrogate pair come together or not at all.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		switch r, ok := hex4(b); {
		case !ok, r >= 0xdc00 && r < 0xe000:
			return 0
		case r >= 0xd800 && r < 0xdc00:
			low, ok := hex4(b[6:])
			if !ok || low < 0xdc00 || low >= 0xe000 {
				return 0
			}
			return 12
		}
		return 6
	}
	return 0
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (v *validator) number() bool {
	v.next('-')
	if !v.next('0') && !v.digits() {
		return false
	}
	if v.next('.') && !v.digits() {
		return false
	}
	if v.i < len(v.b) && (v.b[v.i] == 'e' || v.b[v.i] == 'E') {
		v.i++
		if !v.next('+') {
			v.next('-')
		}
		return v.digits()
	}
	return true
}

// digits consumes one digit or more.
func (v *validator) digits() bool {
	start := v.i
	for v.i < len(v.b) && '0' <= v.b[v.i] && v.b[v.i] <= '9' {
		v.i++
	}
	return v.i > start
}
