// Package strict reads JSON that a stranger sent, once, and keeps its bytes.
//
// Everything Annotary judges is judged on the bytes that will be forwarded, so
// this package never turns a document into Go maps and back. It checks a
// document ([Check]), walks it without copying ([Members], [Elements], [Get],
// [At]), names what a value is ([KindOf]) and digests its meaning ([Sum]).
//
// Strict means: no duplicate keys, no invalid UTF-8, no lone surrogates, no
// trailing bytes, and bounds on size and depth. Two readers of a document that
// passed Check cannot disagree about what it says; that is the point, because
// one of them is a policy and the other is somebody's server.
//
// It is the only package that imports go-json-experiment.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Raw is one JSON value as it was sent.
type Raw = []byte

// Limits bound what a document may cost. The zero value means the defaults.
type Limits struct {
	// Bytes is the largest document. If zero, 16 MiB.
	Bytes int
	// Depth is the deepest nesting of arrays and objects. If zero, 128.
	Depth int
}

const (
	defaultBytes = 16 << 20
	defaultDepth = 128
)

// What can be wrong with a document. Errors of this package wrap one of these
// and say where.
var (
	ErrSyntax       = errors.New("not valid JSON")
	ErrDuplicateKey = errors.New("an object has the same key twice")
	ErrUTF8         = errors.New("text is not valid Unicode")
	ErrTooDeep      = errors.New("nested too deeply")
	ErrTooLarge     = errors.New("too large")
	ErrTrailing     = errors.New("something follows the value")
)

// decoders are kept because each grows tables of keys, which every message
// on its way through the gateway would otherwise pay for.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(noData) }}

// keepDecoder is the largest document after which a decoder is kept: the
// tables of one that met a million keys are not worth keeping.
const keepDecoder = 64 << 10

var noData = bytes.NewReader(nil)

// Check reports whether data is exactly one JSON value within the limits.
func Check(data []byte, lim Limits) error {
	if lim.Bytes == 0 {
		lim.Bytes = defaultBytes
	}
	if lim.Depth == 0 {
		lim.Depth = defaultDepth
	}
	if len(data) > lim.Bytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), lim.Bytes)
	}
	if valid(data, lim.Depth) {
		return nil
	}
	return decode(data, lim)
}

// decode is the full check, which knows what is wrong and where.
func decode(data []byte, lim Limits) error {
	dec := decoders.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(data))
	defer func() {
		if len(data) <= keepDecoder {
			dec.Reset(noData) // the pool must not keep what a stranger sent
			decoders.Put(dec)
		}
	}()
	for {
		if _, err := dec.ReadToken(); err != nil {
			return classify(err)
		}
		switch depth := dec.StackDepth(); {
		case depth > lim.Depth:
			return fmt.Errorf("%w: over %d levels at byte %d", ErrTooDeep, lim.Depth, dec.InputOffset())
		case depth == 0: // the one value is complete
			if end := dec.InputOffset(); len(bytes.TrimLeft(data[end:], " \t\r\n")) > 0 {
				return fmt.Errorf("%w, at byte %d", ErrTrailing, end)
			}
			return nil
		}
	}
}

// classify turns a jsontext error into one of ours. jsontext reports invalid
// UTF-8 and lone surrogates alike, without a sentinel; its text is the only
// mark, so an unknown text falls back to ErrSyntax and still refuses.
func classify(err error) error {
	var se *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", ErrSyntax)
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &se):
		return fmt.Errorf("%w: %q", ErrDuplicateKey, se.JSONPointer.LastToken())
	case errors.As(err, &se) && isUTF8(se.Err):
		return fmt.Errorf("%w, at byte %d", ErrUTF8, se.ByteOffset)
	case errors.As(err, &se):
		return fmt.Errorf("%w: %w, at byte %d", ErrSyntax, se.Err, se.ByteOffset)
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

func isUTF8(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "surrogate"))
}
