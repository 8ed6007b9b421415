package strict

import (
	"bytes"
	"testing"
)

func TestPlain(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"json", `{"a": [1, 2]}`, `{"a": [1, 2]}`},
		{"line-comment", "{ // x\n}", "{     \n}"},
		{"line-comment-at-end", `{}// x`, `{}    `},
		{"block-comment", "{/* x\ny */}", "{    \n    }"},
		{"trailing-comma", `{"a": [1,], }`, `{"a": [1 ]  }`},
		{"comma-before-comment", "[1, // x\n]", "[1      \n]"},
		{"comma-that-stays", `[1,/**/2]`, `[1,    2]`},
		{"in-strings", `{"u": "http://x/*,]*/"}`, `{"u": "http://x/*,]*/"}`},
		{"escaped-quote", `["\"//"]`, `["\"//"]`},
		{"byte-order-mark", "\xEF\xBB\xBF{}", "   {}"},
		{"endless-comment", `{/* x`, `{/* x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Plain([]byte(tt.in))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzPlain checks that JSON passes unchanged, that every byte keeps its place
// and that the work is done in one go.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2,{"b":"//"}]}`, "{//\n}", `[1,]`, `{/**/}`, "\xEF\xBB\xBF[]", "{ // x\n \"servers\": {\"web\": {\"url\": \"https://x/\" /* y */ },}, }"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out := Plain(in)
		if !bytes.Equal(in, before) {
			t.Fatal("the input was changed")
		}
		if len(out) != len(in) {
			t.Fatalf("%d bytes became %d", len(in), len(out))
		}
		if Check(in, Limits{}) == nil && !bytes.Equal(in, out) {
			t.Fatalf("JSON was changed: %q became %q", in, out)
		}
		if Check(out, Limits{}) == nil && !bytes.Equal(Plain(out), out) {
			t.Fatalf("%q is not stable", out)
		}
	})
}
