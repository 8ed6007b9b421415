package rpc

import (
	"fmt"
	"strconv"

	"github.com/annotary/annotary/internal/strict"
)

// The error codes of JSON-RPC and MCP that we send.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020 // header and body disagree
	CodeMissingCapability  = -32021 // the client does not declare what it takes
	CodeUnsupportedVersion = -32022
	CodeRefused            = 4030 // ours, outside the range that is reserved: not permitted here
)

// A Fault is a protocol error: what a JSON-RPC error response says.
type Fault struct {
	Code    int
	Message string
	Data    []byte // raw JSON, nil for none
}

func (f *Fault) Error() string { return fmt.Sprintf("%s (%d)", f.Message, f.Code) }

// Answer returns the error response to the request with this id; a nil id
// becomes null.
func (f *Fault) Answer(id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	out = strconv.AppendInt(append(out, `,"error":{"code":`...), int64(f.Code), 10)
	out = append(append(out, `,"message":`...), strict.Quote(f.Message)...)
	if f.Data != nil {
		out = append(append(out, `,"data":`...), f.Data...)
	}
	return append(out, "}}"...)
}

// Fault reads the error of a response, nil if it has none.
func (m *Message) Fault() *Fault {
	raw := m.Error()
	if raw == nil {
		return nil
	}
	f := &Fault{Code: CodeInternal, Data: strict.Get(raw, "data")}
	if code, err := strconv.Atoi(string(strict.Get(raw, "code"))); err == nil {
		f.Code = code
	}
	f.Message, _ = strict.Text(strict.Get(raw, "message"))
	return f
}
