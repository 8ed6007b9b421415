package strict

import (
	"bytes"
	"slices"
)

// Set returns raw with the member that names lead to holding value, and every
// other byte as it was. Objects on the way that are missing are made; a value on
// the way that is no object is replaced by one. Without names it returns value.
func Set(raw, value Raw, names ...string) Raw {
	if len(names) == 0 {
		return value
	}
	if KindOf(raw) != Object {
		raw = []byte("{}")
	}
	for name, at := range Spans(raw, Span{To: len(raw)}) {
		if string(name) == names[0] {
			return slices.Concat(raw[:at.From], Set(at.Of(raw), value, names[1:]...), raw[at.To:])
		}
	}
	end := bytes.LastIndexByte(raw, '}')
	comma := []byte(",")
	if isEmptyObject(raw) {
		comma = nil
	}
	return slices.Concat(raw[:end], comma, Quote(names[0]), []byte(":"), Set(nil, value, names[1:]...), raw[end:])
}

func isEmptyObject(raw Raw) bool {
	for range Members(raw) {
		return false
	}
	return true
}

// Without returns raw without the members of these names, and every other byte
// as it was but for the commas between them.
func Without(raw Raw, names ...string) Raw {
	if KindOf(raw) != Object {
		return raw
	}
	out := []byte{'{'}
	for name, at := range Spans(raw, Span{To: len(raw)}) {
		if slices.Contains(names, string(name)) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, Quote(string(name))...), ':'), at.Of(raw)...)
	}
	return append(out, '}')
}
