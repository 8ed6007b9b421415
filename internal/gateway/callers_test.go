package gateway

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/annotary/annotary"
)

// TestCallerKey: two principals that differ in anything have two keys.
func TestCallerKey(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	text := func() string {
		return []string{"", "a", "b", "1:a", "\x00", "a\x00b", "\x01", ";", "0;", "1;1:a"}[r.IntN(10)]
	}
	list := func() []string {
		out := make([]string, r.IntN(3))
		for i := range out {
			out[i] = text()
		}
		return out
	}
	seen := map[string]annotary.Principal{}
	for range 20_000 {
		p := annotary.Principal{
			Tenant: text(), Issuer: text(), Subject: text(), Client: text(), Groups: list(), Scopes: list(), Profiles: list(),
		}
		key := callerKey(&p)
		if other, ok := seen[key]; ok && !reflect.DeepEqual(p, other) {
			t.Fatalf("%+v and %+v share a key", p, other)
		}
		seen[key] = p
	}
}
