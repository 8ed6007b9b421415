package catalog

import (
	"encoding/hex"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// maxParts bounds how many properties of a schema are told apart by name.
const maxParts = 64

// Parts are what the behaviour of a tool consists of, by name: the hints as their
// values, all else as short digests. Who compares those of two moments can say
// what changed.
func (t *Tool) Parts() map[string]string {
	parts := map[string]string{}
	for n := range annotary.HintName(annotary.NumHints) {
		parts[n.String()] = t.Hints[n].Value.String()
	}
	addSchema(parts, "inputSchema", t.Tool.Input)
	addSchema(parts, "outputSchema", t.Output)
	addPart(parts, "_meta.ui", strict.Get(t.Raw, "_meta", "ui"))
	if t.identity != "" {
		addPart(parts, "the server itself", strict.Quote(t.identity))
	}
	return parts
}

// addSchema adds each property of a schema, and what is left of it as one.
func addSchema(parts map[string]string, name string, schema []byte) {
	schema = stripProse(schema)
	n := 0
	for property, s := range strict.Members(strict.Get(schema, "properties")) {
		if n++; n > maxParts {
			break
		}
		addPart(parts, name+"."+property, s)
	}
	if n <= maxParts {
		schema = strict.Without(schema, "properties")
	}
	addPart(parts, name, schema)
}

func addPart(parts map[string]string, name string, value []byte) {
	if strict.KindOf(value) == strict.Absent {
		return
	}
	sum, err := strict.Sum(value)
	if err != nil {
		parts[name] = "unreadable"
		return
	}
	parts[name] = hex.EncodeToString(sum[:8])
}
