package strict

import (
	"strings"
	"testing"
)

// FuzzValid holds the quick check to the full decoder: what the first accepts
// the second must accept.
func FuzzValid(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[true,false,null,-0.5e+7,"x\n\u00e9\ud83d\ude00é"]}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`"\ud800"`, `"\udc00\ud800"`, "\"\xff\"", `01`, `-`, `1.`, `1e`, `[1,]`, `{,}`, `{"a":}`, `[[[[]]]]`, ` {} x`, "\"\x01\"", `[1 2]`, `{"a" 1}`,
		"[1,\n2]", `{"a":{"a":1},"b":{"a":2}}`, `tru`, `nul`, `""`, ``, ` `, `{"a":1 "b":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		quick, full := valid(data, 8), decode(data, Limits{Depth: 8})
		if quick && full != nil {
			t.Fatalf("%q passes the quick check: %v", data, full)
		}
		if !quick && full == nil && !strings.Contains(string(data), `\`) && strings.Count(string(data), `":`) < openNames &&
			strings.Count(string(data), ":") < openNames {
			t.Fatalf("%q is good but not quickly", data)
		}
	})
}

// TestValid_deep checks the limit at its edge.
func TestValid_deep(t *testing.T) {
	for _, tt := range []struct {
		levels int
		want   bool
	}{{8, true}, {9, false}} {
		doc := []byte(strings.Repeat("[", tt.levels) + strings.Repeat("]", tt.levels))
		if got := valid(doc, 8); got != tt.want {
			t.Errorf("%d levels: got %v, want %v", tt.levels, got, tt.want)
		}
		if err := Check(doc, Limits{Depth: 8}); (err == nil) != tt.want {
			t.Errorf("%d levels: got %v, want %v", tt.levels, err, tt.want)
		}
	}
}
