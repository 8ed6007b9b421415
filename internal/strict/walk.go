package strict

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a JSON value is.
type Kind uint8

// The kinds of a value. Absent is the kind of no value at all.
const (
	Absent Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"absent", "null", "false", "true", "number", "string", "array", "object"}

// String names the kind as a person would.
func (k Kind) String() string { return kindNames[k] }

// KindOf says what the value is, from its first byte. It expects a value that
// passed [Check], or nil.
func KindOf(raw Raw) Kind {
	i := skipSpace(raw, 0)
	if i >= len(raw) {
		return Absent
	}
	switch raw[i] {
	case 'n':
		return Null
	case 'f':
		return False
	case 't':
		return True
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}

// Text returns the value of a JSON string and whether raw is one.
func Text(raw Raw) (string, bool) {
	if KindOf(raw) != String {
		return "", false
	}
	i := skipSpace(raw, 0)
	return string(unquoted(raw[i:skipString(raw, i)])), true
}

// Members yields the members of an object in the order they were sent; nothing
// if raw is no object. The values share raw's memory.
func Members(raw Raw) iter.Seq2[string, Raw] {
	return func(yield func(string, Raw) bool) {
		for name, at := range Spans(raw, Span{To: len(raw)}) {
			if !yield(string(name), at.Of(raw)) {
				return
			}
		}
	}
}

// Elements yields the elements of an array; nothing if raw is no array. The
// values share raw's memory.
func Elements(raw Raw) iter.Seq2[int, Raw] {
	return func(yield func(int, Raw) bool) {
		i := skipSpace(raw, 0)
		if i >= len(raw) || raw[i] != '[' {
			return
		}
		i = skipSpace(raw, i+1)
		for n := 0; i < len(raw) && raw[i] != ']'; n++ {
			end := skipValue(raw, i)
			if i >= end || !yield(n, raw[i:end:end]) {
				return
			}
			if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
				return
			}
			i = skipSpace(raw, i+1)
		}
	}
}

// Get follows names through nested objects and returns the value there, or nil
// if there is none.
func Get(raw Raw, names ...string) Raw {
next:
	for _, want := range names {
		for name, at := range Spans(raw, Span{To: len(raw)}) {
			if string(name) == want {
				raw = at.Of(raw)
				continue next
			}
		}
		return nil
	}
	return raw
}

// At returns the value a JSON Pointer (RFC 6901) points to, or nil.
func At(raw Raw, pointer string) Raw {
	if pointer == "" {
		return raw
	}
	if pointer[0] != '/' {
		return nil
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = UnescapePointer(part)
		if KindOf(raw) == Array {
			raw = element(raw, part)
		} else {
			raw = Get(raw, part)
		}
		if raw == nil {
			return nil
		}
	}
	return raw
}

func element(raw Raw, index string) Raw {
	n, err := strconv.Atoi(index)
	if err != nil || (len(index) > 1 && index[0] == '0') {
		return nil
	}
	for i, v := range Elements(raw) {
		if i == n {
			return v
		}
	}
	return nil
}

// Leaves yields every scalar below raw with its JSON Pointer.
func Leaves(raw Raw) iter.Seq2[string, Raw] {
	return func(yield func(string, Raw) bool) {
		for at, end := range Ends(raw) {
			if kind := KindOf(end); kind != Object && kind != Array && !yield(at, end) {
				return
			}
		}
	}
}

// Ends yields every value below raw that holds no other, with its JSON Pointer:
// scalars, and lists and objects that are empty.
func Ends(raw Raw) iter.Seq2[string, Raw] {
	return func(yield func(string, Raw) bool) { ends("", raw, yield) }
}

func ends(at string, raw Raw, yield func(string, Raw) bool) bool {
	empty := true
	for name, v := range Members(raw) {
		if empty = false; !ends(at+"/"+EscapePointer(name), v, yield) {
			return false
		}
	}
	for i, v := range Elements(raw) {
		if empty = false; !ends(at+"/"+strconv.Itoa(i), v, yield) {
			return false
		}
	}
	kind := KindOf(raw)
	if !empty || kind == Absent || (at == "" && (kind == Object || kind == Array)) {
		return true
	}
	return yield(at, raw)
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapePointer writes a name as a part of a JSON Pointer.
func EscapePointer(name string) string { return pointerEscaper.Replace(name) }

// UnescapePointer reads a part of a JSON Pointer as the name it stands for.
func UnescapePointer(part string) string {
	if !strings.Contains(part, "~") { // the replacer would copy it
		return part
	}
	return pointerUnescaper.Replace(part)
}

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) Raw {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// The scanner below runs over documents that passed Check. On others it stops
// early; it never reads past the end.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i. Texts are
// long and escapes are rare, so it looks for both at the speed of memory.
func skipString(b []byte, i int) int {
	i++
	quote := indexFrom(b, i, '"')
	for quote < len(b) {
		escape := bytes.IndexByte(b[i:quote], '\\')
		if escape < 0 {
			return quote + 1
		}
		if i += escape + 2; i > quote {
			quote = indexFrom(b, i, '"')
		}
	}
	return len(b)
}

// indexFrom returns where c stands in b at or after i, or len(b).
func indexFrom(b []byte, i int, c byte) int {
	if i >= len(b) {
		return len(b)
	}
	if n := bytes.IndexByte(b[i:], c); n >= 0 {
		return i + n
	}
	return len(b)
}

// skipValue returns the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i = skipAtom(b, i)
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

// skipAtom returns the index after the number or literal at i.
func skipAtom(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return i
}
