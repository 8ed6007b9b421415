package catalog

import (
	"encoding/json"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Show returns the definition as clients see it: the specification's four
// booleans, all of them and consistent, and who vouches for each of the eight
// under our _meta key. Every other byte is as the server sent it.
func Show(raw []byte, h *annotary.Hints) []byte {
	for n := range annotary.HintName(annotary.NumHints) {
		if n.InSpec() {
			raw = strict.Set(raw, []byte(h[n].Value.String()), "annotations", n.Wire())
		}
	}
	return strict.Set(raw, provenance(h), "_meta", annotary.MetaHints)
}

// provenance writes the eight hints with who stands behind them.
func provenance(h *annotary.Hints) []byte {
	out := []byte{'{'}
	for n := range annotary.HintName(annotary.NumHints) {
		if n > 0 {
			out = append(out, ',')
		}
		value, err := json.Marshal(h[n])
		if err != nil { // a struct of two words and a string always marshals
			value = []byte("null")
		}
		out = append(append(append(out, strict.Quote(n.String())...), ':'), value...)
	}
	return append(out, '}')
}

// prose are the members of a schema or definition that do not change what a
// call does.
var prose = map[string]bool{"title": true, "description": true, "$comment": true, "examples": true}

// behaviour digests what a grant relies on. Prose is not part of it: rewording a
// description must not void what a person granted. A property that is called
// "title" is no prose, so names below properties are kept.
func behaviour(t *annotary.Tool, h *annotary.Hints, identity string) (strict.Digest, error) {
	doc := []byte(`{}`)
	set := func(name string, value []byte) {
		if value != nil {
			doc = strict.Set(doc, value, name)
		}
	}
	set("server", strict.Quote(t.Server))
	set("identity", strict.Quote(identity))
	set("name", strict.Quote(t.Name))
	set("input", stripProse(t.Input))
	set("output", stripProse(t.Output))
	set("ui", strict.Get(t.Raw, "_meta", "ui"))
	for n := range annotary.HintName(annotary.NumHints) {
		set(n.String(), []byte(`"`+h[n].Value.String()+`"`))
	}
	return strict.Sum(doc)
}

// named are the schema members whose own members are names, not keywords.
var named = map[string]bool{"properties": true, "$defs": true, "definitions": true, "patternProperties": true, "dependentSchemas": true}

// literal are the schema members that hold data, in which a "title" is a value.
var literal = map[string]bool{"enum": true, "const": true, "default": true}

func stripProse(schema []byte) []byte {
	switch strict.KindOf(schema) {
	case strict.Object:
		out := []byte(`{}`)
		for name, v := range strict.Members(schema) {
			switch {
			case prose[name]:
			case literal[name]:
				out = strict.Set(out, v, name)
			case named[name] && strict.KindOf(v) == strict.Object:
				inner := []byte(`{}`)
				for property, sub := range strict.Members(v) {
					inner = strict.Set(inner, stripProse(sub), property)
				}
				out = strict.Set(out, inner, name)
			default:
				out = strict.Set(out, stripProse(v), name)
			}
		}
		return out
	case strict.Array:
		out := []byte{'['}
		for i, v := range strict.Elements(schema) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, stripProse(v)...)
		}
		return append(out, ']')
	default:
		return schema
	}
}
