package tooltest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Writes collects what a store was told to change. Give it to a fake or a
// wrapper of your store, and have each method that changes something call
// [Writes.Note] first.
type Writes struct {
	mu    sync.Mutex
	notes []string
}

// Note records a write, in a few words: "delete order 7".
func (w *Writes) Note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, what)
}

// take returns the notes and forgets them.
func (w *Writes) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	notes := w.notes
	w.notes = nil
	return notes
}

// Behaviour calls every tool that says it is read-only and fails if one of them
// writes. The server is made by newServer over a store that notes its writes.
//
// Arguments are taken from args by the tool's name; a tool that is not there
// gets the smallest arguments its schema allows. A call that ends in an error
// has shown nothing, and fails: give it arguments that work. App-only tools are
// called like the others.
func Behaviour(t testing.TB, newServer func(*Writes) *mcp.Server, args map[string]map[string]any) {
	t.Helper()
	writes := &Writes{}
	srv := newServer(writes)
	tools := Tools(t, srv)
	conn := open(t, srv)
	for name := range args {
		if !slices.ContainsFunc(tools, func(def annotary.Tool) bool { return def.Name == name }) {
			t.Errorf("there are arguments for %s, but no such tool", name)
		}
	}
	for _, def := range tools {
		if def.Stated[annotary.ReadOnly] != annotary.StatedTrue {
			continue
		}
		given, ok := any(args[def.Name]), args[def.Name] != nil
		if !ok {
			given = smallest(def.Input, def.Input, 0)
		}
		writes.take()
		res := conn.ask("tools/call", map[string]any{"name": def.Name, "arguments": given})
		if strict.KindOf(strict.Get(res, "isError")) == strict.True {
			text, _ := strict.Text(strict.At(res, "/content/0/text"))
			sent, _ := json.Marshal(given)
			t.Errorf("%s with %s failed, so nothing is known of it: %s; give it arguments that work", def.Name, sent, text)
		}
		if notes := writes.take(); len(notes) > 0 {
			t.Errorf("%s says it is read-only and wrote: %s", def.Name, strings.Join(notes, "; "))
		}
	}
}

// smallest returns a small value that keeps to a plain schema: required members
// only, lists as short as they may be.
func smallest(schema, root strict.Raw, depth int) any {
	if ref, ok := strict.Text(strict.Get(schema, "$ref")); ok && depth < 16 {
		return smallest(strict.At(root, strings.TrimPrefix(ref, "#")), root, depth+1)
	}
	for _, word := range []string{"const", "default"} {
		if v := strict.Get(schema, word); v != nil {
			return json.RawMessage(v)
		}
	}
	for _, word := range []string{"enum", "examples", "anyOf", "oneOf"} {
		for _, first := range strict.Elements(strict.Get(schema, word)) {
			if word == "anyOf" || word == "oneOf" {
				return smallest(first, root, depth+1)
			}
			return json.RawMessage(first)
		}
	}
	switch typeOf(schema) {
	case "object":
		return smallestObject(schema, root, depth)
	case "array":
		return []any{}
	case "integer", "number":
		if v := strict.Get(schema, "minimum"); v != nil {
			return json.RawMessage(v)
		}
		return 1
	case "boolean":
		return false
	default:
		return "x"
	}
}

func smallestObject(schema, root strict.Raw, depth int) any {
	out := map[string]any{}
	for _, r := range strict.Elements(strict.Get(schema, "required")) {
		if name, ok := strict.Text(r); ok && depth < 16 {
			out[name] = smallest(strict.Get(schema, "properties", name), root, depth+1)
		}
	}
	return out
}

func typeOf(schema strict.Raw) string {
	t := strict.Get(schema, "type")
	if s, ok := strict.Text(t); ok {
		return s
	}
	for _, first := range strict.Elements(t) {
		s, _ := strict.Text(first)
		return s
	}
	return ""
}
