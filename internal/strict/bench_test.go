package strict

import (
	"strings"
	"testing"
)

// BenchmarkCheck checks a call as the gateway meets it: 1 KB of text.
func BenchmarkCheck(b *testing.B) {
	call := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` +
		strings.Repeat("0123456789abcdef", 64) + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(call, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
