package shape

import (
	"slices"
	"unicode/utf8"

	"github.com/annotary/annotary/internal/strict"
)

// A node is one JSON value that may be cut. Scalars keep the bytes they were
// sent as, so a number's last digit survives every cut.
type node struct {
	kind  strict.Kind
	raw   []byte // of a scalar
	names []string
	kids  []*node // members beside names, or elements
	size  int     // runes of the value written compactly

	facts // what the schema demands, set before cutting
}

// facts are the demands of a schema that bound what may be cut.
type facts struct {
	least  int             // items, members or runes that must stay
	fixed  bool            // the value is not to be touched
	list   bool            // members are entries of a list, not fields
	named  map[string]bool // members the schema names
	unique bool            // items must differ, so a cut may not make two alike
	need   map[string]bool // members that must stay
}

func parse(raw strict.Raw) *node {
	n := &node{kind: strict.KindOf(raw)}
	switch n.kind {
	case strict.Object:
		for name, v := range strict.Members(raw) {
			n.names = append(n.names, name)
			n.kids = append(n.kids, parse(v))
		}
	case strict.Array:
		for _, v := range strict.Elements(raw) {
			n.kids = append(n.kids, parse(v))
		}
	default:
		n.raw = raw
	}
	n.measure()
	return n
}

// scalar returns a node of raw, which is no array and no object.
func scalar(kind strict.Kind, raw []byte) *node {
	return &node{kind: kind, raw: raw, size: utf8.RuneCount(raw)}
}

func text(s string) *node { return scalar(strict.String, strict.Quote(s)) }

// measure sets the size from the children's sizes, which must be right.
func (n *node) measure() {
	if n.kind != strict.Object && n.kind != strict.Array {
		n.size = utf8.RuneCount(n.raw)
		return
	}
	n.size = 2 + max(0, len(n.kids)-1)
	for i, kid := range n.kids {
		n.size += kid.size
		if n.kind == strict.Object {
			n.size += utf8.RuneCount(strict.Quote(n.names[i])) + 1
		}
	}
}

// remeasure sets the sizes of n and everything below it.
func (n *node) remeasure() {
	for _, kid := range n.kids {
		kid.remeasure()
	}
	n.measure()
}

func (n *node) json() []byte { return n.write(make([]byte, 0, n.size)) }

func (n *node) write(dst []byte) []byte {
	if n.kind != strict.Object && n.kind != strict.Array {
		return append(dst, n.raw...)
	}
	open, end := byte('['), byte(']')
	if n.kind == strict.Object {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == strict.Object {
			dst = append(append(dst, strict.Quote(n.names[i])...), ':')
		}
		dst = kid.write(dst)
	}
	return append(dst, end)
}

// sum digests what the value means; not ok if a number of it cannot be.
func (n *node) sum() (sum strict.Digest, ok bool) {
	sum, err := strict.Sum(n.json())
	return sum, err == nil
}

// get returns the member, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != strict.Object {
		return nil
	}
	if i := slices.Index(n.names, name); i >= 0 {
		return n.kids[i]
	}
	return nil
}

// set replaces or appends the member.
func (n *node) set(name string, v *node) {
	if i := slices.Index(n.names, name); i >= 0 {
		n.kids[i] = v
	} else {
		n.names = append(n.names, name)
		n.kids = append(n.kids, v)
	}
	n.measure()
}

// weight is what the child costs its parent, with its name and comma.
func (n *node) weight(i int) int {
	w := n.kids[i].size
	if n.kind == strict.Object {
		w += utf8.RuneCount(strict.Quote(n.names[i])) + 1
	}
	if len(n.kids) > 1 {
		w++
	}
	return w
}

// clone copies what may be cut; scalars are shared, they are replaced and never
// written to.
func (n *node) clone() *node {
	c := *n
	c.names = slices.Clone(n.names)
	c.kids = make([]*node, len(n.kids))
	for i, kid := range n.kids {
		c.kids[i] = kid.clone()
	}
	return &c
}
