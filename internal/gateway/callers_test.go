package gateway

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
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
		key := string(appendCallerKey(nil, &p))
		if other, ok := seen[key]; ok && !reflect.DeepEqual(p, other) {
			t.Fatalf("%+v and %+v share a key", p, other)
		}
		seen[key] = p
	}
}

// TestEqualReads: reads are equal when nothing differs that their server could
// tell apart, nor who asks; equal ones have one hash.
func TestEqualReads(t *testing.T) {
	servers := []*upstream.Server{{}, {}}
	r := rand.New(rand.NewPCG(3, 4))
	type read struct {
		server                                         int
		tenant, issuer, subject, client, dir, tool, is string
		meta                                           string
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	random := func() (read, *matter) {
		q := read{
			r.IntN(2), pick("t", "u"), pick("", "i"), pick("a", "a/b"), pick("", "b", "b/b"), pick("", "/d"), pick("x", "y"), pick("1", "2"),
			pick(`{"k":1`, `{"k":2`, `{"k":1,"l":1`),
		}
		raw := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":` + q.meta + pick("", `,"traceparent":"1"`, `,"traceparent":"2"`) + `}}}`
		msg, err := rpc.Parse([]byte(raw), strict.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m := &matter{server: servers[q.server], tool: &catalog.Tool{}, call: &Call{
			Principal: annotary.Principal{Tenant: q.tenant, Issuer: q.issuer, Subject: q.subject, Client: q.client}, Dir: q.dir, Message: msg,
		}}
		m.tool.Name, m.entry.ArgumentsDigest = q.tool, q.is
		return q, m
	}
	equal := 0
	for range 50_000 {
		p, a := random()
		q, b := random()
		if got := a.equals(b); got != (p == q) {
			t.Fatalf("%+v equals %+v: %v", p, q, got)
		}
		if p == q {
			if equal++; a.shareHash() != b.shareHash() {
				t.Fatalf("%+v has two hashes", p)
			}
		}
	}
	if equal == 0 {
		t.Error("no two were equal")
	}
}
