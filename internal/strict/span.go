package strict

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// A Span says where a value stands in its document: doc[From:To]. The zero
// Span is no value.
type Span struct{ From, To int }

// Of returns the bytes of the span in doc, nil if there is no value.
func (s Span) Of(doc Raw) Raw {
	if s.To == 0 {
		return nil
	}
	return doc[s.From:s.To:s.To]
}

// Spans yields name and place of the members of the object that stands at
// within in doc; nothing if there is no object. The name is valid until the
// next step. It allocates only for names with escapes.
func Spans(doc Raw, within Span) iter.Seq2[[]byte, Span] {
	return func(yield func([]byte, Span) bool) {
		b := doc[:within.To]
		i := skipSpace(b, within.From)
		if i >= len(b) || b[i] != '{' {
			return
		}
		for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; i = skipSpace(b, i+1) {
			end := skipString(b, i)
			name := unquoted(b[i:end])
			i = skipSpace(b, end)
			if i >= len(b) || b[i] != ':' {
				return
			}
			start := skipSpace(b, i+1)
			end = skipValue(b, start)
			if start >= end || !yield(name, Span{start, end}) {
				return
			}
			if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
				return
			}
		}
	}
}

// unquoted is what a JSON string says, without a copy where there are no escapes.
func unquoted(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	out, _ := jsontext.AppendUnquote(nil, quoted)
	return out
}
