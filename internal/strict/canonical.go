package strict

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrAmbiguous is returned by [Unambiguous].
var ErrAmbiguous = errors.New("two keys of one object differ only in case")

// Digest is the SHA-256 of a canonical document.
type Digest [sha256.Size]byte

// String writes the digest as "sha256:" and hex.
func (d Digest) String() string {
	const prefix = "sha256:"
	var b [len(prefix) + 2*sha256.Size]byte
	hex.Encode(b[copy(b[:], prefix):], d[:])
	return string(b[:])
}

// Sum digests what raw means: equal documents, however they were written, have
// equal digests, and different ones have different digests, down to the last
// digit of a number.
func Sum(raw Raw) (Digest, error) {
	if err := Check(raw, Limits{}); err != nil {
		return Digest{}, err
	}
	return SumChecked(raw)
}

// SumChecked is Sum for what is part of a document that passed [Check].
func SumChecked(raw Raw) (Digest, error) {
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	c, err := appendCanonical((*room)[:0], raw)
	if err != nil {
		return Digest{}, err
	}
	if cap(c) <= maxRoom {
		*room = c
	}
	return sha256.Sum256(c), nil
}

// rooms are where documents are written that nobody reads but the digest; long
// ones are not kept.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

const maxRoom = 64 << 10

// Canonical writes raw in its one canonical form: keys in the order of RFC 8785
// (UTF-16 code units), its string escaping, no white space, and numbers as an
// exact decimal. RFC 8785 itself turns numbers into doubles, under which 2^53
// and 2^53+1 are one number; an approval for one must not cover the other.
func Canonical(raw Raw) (Raw, error) {
	if err := Check(raw, Limits{}); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(raw)), raw)
}

func appendCanonical(dst []byte, raw Raw) ([]byte, error) {
	switch KindOf(raw) {
	case Object:
		return appendObject(dst, raw)
	case Array:
		dst = append(dst, '[')
		for i, v := range Elements(raw) {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendCanonical(dst, v); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case String:
		if plain := bytes.TrimSpace(raw); isPlain(plain[1 : len(plain)-1]) {
			return append(dst, plain...), nil
		}
		s, _ := Text(raw)
		return jsontext.AppendQuote(dst, s)
	case Number:
		if n := bytes.TrimSpace(raw); isPlainInteger(n) {
			return append(dst, n...), nil
		}
		return appendNumber(dst, string(bytes.TrimSpace(raw)))
	default:
		return append(dst, bytes.TrimSpace(raw)...), nil
	}
}

// isPlain reports whether what stands between the quotes of a string is what the
// canonical form has there, too: printable ASCII without escapes. Most is.
func isPlain(inside []byte) bool {
	for _, c := range inside {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// isPlainInteger reports whether a number is its own canonical form.
func isPlainInteger(n []byte) bool {
	for _, c := range n {
		if c < '0' || c > '9' {
			return false
		}
	}
	return n[0] != '0' && n[len(n)-1] != '0'
}

func appendObject(dst []byte, raw Raw) ([]byte, error) {
	type member struct {
		name  string
		value Raw
	}
	var room [8]member
	members := room[:0]
	for name, value := range Members(raw) {
		members = append(members, member{name, value})
	}
	slices.SortFunc(members, func(a, b member) int { return compareNames(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = jsontext.AppendQuote(dst, m.name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendCanonical(dst, m.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// compareNames orders by UTF-16 code units, which differs from the order of bytes
// only beyond the characters of one unit.
func compareNames(a, b string) int {
	if isASCII(a) && isASCII(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > 0x7f {
			return false
		}
	}
	return true
}

// maxExponent bounds the exponent's own digits; no honest number needs more,
// and arithmetic on it stays cheap.
const maxExponent = 20

// appendNumber writes a number as [-]digits[e±exponent] where digits neither
// begin nor end with a zero. 1, 1.0 and 10e-1 are all "1"; -0 is "0".
func appendNumber(dst []byte, s string) ([]byte, error) {
	mantissa, expText, _ := strings.Cut(strings.ToLower(s), "e")
	if len(strings.TrimLeft(expText, "+-")) > maxExponent {
		return nil, fmt.Errorf("%w: a number's exponent has over %d digits", ErrTooLarge, maxExponent)
	}
	exp := new(big.Int)
	if expText != "" {
		exp.SetString(strings.TrimPrefix(expText, "+"), 10)
	}
	negative := strings.HasPrefix(mantissa, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+frac, "0")
	exp.Sub(exp, big.NewInt(int64(len(frac))))
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return append(dst, '0'), nil
	}
	exp.Add(exp, big.NewInt(int64(len(digits)-len(short))))
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, short...)
	if exp.Sign() != 0 {
		dst = append(append(dst, 'e'), exp.String()...)
	}
	return dst, nil
}

// Unambiguous refuses a document in which two keys of one object differ only in
// case: servers in case-insensitive languages would read one, we the other.
func Unambiguous(raw Raw) error {
	for _, v := range Elements(raw) {
		if err := Unambiguous(v); err != nil {
			return err
		}
	}
	type key struct{ folded, name string }
	var room [8]key
	keys := room[:0]
	for name, v := range Members(raw) {
		keys = append(keys, key{fold(name), name})
		if err := Unambiguous(v); err != nil {
			return err
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int { return strings.Compare(a.folded, b.folded) })
	for i := 1; i < len(keys); i++ {
		if keys[i].folded == keys[i-1].folded {
			return fmt.Errorf("%w: %q and %q", ErrAmbiguous, keys[i-1].name, keys[i].name)
		}
	}
	return nil
}

// fold maps a key to what a case-blind reader would compare. Both mappings are
// taken because a few letters (ſ, K) fold in only one direction.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c > 0x7f || ('A' <= c && c <= 'Z') {
			return strings.ToLower(strings.ToUpper(s))
		}
	}
	return s
}
