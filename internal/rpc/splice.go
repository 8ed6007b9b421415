package rpc

import (
	"slices"
	"strconv"

	"github.com/annotary/annotary/internal/strict"
)

// A Splice says which of the members we own get another value on the way. Nil
// leaves a member as it is; a member that is not there is never added.
type Splice struct {
	ID            []byte // the message's id
	ProgressToken []byte // in a request's _meta, and in a progress notification
	RequestID     []byte // params.requestId of a cancellation
	Subscription  []byte // the subscription id in _meta
}

// Splice returns the message's bytes with the given members replaced and every
// other byte as it was. Without a replacement it returns Raw itself.
func (m *Message) Splice(s Splice) []byte {
	var edits [5]edit
	n := 0
	add := func(at strict.Span, with []byte) {
		if at.To > 0 && with != nil {
			edits[n] = edit{at, with}
			n++
		}
	}
	add(m.at.id, s.ID)
	add(m.at.token, s.ProgressToken)
	add(m.at.requestID, s.RequestID)
	add(m.at.subscription, s.Subscription)
	if m.Method == "notifications/progress" {
		add(m.at.progressFrom, s.ProgressToken)
	}
	return splice(m.Raw, edits[:n])
}

type edit struct {
	at   strict.Span
	with []byte
}

func splice(raw []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return raw
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.at.From - b.at.From })
	size := len(raw)
	for _, e := range edits {
		size += len(e.with)
	}
	out := make([]byte, 0, size)
	from := 0
	for _, e := range edits {
		out = append(append(out, raw[from:e.at.From]...), e.with...)
		from = e.at.To
	}
	return append(out, raw[from:]...)
}

// ProgressToken returns the token a request asks progress under, or the one a
// progress notification speaks of.
func (m *Message) ProgressToken() []byte {
	if m.Method == "notifications/progress" {
		return m.at.progressFrom.Of(m.Raw)
	}
	return m.at.token.Of(m.Raw)
}

// RequestID returns which request a cancellation speaks of.
func (m *Message) RequestID() []byte { return m.at.requestID.Of(m.Raw) }

// Subscription returns the subscription a notification belongs to.
func (m *Message) Subscription() []byte { return m.at.subscription.Of(m.Raw) }

// NewRequest makes a request. Params are raw JSON, or nil for none.
func NewRequest(id int64, method string, params []byte) []byte {
	out := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":`), id, 10)
	out = append(append(out, `,"method":`...), strict.Quote(method)...)
	return closeParams(out, params)
}

// NewNotification makes a notification.
func NewNotification(method string, params []byte) []byte {
	out := append([]byte(`{"jsonrpc":"2.0","method":`), strict.Quote(method)...)
	return closeParams(out, params)
}

func closeParams(out, params []byte) []byte {
	if params != nil {
		out = append(append(out, `,"params":`...), params...)
	}
	return append(out, '}')
}

// NewResult makes the answer to a request.
func NewResult(id, result []byte) []byte {
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(append(append(out, `,"result":`...), result...), '}')
}
