package rpc

import (
	"encoding/base64"
	"strings"
)

// The headers of MCP over HTTP, in canonical spelling.
const (
	HeaderVersion   = "Mcp-Protocol-Version"
	HeaderMethod    = "Mcp-Method"
	HeaderName      = "Mcp-Name"
	HeaderSession   = "Mcp-Session-Id"
	HeaderParam     = "Mcp-Param-" // the prefix of headers that repeat an argument
	HeaderLastEvent = "Last-Event-Id"
)

// EncodeHeader returns a value as a header may carry it: plain visible ASCII as
// it is, anything else in the base64 form of the specification.
func EncodeHeader(value string) string {
	if plainHeader(value) {
		return value
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// DecodeHeader undoes EncodeHeader. It reports whether the value was well formed.
func DecodeHeader(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return value, true
	}
	out, err := base64.StdEncoding.DecodeString(inner)
	return string(out), err == nil
}

func plainHeader(value string) bool {
	if value == "" {
		return true
	}
	if strings.HasPrefix(value, "=?base64?") || strings.TrimSpace(value) != value {
		return false
	}
	for _, c := range []byte(value) {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

// IsHeaderName reports whether s may be the name of an HTTP header.
func IsHeaderName(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}
