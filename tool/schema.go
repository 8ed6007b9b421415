package tool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// schemaFor infers the schema of a type, adjusts it and reads it back as
// clients will.
func schemaFor[T any](adjust func(*jsonschema.Schema)) (*jsonschema.Schema, *shape.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: encodings})
	if err != nil {
		return nil, nil, err
	}
	noNullLists(s)
	if slices.Equal(s.Types, []string{"null", "object"}) { // a pointer, which is nil beside an error only
		s.Type, s.Types = "object", nil
	}
	if adjust != nil {
		adjust(s)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := shape.Compile(raw)
	return s, compiled, err
}

const asBase64 = "base64"

// encodings are the types that encoding/json does not write as the lists of
// numbers which they are in Go.
var encodings = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: asBase64},
	reflect.TypeFor[json.RawMessage](): {},
}

// noNullLists says of lists that they are lists. A nil slice goes out as an
// empty one (see noNulls), and hosts trip over a list of types.
func noNullLists(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		noNullLists(p)
	}
	noNullLists(s.Items)
	noNullLists(s.AdditionalProperties)
}

// write writes v as its schema promises: encoding/json makes null of a nil slice
// or map, where clients were told of a list or an object. The value itself is
// not touched: it may be the server's own data.
func write(v any, s *jsonschema.Schema) ([]byte, error) {
	raw, err := marshal(v)
	if err != nil || s == nil {
		return raw, err
	}
	return noNulls(raw, s), nil
}

// noNulls puts what is empty in the place of each null that nil became and the
// schema does not admit.
func noNulls(raw strict.Raw, s *jsonschema.Schema) strict.Raw {
	kind := strict.KindOf(raw)
	switch {
	case s == nil || !bytes.Contains(raw, []byte("null")):
	case kind == strict.Null && s.Type == "array":
		return []byte("[]")
	case kind == strict.Null && s.Type == "object":
		return []byte("{}")
	case kind == strict.Null && s.ContentEncoding == asBase64:
		return []byte(`""`)
	case kind == strict.Object:
		return noNullsIn(raw, s)
	case kind == strict.Array && s.Items != nil:
		out := []byte{'['}
		for i, v := range strict.Elements(raw) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, noNulls(v, s.Items)...)
		}
		return append(out, ']')
	}
	return raw
}

func noNullsIn(raw strict.Raw, s *jsonschema.Schema) strict.Raw {
	out := []byte{'{'}
	for name, v := range strict.Members(raw) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		below := s.Properties[name]
		if below == nil {
			below = s.AdditionalProperties
		}
		out = append(append(out, strict.Quote(name)...), ':')
		out = append(out, noNulls(v, below)...)
	}
	return append(out, '}')
}

// marshal writes v for a model: < and & stay what they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
