package shape

import (
	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// mirrors finds texts that repeat the structured content or one of its members.
type mirrors struct {
	structured *node // sanitised
	schema     *Schema
	members    map[strict.Digest]string // the member that says this, "" for the whole
	left       int                      // how many characters may still be tried
}

// maxTried bounds how much is sanitised to find out what a text repeats: with
// many texts and many members there are as many trials as there are pairs.
const maxTried = 16 << 20

// trialCost is what a trial costs beside the length of what is tried.
const trialCost = 256

func newMirrors(structured *node, schema *Schema) *mirrors {
	m := &mirrors{structured, schema, map[strict.Digest]string{}, maxTried}
	m.file("", structured)
	if structured.kind == strict.Object {
		for i, name := range structured.names {
			if kid := structured.kids[i]; len(kid.kids) > 0 {
				m.file(name, kid)
			}
		}
	}
	return m
}

// file notes what a member says. Of two that say the same the first counts.
func (m *mirrors) file(name string, n *node) {
	if sum, ok := n.sum(); ok {
		if _, taken := m.members[sum]; !taken {
			m.members[sum] = name
		}
	}
}

// find returns the place in the structured content that the value repeats: all
// of it, or one member.
func (m *mirrors) find(n *node) (member string, found bool, err error) {
	if sum, ok := n.sum(); ok {
		if member, found = m.members[sum]; found {
			return member, true, nil
		}
	}
	if m.schema == nil {
		return "", false, nil
	}
	if clean, _, err := sanitise(n, m.schema); err == nil && same(clean, m.structured) {
		return "", true, nil
	}
	if m.structured.kind != strict.Object {
		return "", false, nil
	}
	for i, name := range m.structured.names {
		kid := m.structured.kids[i]
		may := mayBecome(n, kid)
		if m.left--; may {
			m.left -= trialCost + n.size + kid.size
		}
		if m.left < 0 { // to let it pass could show what is to be dropped
			return "", false, annotary.E(annotary.CodeInvalid, ErrCostly.Error(), ErrCostly)
		}
		if !may {
			continue
		}
		wrapped := &node{kind: strict.Object, names: []string{name}, kids: []*node{n}}
		if clean, _, err := sanitise(wrapped, m.schema); err == nil && same(clean.get(name), kid) {
			return name, true, nil
		}
	}
	return "", false, nil
}

// mayBecome reports whether sanitising n could leave kid: items stay, members
// may go.
func mayBecome(n, kid *node) bool {
	switch {
	case n.kind != kid.kind || len(kid.kids) == 0:
		return false
	case n.kind == strict.Array:
		return len(n.kids) == len(kid.kids)
	default:
		return len(n.kids) >= len(kid.kids)
	}
}
