// Package detect finds secrets in what people and tools say, so that they can be
// kept out of records, prompts and errors.
//
// It knows the shapes that providers give their keys, private keys, tokens and
// passwords in addresses, what stands after a word such as "password=", and the
// names that arguments with secrets have. What looks like any other text is not
// found: a secret without a shape and without a name is indistinguishable from
// an order number. It errs towards hiding.
//
// The package is pure, and bounded: the time it takes grows with the length of
// the text and nothing else.
package detect

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/annotary/annotary/internal/strict"
)

// A Secret is a secret in a text: what it is, and where.
type Secret struct {
	Kind       string
	Start, End int
}

// A shape is how one kind of secret is written. Where the expression has a
// group, only the group is the secret.
type shape struct {
	kind   string
	expr   *regexp.Regexp
	likely func(string) bool // nil: always
}

// shapes are those that providers document for their keys, from the most to the
// least certain.
var shapes = []shape{
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`), nil},
	{"AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`), nil},
	{"GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})`), nil},
	{"GitLab token", regexp.MustCompile(`\bgl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt)-[A-Za-z0-9_.-]{20,}`), nil},
	{"Slack token", regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]{20,}`), nil},
	{"Stripe key", regexp.MustCompile(`\b(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}`), nil},
	{"model provider key", regexp.MustCompile(`\bsk-(?:ant-|proj-|svcacct-|admin-|or-)?[A-Za-z0-9_-]{20,}`), nil},
	{"Google key", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}`), nil},
	{"npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}`), nil},
	{"PyPI token", regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{50,}`), nil},
	{"Hugging Face token", regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}`), nil},
	{"SendGrid key", regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), nil},
	{"Twilio key", regexp.MustCompile(`\b(?:SK|AC)[0-9a-f]{32}\b`), nil},
	{"DigitalOcean token", regexp.MustCompile(`\bdo[opr]_v1_[a-f0-9]{64}`), nil},
	{"Azure key", regexp.MustCompile(`(?i)\bAccountKey=([A-Za-z0-9+/=]{40,})`), nil},
	{"annotary key", regexp.MustCompile(`\bannotary_[A-Za-z0-9_-]{20,}`), nil},
	{"token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), nil},
	{"password", regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s/:@"']{0,256}:([^\s/"']{1,256})@`), nil},
	{"credential", regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/-]{16,}=*)`), nil},
	{"secret", regexp.MustCompile(`(?i)(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|private[_-]?key)["']?\s*[=:]\s*["']?([^\s"',;&\[][^\s"',;&]{5,512})`), nil},
	{"AWS secret key", regexp.MustCompile(`[A-Za-z0-9/+=]{40,}`), isAWSSecret},
}

// isAWSSecret reports whether a run of base64 is as long as such a key, and as
// mixed. The run is looked at whole: were the characters around it part of the
// shape, of two keys with one character between them only one would be found.
func isAWSSecret(s string) bool { return len(s) == 40 && !strings.Contains(s, "=") && mixed(s) }

// mixed reports whether a run of characters is as mixed as a random one: digests
// in hexadecimal, words and paths are not.
func mixed(s string) bool {
	var upper, lower, digit int
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			lower++
		case unicode.IsDigit(r):
			digit++
		}
	}
	return upper >= 5 && lower >= 5 && digit >= 1 && strings.Count(s, "/") <= 4
}

// Secrets finds the secrets in a text, in order, none within another.
func Secrets(text string) []Secret {
	var found []Secret
	for _, s := range shapes {
		for _, at := range s.expr.FindAllStringSubmatchIndex(text, -1) {
			start, end := at[0], at[1]
			if len(at) > 2 && at[2] >= 0 {
				start, end = at[2], at[3]
			}
			if s.likely == nil || s.likely(text[start:end]) {
				found = append(found, Secret{s.kind, start, end})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Secret) int { return a.Start - b.Start })
	return merged(found)
}

// merged joins secrets that overlap: what is in either is hidden.
func merged(found []Secret) []Secret {
	var out []Secret
	for _, s := range found {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Text returns the text with every secret replaced by what it is.
func Text(text string) string {
	found := Secrets(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.Start])
		b.WriteString(mark(s.Kind))
		at = s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

func mark(kind string) string { return "[hidden: " + kind + "]" }

// JSON returns a JSON value with every secret in its strings and names replaced
// by what it is, and the JSON Pointers of the strings that were changed. A string
// or number under a name that secrets have is hidden whole. The value must be valid.
func JSON(raw []byte) (clean []byte, hidden []string) {
	r := redaction{out: make([]byte, 0, len(raw))}
	r.value(raw, "", false)
	return r.out, r.hidden
}

// A redaction writes a value anew and notes what it hid.
type redaction struct {
	out    []byte
	hidden []string
}

func (r *redaction) value(raw strict.Raw, at string, secret bool) {
	switch strict.KindOf(raw) {
	case strict.Object:
		r.object(raw, at, secret)
	case strict.Array:
		r.out = append(r.out, '[')
		for i, v := range strict.Elements(raw) {
			if i > 0 {
				r.out = append(r.out, ',')
			}
			r.value(v, at, secret)
		}
		r.out = append(r.out, ']')
	case strict.String:
		r.text(raw, at, secret)
	case strict.Number:
		if secret { // a PIN
			r.hide(at, mark("secret"))
			return
		}
		r.out = append(r.out, raw...)
	default:
		r.out = append(r.out, raw...)
	}
}

func (r *redaction) object(raw strict.Raw, at string, secret bool) {
	r.out = append(r.out, '{')
	first := true
	for name, v := range strict.Members(raw) {
		if !first {
			r.out = append(r.out, ',')
		}
		first = false
		shown := Text(name)
		r.out = append(append(r.out, strict.Quote(shown)...), ':')
		r.value(v, at+"/"+strict.EscapePointer(shown), secret || Named(name))
	}
	r.out = append(r.out, '}')
}

func (r *redaction) text(raw strict.Raw, at string, secret bool) {
	s, ok := strict.Text(raw)
	switch {
	case !ok || secret && s != "": // lone surrogates are nothing that can be shown
		r.hide(at, mark("secret"))
	default:
		if clean := Text(s); clean != s {
			r.hide(at, clean)
			return
		}
		r.out = append(r.out, raw...)
	}
}

func (r *redaction) hide(at, shown string) {
	r.out = append(r.out, strict.Quote(shown)...)
	if !slices.Contains(r.hidden, at) {
		r.hidden = append(r.hidden, at)
	}
}

// words of names under which secrets stand, without separators.
var (
	secretNames = []string{
		"password", "passwd", "pwd", "passphrase", "passcode", "secret", "apikey", "accesskey", "secretkey", "privatekey",
		"authorization", "credential", "credentials", "cookie", "connectionstring", "otp", "pin", "token",
	}
	harmless = []string{"pagetoken", "nexttoken", "continuationtoken", "cursortoken"}
)

// Named reports whether an argument of this name holds a secret: its last words
// say so.
func Named(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	for _, h := range harmless {
		if strings.HasSuffix(plain, h) {
			return false
		}
	}
	for _, s := range secretNames {
		if s == "pin" || s == "otp" || s == "pwd" { // ends of other words, too
			if plain == s {
				return true
			}
			continue
		}
		if strings.HasSuffix(plain, s) {
			return true
		}
	}
	return false
}
