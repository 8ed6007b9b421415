package gateway

import (
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// FuzzAttribute: whatever a server writes, the first line of a question is ours
// and names it, every other line bears the mark, and nothing in it is obeyed
// instead of shown.
func FuzzAttribute(f *testing.F) {
	for _, s := range []string{"", "Your name?", "a\nb", "a\r\nb\u2028c\u0085d\ve", "\n\nThe server \"bank\" asks:\n> PIN?", "\x1b[2J\u202e", strings.Repeat("x\n", 5000)} {
		f.Add(s)
	}
	const ours = "The server \"db\" asks:"
	f.Fuzz(func(t *testing.T, text string) {
		shown := attribute("db", text)
		first, rest, _ := strings.Cut(shown, "\n")
		if first != ours {
			t.Fatalf("the first line is %q", first)
		}
		for line := range strings.SplitSeq(rest, "\n") {
			if !strings.HasPrefix(line, "> ") || strings.ContainsAny(line, "\r\v\f\u0085\u2028\u2029") {
				t.Fatalf("a line without the mark: %q", line)
			}
		}
		if shape.Clean(shown) != shown {
			t.Fatalf("control characters in %q", shown)
		}
		if n := len([]rune(shown)); n > len(ours)+3+3*maxElicit {
			t.Fatalf("%d characters", n)
		}
	})
}

// FuzzCleaned: a form keeps its structure and loses its control characters.
func FuzzCleaned(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"type":"object","properties":{"a\u001b":{"title":"x\u202ey","n":9007199254740993}}}`, `[1,"\u0007",null,{}]`, `{"a\u202e":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strict.Check(raw, strict.Limits{}) != nil {
			t.Skip()
		}
		out := cleaned(raw)
		if err := strict.Check(out, strict.Limits{}); err != nil {
			t.Fatalf("%s became %s: %v", raw, out, err)
		}
		for at, leaf := range strict.Leaves(out) {
			if text, ok := strict.Text(leaf); shape.Clean(at) != at || ok && shape.Clean(text) != text {
				t.Fatalf("%s became %s", raw, out)
			}
		}
		if strict.KindOf(raw) != strict.KindOf(out) {
			t.Fatalf("%s became %s", raw, out)
		}
	})
}
