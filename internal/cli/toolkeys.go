package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/annotary/annotary"
)

// A toolKey is something tools are filtered and sorted by.
type toolKey func(*toolRow) string

// toolKeys are the keys people may use, as help lists them.
func toolKeys() []string {
	keys := []string{"name", "server", "class", "open", "vouched"}
	for n := range annotary.HintName(annotary.NumHints) {
		keys = append(keys, n.String())
	}
	return keys
}

// parseKey returns the key of that name. A hint's name means what holds;
// declared. and vouched. before it mean what was said, and by whom it holds.
func parseKey(name string) (toolKey, error) {
	part, hint, dotted := strings.Cut(name, ".")
	if !dotted {
		part, hint = "", name
	}
	n, isHint := annotary.ParseHintName(hint)
	switch {
	case isHint && part == "":
		return func(r *toolRow) string { return r.Hints[n].Value.String() }, nil
	case isHint && part == "declared":
		return func(r *toolRow) string { return r.declared(n) }, nil
	case isHint && part == "vouched":
		return func(r *toolRow) string { return r.vouchedBy(n) }, nil
	}
	switch name {
	case "name":
		return func(r *toolRow) string { return r.Name }, nil
	case "server":
		return func(r *toolRow) string { return r.server }, nil
	case "class":
		return func(r *toolRow) string { return r.Hints.Class().String() }, nil
	case "open":
		return func(r *toolRow) string { return annotary.ValueOf(r.Hints.Open()).String() }, nil
	case "vouched":
		return func(r *toolRow) string { return r.vouchedBy(r.deciding()) }, nil
	}
	return nil, annotary.E(annotary.CodeUsage, fmt.Sprintf("tools have no key %q", name), nil).
		WithHint("one of " + strings.Join(toolKeys(), ", "))
}

// A toolFilter keeps the tools whose key has the value.
type toolFilter struct {
	key   toolKey
	value string
}

func (f toolFilter) matches(r *toolRow) bool { return f.key(r) == f.value }

func parseFilters(where []string) ([]toolFilter, error) {
	var filters []toolFilter
	for _, w := range where {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, annotary.E(annotary.CodeUsage, fmt.Sprintf("--where %s has no value", w), nil).
				WithHint("write it as KEY=VALUE, such as class=destructive")
		}
		key, err := parseKey(name)
		if err != nil {
			return nil, err
		}
		if name == "class" {
			if err := checkClass(value); err != nil {
				return nil, err
			}
		}
		filters = append(filters, toolFilter{key, value})
	}
	return filters, nil
}

// checkClass refuses what is no class; none at all is all of them.
func checkClass(class string) error {
	if _, ok := annotary.ParseClass(class); class != "" && !ok {
		return annotary.E(annotary.CodeUsage, fmt.Sprintf("there is no class %q", class), nil).
			WithHint("classes are read, write and destructive")
	}
	return nil
}

// parseOrder makes one comparison of several keys. Without keys, tools keep the
// order in which their servers list them.
func parseOrder(names []string) (func(a, b toolRow) int, error) {
	type by struct {
		key  toolKey
		sign int
	}
	var order []by
	for _, name := range names {
		name, back := strings.CutPrefix(name, "-")
		key, err := parseKey(name)
		if err != nil {
			return nil, err
		}
		sign := 1
		if back {
			sign = -1
		}
		order = append(order, by{key, sign})
	}
	return func(a, b toolRow) int {
		for _, o := range order {
			if c := cmp.Compare(o.key(&a), o.key(&b)); c != 0 {
				return c * o.sign
			}
		}
		return 0
	}, nil
}
