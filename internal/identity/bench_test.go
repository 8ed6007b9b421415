package identity

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkIdentify is what knowing who calls costs each call.
func BenchmarkIdentify(b *testing.B) {
	p := newPaper(b)
	key, hash := NewKey()
	id := New(Options{URL: gatewayURL, Now: at(noon), Issuers: []Issuer{{URL: p.URL}}, Keys: []Key{{Name: "ci", Hash: hash}}})
	for name, token := range map[string]string{"key": key, "token": p.token(b, noon.Add(time.Hour))} {
		r := httptest.NewRequest(http.MethodPost, "/mcp/s/notes", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := id.Identify(r, "/mcp/s/notes"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
