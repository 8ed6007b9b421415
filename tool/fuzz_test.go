package tool

import (
	"testing"
	"time"
)

// FuzzSeal: nothing opens but the seal the fuzzer was given, which it cannot
// turn into one for anything else.
func FuzzSeal(f *testing.F) {
	s := newSealer(make([]byte, 32))
	sealed := promise{"mail_send", "ada", "sha256:00", time.Unix(1, 0).UTC(), "id"}
	seal, err := s.close(sealed)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{seal, seal[1:], seal + "A", "", "AAAA", "e30", "!"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := s.open(text); err == nil && p != sealed {
			t.Fatalf("%q opened as %+v", text, p)
		}
	})
}
