// Package rpc frames JSON-RPC 2.0 messages without re-encoding them.
//
// A [Message] keeps the bytes it was read from and knows where in them the
// members stand that Annotary looks at. What must change on the way, an id or
// a progress token, is spliced into the bytes ([Message.Splice]); everything
// else leaves as it came. The package also reads and writes the three ways MCP
// carries messages: lines on a pipe ([Lines]), server-sent events ([Events])
// and plain HTTP bodies, and knows the header rules of MCP over HTTP.
//
// It does not know what a method means, and holds no connection.
package rpc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/annotary/annotary/internal/strict"
)

// Kind says what a message is.
type Kind uint8

// The kinds of a message.
const (
	Request Kind = iota + 1
	Notification
	Response
)

// What can be wrong with a message that is good JSON.
var (
	ErrNotMessage = errors.New("not a JSON-RPC 2.0 message")
	ErrBatch      = errors.New("JSON-RPC batches are not accepted")
	ErrAmbiguous  = errors.New("a member differs from a known one only in case")
)

// A Message is one JSON-RPC message as it was sent. Its parts share Raw's
// memory.
type Message struct {
	Raw    []byte
	Kind   Kind
	Method string // empty for a response

	at places
}

// places is where the members stand that we look at.
type places struct {
	id, params, result, err                     strict.Span
	name, uri, meta, token, version, requestID  strict.Span
	arguments, subscription, caps, progressFrom strict.Span
}

// Parse reads one message. The bytes must stay untouched while it is used.
func Parse(raw []byte, lim strict.Limits) (Message, error) {
	if err := strict.Check(raw, lim); err != nil {
		return Message{}, err
	}
	switch strict.KindOf(raw) {
	case strict.Object:
	case strict.Array:
		return Message{}, ErrBatch
	default:
		return Message{}, ErrNotMessage
	}
	m := Message{Raw: raw}
	if err := m.envelope(); err != nil {
		return Message{}, err
	}
	return m, m.inside()
}

// envelope finds the members of the outermost object and says what the message
// is.
func (m *Message) envelope() error {
	var method, version strict.Span
	for name, at := range strict.Spans(m.Raw, strict.Span{To: len(m.Raw)}) {
		switch string(name) {
		case "jsonrpc":
			version = at
		case "id":
			m.at.id = at
		case "method":
			method = at
		case "params":
			m.at.params = at
		case "result":
			m.at.result = at
		case "error":
			m.at.err = at
		default:
			if folds(name, "jsonrpc", "id", "method", "params", "result", "error") {
				return fmt.Errorf("%w: %q", ErrAmbiguous, name)
			}
		}
	}
	if v := version.Of(m.Raw); string(v) != `"2.0"` {
		return fmt.Errorf(`%w: "jsonrpc" is not "2.0"`, ErrNotMessage)
	}
	return m.classify(method)
}

func (m *Message) classify(method strict.Span) error {
	hasID := m.at.id.To > 0
	if hasID && !validID(m.ID()) {
		return fmt.Errorf("%w: an id is a string or a number", ErrNotMessage)
	}
	switch answered := m.at.result.To > 0 || m.at.err.To > 0; {
	case method.To > 0 && answered:
		return fmt.Errorf("%w: it asks and answers at once", ErrNotMessage)
	case method.To > 0:
		name := method.Of(m.Raw)
		if strict.KindOf(name) != strict.String {
			return fmt.Errorf("%w: the method is not a string", ErrNotMessage)
		}
		m.Method = intern(name)
		m.Kind = Notification
		if hasID {
			m.Kind = Request
		}
	case answered && (m.at.result.To == 0 || m.at.err.To == 0):
		m.Kind = Response
	default:
		return fmt.Errorf("%w: neither a method nor one of result and error", ErrNotMessage)
	}
	if m.at.params.To > 0 && m.Kind == Response {
		return fmt.Errorf("%w: a response has no params", ErrNotMessage)
	}
	return nil
}

// validID holds a null id to be valid in responses to what could not be read.
func validID(id []byte) bool {
	switch strict.KindOf(id) {
	case strict.String, strict.Number, strict.Null:
		return true
	default:
		return false
	}
}

// inside finds what we look at below params or result.
func (m *Message) inside() error {
	body := m.at.params
	if m.Kind == Response {
		body = m.at.result
	}
	for name, at := range strict.Spans(m.Raw, body) {
		switch string(name) {
		case "name":
			m.at.name = at
		case "uri":
			m.at.uri = at
		case "arguments":
			m.at.arguments = at
		case "_meta":
			m.at.meta = at
		case "requestId":
			m.at.requestID = at
		case "progressToken":
			m.at.progressFrom = at
		default:
			if m.Kind != Response && folds(name, "name", "uri", "arguments", "_meta", "requestId") {
				return fmt.Errorf("%w: %q", ErrAmbiguous, name)
			}
		}
	}
	for name, at := range strict.Spans(m.Raw, m.at.meta) {
		switch string(name) {
		case "progressToken":
			m.at.token = at
		case MetaVersion:
			m.at.version = at
		case MetaCapabilities:
			m.at.caps = at
		case MetaSubscription:
			m.at.subscription = at
		}
	}
	return nil
}

// folds reports whether name equals one of the known names but for case. Some
// readers of JSON do not care about case; they would see another message than
// we judged.
func folds(name []byte, known ...string) bool {
	for _, k := range known {
		if len(name) == len(k) && bytes.EqualFold(name, []byte(k)) {
			return true
		}
	}
	return false
}

// ID returns the id as it was sent, nil if there is none.
func (m *Message) ID() []byte { return m.at.id.Of(m.Raw) }

// Params returns the params as they were sent, nil if there are none.
func (m *Message) Params() []byte { return m.at.params.Of(m.Raw) }

// Result returns the result of a response, nil if it is an error.
func (m *Message) Result() []byte { return m.at.result.Of(m.Raw) }

// Error returns the error of a response, nil if it is a result.
func (m *Message) Error() []byte { return m.at.err.Of(m.Raw) }

// Meta returns the _meta of params or result.
func (m *Message) Meta() []byte { return m.at.meta.Of(m.Raw) }

// Arguments returns params.arguments.
func (m *Message) Arguments() []byte { return m.at.arguments.Of(m.Raw) }

// Version returns the protocol version the request's _meta names, and whether
// it is there at all.
func (m *Message) Version() (string, bool) {
	raw := m.at.version.Of(m.Raw)
	v, _ := strict.Text(raw)
	return v, raw != nil
}

// HasCapabilities reports whether the request's _meta carries the client's
// capabilities as an object.
func (m *Message) HasCapabilities() bool {
	return strict.KindOf(m.at.caps.Of(m.Raw)) == strict.Object
}

// Target returns what the request names: the tool, prompt or resource.
func (m *Message) Target() (string, bool) {
	switch m.Method {
	case "tools/call", "prompts/get":
		return strict.Text(m.at.name.Of(m.Raw))
	case "resources/read":
		return strict.Text(m.at.uri.Of(m.Raw))
	}
	return "", false
}

// Named reports whether requests of this method name something in their
// params, and so in the Mcp-Name header.
func Named(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}
