package shape_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator makes values that keep to a schema, from the schema's text alone,
// so that it shares no code with what it tests.
type generator struct {
	*rand.Rand
	root  map[string]any
	items int // how many items a list gets
	runes int // how long a string gets

	internal bool // put a field nobody declared into objects that declare theirs
}

func (g *generator) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || len(s) == 0 {
		return g.text(s)
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.follow(ref), depth)
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if e, ok := s["enum"].([]any); ok {
		return e[g.IntN(len(e))]
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if list, ok := s[word].([]any); ok {
			if v := g.value(g.shallow(list, depth), depth+1); s["properties"] == nil {
				return v
			}
		}
	}
	switch g.typeOf(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "integer":
		return g.integer(s)
	case "number":
		return float64(g.integer(s))
	case "boolean":
		return g.IntN(2) == 0
	case "null":
		return nil
	default:
		return g.text(s)
	}
}

// shallow picks an alternative; deep down, the last one without a reference.
func (g *generator) shallow(list []any, depth int) any {
	if depth < 4 {
		return list[g.IntN(len(list))]
	}
	for _, alt := range slices.Backward(list) {
		if m, ok := alt.(map[string]any); ok && m["$ref"] == nil {
			return m
		}
	}
	return list[0]
}

func (g *generator) follow(ref string) any {
	var at any = g.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#"), "/") {
		if m, ok := at.(map[string]any); ok && part != "" {
			at = m[part]
		}
	}
	return at
}

func (g *generator) typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		return t[g.IntN(len(t))].(string)
	}
	if s["properties"] != nil || s["additionalProperties"] != nil || s["allOf"] != nil {
		return "object"
	}
	return "string"
}

func (g *generator) object(s map[string]any, depth int) any {
	out := map[string]any{}
	if all, ok := s["allOf"].([]any); ok {
		for _, part := range all {
			if m, ok := g.value(part, depth).(map[string]any); ok {
				maps.Copy(out, m)
			}
		}
	}
	required, _ := s["required"].([]any)
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := props[name]
		if slices.Contains(required, any(name)) || (depth < 5 && g.IntN(4) > 0) {
			out[name] = g.value(p, depth+1)
		}
	}
	if more, ok := s["additionalProperties"]; ok && more != false && len(props) == 0 && depth < 5 {
		for i := range g.IntN(g.items + 1) {
			out[fmt.Sprintf("key %d é", i)] = g.value(more, depth+2)
		}
	}
	if more := s["additionalProperties"]; g.internal && len(props) > 0 && (more == nil || more == false) {
		out["__internal"] = secret
	}
	return out
}

const secret = "sk_live_secret"

func (g *generator) array(s map[string]any, depth int) any {
	if tuple, ok := s["items"].([]any); ok {
		out := []any{}
		for _, item := range tuple {
			out = append(out, g.value(item, depth+1))
		}
		return out
	}
	least, most := number(s, "minItems", 0), number(s, "maxItems", 1<<20)
	count := max(least, g.IntN(g.items+1)>>min(depth, 8))
	if depth < 3 {
		count = max(1, count)
	}
	out := []any{}
	for range min(count, most) {
		out = append(out, g.value(s["items"], depth+1))
	}
	return out
}

func number(s map[string]any, word string, otherwise int) int {
	if f, ok := s[word].(float64); ok {
		return int(f)
	}
	return otherwise
}

func (g *generator) integer(s map[string]any) int {
	least := max(number(s, "minimum", 0), number(s, "exclusiveMinimum", -1)+1)
	most := number(s, "maximum", least+1_000_000)
	return least + g.IntN(most-least+1)
}

// alphabet has what is hard to cut: wide runes, escapes, controls.
var alphabet = []rune("abc deß\"\\\n\t/漢😀<&\u2028\x1b[31m\x07")

func (g *generator) text(s map[string]any) string {
	switch s["format"] {
	case "date-time":
		return "2026-07-28T12:00:00Z"
	case "uri":
		return "https://example.test/a"
	}
	least := number(s, "minLength", 0)
	length := min(max(least, g.IntN(g.runes+1)), number(s, "maxLength", 1<<20))
	runes := make([]rune, length)
	for i := range runes {
		runes[i] = alphabet[g.IntN(len(alphabet))]
	}
	if p, ok := s["pattern"].(string); ok {
		return sample(p)
	}
	return string(runes)
}

// sample answers the few patterns that real schemas use, and guesses else.
func sample(pattern string) string {
	for _, s := range []string{"#a0b1c2", "2026-07-28", "12:30", "a", "abc", "1", "0x" + strings.Repeat("a", 40), "AB", "a-b", "https://example.test", "ABCDEF0123456789", strings.Repeat("a", 64), "+15551234567", "1.2.3", "2026-07", "2026"} {
		if matches(pattern, s) {
			return s
		}
	}
	return "abc"
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
