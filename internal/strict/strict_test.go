package strict_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/annotary/annotary/internal/strict"
)

func TestCheck(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, tt := range []struct {
		name, in string
		want     error
	}{
		{"object", `{"a":[1,{"b":null}]} `, nil},
		{"scalar", ` 1e400 `, nil},
		{"duplicate", `{"a":1,"a":2}`, strict.ErrDuplicateKey},
		{"duplicate-escaped", `{"a":1,"\u0061":2}`, strict.ErrDuplicateKey},
		{"nested-duplicate", `[{"x":{"a":1,"a":2}}]`, strict.ErrDuplicateKey},
		{"utf8", "\"\xff\"", strict.ErrUTF8},
		{"surrogate", `"\ud800"`, strict.ErrUTF8},
		{"trailing", `{} {}`, strict.ErrTrailing},
		{"trailing-scalar", `1 2`, strict.ErrTrailing},
		{"deep", deep, strict.ErrTooDeep},
		{"empty", ``, strict.ErrSyntax},
		{"cut", `{"a":`, strict.ErrSyntax},
		{"comment", `{/*x*/}`, strict.ErrSyntax},
		{"large", `"` + strings.Repeat("a", 100) + `"`, strict.ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lim := strict.Limits{}
			if tt.name == "large" {
				lim.Bytes = 50
			}
			if err := strict.Check([]byte(tt.in), lim); !errors.Is(err, tt.want) {
				t.Errorf("Check(%.40q) = %v, want %v", tt.in, err, tt.want)
			}
		})
	}
}

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{`[1.0, 10e-1, 100, 1e2, 0.010, -0, 1e400]`, `[1,1,1e2,1e2,1e-2,0,1e400]`},
		{`"\u0041\u000a\/"`, `"A\n/"`},
		{"{\"\u20ac\":1,\"\U0001F600\":2,\"\uFB33\":3}", "{\"\u20ac\":1,\"\U0001F600\":2,\"\uFB33\":3}"},
		{` {"a" : [ true , null ] } `, `{"a":[true,null]}`},
		{`123456789012345678901234567890.5`, `1234567890123456789012345678905e-1`},
	} {
		got, err := strict.Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestSum(t *testing.T) {
	sum := func(s string) strict.Digest {
		t.Helper()
		d, err := strict.Sum([]byte(s))
		if err != nil {
			t.Fatalf("Sum(%s): %v", s, err)
		}
		return d
	}
	if sum(`{"n":9007199254740992}`) == sum(`{"n":9007199254740993}`) {
		t.Error("2^53 and 2^53+1 have one digest")
	}
	if sum(`{"a":1,"b":{"c":2,"d":3}}`) != sum(`{"b":{"d":3,"c":2},"a":1.0}`) {
		t.Error("reordered keys changed the digest")
	}
	if _, err := strict.Sum([]byte(`1e` + strings.Repeat("9", 30))); !errors.Is(err, strict.ErrTooLarge) {
		t.Errorf("a huge exponent gave %v", err)
	}
}

func TestUnambiguous(t *testing.T) {
	for in, want := range map[string]error{
		`{"path":1,"Path":2}`:        strict.ErrAmbiguous,
		`[{"a":{"x":1,"X":2}}]`:      strict.ErrAmbiguous,
		"{\"s\":1,\"\u017f\":2}":     strict.ErrAmbiguous,
		`{"path":1,"paths":2,"a":1}`: nil,
	} {
		if err := strict.Unambiguous([]byte(in)); !errors.Is(err, want) {
			t.Errorf("Unambiguous(%s) = %v, want %v", in, err, want)
		}
	}
}

func TestEscapePointer(t *testing.T) {
	for name, part := range map[string]string{"": "", "plain": "plain", "a/b": "a~1b", "~": "~0", "~1": "~01", "/~/": "~1~0~1"} {
		if got := strict.EscapePointer(name); got != part {
			t.Errorf("EscapePointer(%q) = %q, want %q", name, got, part)
		}
		if got := strict.UnescapePointer(part); got != name {
			t.Errorf("UnescapePointer(%q) = %q, want %q", part, got, name)
		}
	}
}

func TestAt(t *testing.T) {
	doc := []byte(`{"a/b":{"~":[10,{"c":"x"}]},"":0}`)
	for _, tt := range []struct{ pointer, want string }{
		{"", string(doc)}, {"/a~1b/~0/1/c", `"x"`}, {"/a~1b/~0/0", "10"}, {"/", "0"},
		{"/a~1b/~0/01", ""}, {"/none", ""}, {"a", ""}, {"/a~1b/~0/2", ""},
	} {
		if got := strict.At(doc, tt.pointer); string(got) != tt.want {
			t.Errorf("At(%q) = %s, want %s", tt.pointer, got, tt.want)
		}
	}
}

// FuzzWalk holds the walkers to what Check promises: every document that passes
// is rebuilt from its members and leaves to the same canonical form, and no
// input at all makes a walker fail.
func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":"\u00e9"}],"c":null}`, `[]`, `"x"`, `{"a":1,"a":2}`, `{"`, `[1,,2]`, `-0.0e-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := strict.Check(data, strict.Limits{})
		for range strict.Leaves(data) { // must end and must not panic, valid or not
		}
		_ = strict.Unambiguous(data)
		if err != nil {
			return
		}
		once, err := strict.Canonical(data)
		if err != nil {
			if !errors.Is(err, strict.ErrTooLarge) {
				t.Fatalf("Canonical of a checked document: %v", err)
			}
			return
		}
		twice, err := strict.Canonical(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("Canonical is not a normal form: %s then %s (%v)", once, twice, err)
		}
		if rebuilt := rebuild(data); string(mustCanonical(t, rebuilt)) != string(once) {
			t.Fatalf("walking %s gave %s", data, rebuilt)
		}
	})
}

