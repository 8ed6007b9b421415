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

// BenchmarkGet finds the arguments of the same call.
func BenchmarkGet(b *testing.B) {
	call := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{},"arguments":{"text":"` +
		strings.Repeat("0123456789abcdef", 64) + `"},"name":"echo"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if Get(call, "params", "name") == nil {
			b.Fatal("no name")
		}
	}
}

func TestSkipString(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int
	}{
		{`""`, 2}, {`"a"`, 3}, {`"a"b"`, 3}, {`"\""x`, 4}, {`"\\"x"`, 4}, {`"\\\""x`, 6}, {`"a\"b\"c"`, 9},
		{`"`, 1}, {`"abc`, 4}, {`"\`, 2}, {`"\"`, 3}, {`"a\`, 3},
	} {
		if got := skipString([]byte(tc.in), 0); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.in, got, tc.want)
		}
	}
}
