package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// A Pattern says which values of the arguments may differ from those that were
// shown, by JSON Pointer. Everything it does not name must be equal. There are no
// regular expressions: a person must be able to see what a pattern lets through.
type Pattern map[string]Match

// A Match is what one value may be: exactly one of the three.
type Match struct {
	// Exact is the value, as JSON; a string that is no JSON stands for itself.
	Exact *string `json:"exact,omitempty"`
	// Prefix is how the value begins. Whatever follows must not climb out of it:
	// no "..", backslash or control character. An empty prefix is any value.
	Prefix *string `json:"prefix,omitempty"`
	// OneOf are the values, each as in Exact.
	OneOf []string `json:"oneOf,omitempty"`
}

// check reports what is wrong with a pattern for a call with these leaves.
func (p Pattern) check(leaves map[string]string) error {
	if leaves == nil {
		return fmt.Errorf("these arguments have too many values for a pattern")
	}
	for pointer, m := range p {
		kind, ok := leaves[pointer]
		switch {
		case !ok:
			return fmt.Errorf("the arguments have nothing at %q", pointer)
		case kind == "{" || kind == "[":
			return fmt.Errorf("%q is no single value", pointer)
		}
		if err := m.check(); err != nil {
			return fmt.Errorf("%s: %w", pointer, err)
		}
	}
	return nil
}

func (m *Match) check() error {
	said := 0
	for _, has := range []bool{m.Exact != nil, m.Prefix != nil, m.OneOf != nil} {
		if has {
			said++
		}
	}
	if said != 1 {
		return fmt.Errorf("say one of exact, prefix and one-of")
	}
	if m.Prefix != nil {
		return checkPrefix(*m.Prefix)
	}
	return nil
}

// checkPrefix refuses a prefix that ends inside a host name: https://a.com would
// let https://a.com.evil.example through.
func checkPrefix(p string) error {
	if _, rest, url := strings.Cut(p, "://"); url && !strings.Contains(rest, "/") {
		return fmt.Errorf("the prefix of an address goes to the slash after the host: %s/", p)
	}
	return nil
}

// fits reports whether the arguments are equal to those with the given leaves,
// but for what the pattern lets differ.
func (p Pattern) fits(shown map[string]string, args []byte) bool {
	now := leavesOf(args)
	if now == nil || len(now) != len(shown) {
		return false
	}
	for pointer, value := range now {
		m, named := p[pointer]
		was, ok := shown[pointer]
		switch {
		case !ok:
			return false
		case !named && was != value:
			return false
		case named && !m.fits(strict.At(args, pointer)):
			return false
		}
	}
	return true
}

func (m *Match) fits(raw strict.Raw) bool {
	switch {
	case m.Exact != nil:
		return equals(*m.Exact, raw)
	case m.Prefix != nil:
		return begins(*m.Prefix, raw)
	default:
		return slices.ContainsFunc(m.OneOf, func(v string) bool { return equals(v, raw) })
	}
}

// equals compares a value with one that a person wrote: a string by its text,
// anything else by what it means.
func equals(said string, raw strict.Raw) bool {
	if text, ok := strict.Text(raw); ok {
		var quoted string
		return text == said || (json.Unmarshal([]byte(said), &quoted) == nil && strings.HasPrefix(said, `"`) && text == quoted)
	}
	if strict.Check([]byte(said), strict.Limits{}) != nil {
		return false
	}
	want, err := strict.Sum([]byte(said))
	got, err2 := strict.Sum(raw)
	return err == nil && err2 == nil && want == got
}

func begins(prefix string, raw strict.Raw) bool {
	switch strict.KindOf(raw) {
	case strict.Object, strict.Array, strict.Absent:
		return false
	default:
	}
	text, ok := strict.Text(raw)
	if !ok {
		return prefix == "" || strings.HasPrefix(string(raw), prefix)
	}
	rest, ok := strings.CutPrefix(text, prefix)
	if prefix == "" {
		return ok
	}
	// What climbs may begin in the prefix itself: "docs/." and then "./".
	dots, encoded := prefix[len(prefix)-1:]+rest, strings.ToLower(prefix[max(0, len(prefix)-2):]+rest)
	climbs := strings.Contains(dots, "..") || strings.Contains(encoded, "%2e") ||
		strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f })
	return ok && !climbs
}

// ParseMatch reads what people write of one value: "exact:VALUE", "prefix:TEXT"
// or "one-of:VALUE,VALUE"; a text without such a word is exact.
func ParseMatch(s string) (Match, error) {
	kind, rest, ok := strings.Cut(s, ":")
	switch {
	case ok && kind == "exact":
		return Match{Exact: &rest}, nil
	case ok && kind == "prefix":
		return Match{Prefix: &rest}, checkPrefix(rest)
	case ok && kind == "one-of":
		return Match{OneOf: strings.Split(rest, ",")}, nil
	default:
		return Match{Exact: &s}, nil
	}
}

// String writes a match as ParseMatch reads it.
func (m Match) String() string {
	switch {
	case m.Exact != nil:
		return "exact:" + *m.Exact
	case m.Prefix != nil:
		return "prefix:" + *m.Prefix
	default:
		return "one-of:" + strings.Join(m.OneOf, ",")
	}
}

// ParsePattern reads "POINTER=MATCH" for each value.
func ParsePattern(said []string) (Pattern, error) {
	if len(said) == 0 {
		return nil, nil
	}
	p := Pattern{}
	for _, s := range said {
		pointer, rest, ok := strings.Cut(s, "=")
		if !ok || !strings.HasPrefix(pointer, "/") {
			return nil, annotary.E(annotary.CodeInvalid, fmt.Sprintf("a pattern is written /POINTER=prefix:TEXT, not %q", s), nil)
		}
		m, err := ParseMatch(rest)
		if err != nil {
			return nil, annotary.E(annotary.CodeInvalid, err.Error(), err)
		}
		p[pointer] = m
	}
	return p, nil
}