func rebuild(raw []byte) []byte {
	switch strict.KindOf(raw) {
	case strict.Object:
		out := []byte{'{'}
		for name, v := range strict.Members(raw) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, strict.Quote(name)...), ':'), rebuild(v)...)
		}
		return append(out, '}')
	case strict.Array:
		out := []byte{'['}
		for i, v := range strict.Elements(raw) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, rebuild(v)...)
		}
		return append(out, ']')
	default:
		return raw
	}
}

func mustCanonical(t *testing.T, raw []byte) []byte {
	t.Helper()
	c, err := strict.Canonical(raw)
	if err != nil {
		t.Fatalf("Canonical(%s): %v", raw, err)
	}
	return c
}

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		in   string
		path []string
		want string
	}{
		{`{"a":1, "b" : {"c":2 } }`, []string{"b", "c"}, `{"a":1, "b" : {"c":0 } }`},
		{`{"a":1}`, []string{"b", "c"}, `{"a":1,"b":{"c":0}}`},
		{` { } `, []string{"x"}, ` { "x":0} `},
		{`{"a":[1]}`, []string{"a", "b"}, `{"a":{"b":0}}`},
		{`{"a\"}":"}"}`, []string{"b"}, `{"a\"}":"}","b":0}`},
		{`null`, []string{"a"}, `{"a":0}`},
		{`{"a":1}`, nil, `0`},
	} {
		if got := string(strict.Set([]byte(tt.in), []byte("0"), tt.path...)); got != tt.want {
			t.Errorf("Set(%s, %v) = %s, want %s", tt.in, tt.path, got, tt.want)
		}
	}
}

// TestCanonicalShortcuts: what is copied as it is equals what is worked out.
func TestCanonicalShortcuts(t *testing.T) {
	for plain, long := range map[string]string{
		`{"b":"x<y&z/~","a":12,"Z":[101,9007199254740993]}`: `{"\u0062":"\u0078<y&z\/~","\u0061":12.0,"\u005a":[1010e-1,9007199254740993.0]}`,
		`{"n":120,"m":0,"k":-7}`:                            `{"\u006e":12e1,"\u006d":0.0,"\u006b":-7.0}`,
	} {
		a, err := strict.Canonical([]byte(plain))
		b, err2 := strict.Canonical([]byte(long))
		if err != nil || err2 != nil || string(a) != string(b) {
			t.Errorf("%s: %s, %v\n%s: %s, %v", plain, a, err, long, b, err2)
		}
	}
}

// TestSumTogether: digests made at the same time have nothing in common.
func TestSumTogether(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		doc := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat(strconv.Itoa(i), 4000))
		canonical, err := strict.Canonical(doc)
		if err != nil {
			t.Fatal(err)
		}
		want := strict.Digest(sha256.Sum256(canonical))
		all.Go(func() {
			for range 2000 {
				if got, err := strict.Sum(doc); got != want || err != nil {
					t.Errorf("document %d: %v, %v", i, got, err)
					return
				}
			}
		})
	}
	all.Wait()
}
