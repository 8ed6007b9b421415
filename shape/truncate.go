package shape

import (
	"container/heap"
	"errors"
	"sort"
	"unicode/utf8"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// ErrTooLong is the code of a value that cannot be brought within the limit
// without breaking its schema.
const ErrTooLong annotary.Code = "result_too_long"

// A Cut says what truncation did to a value.
type Cut struct {
	Items   int // list items left out, entries of maps among them
	Strings int // strings shortened
	Fields  int // optional members left out
	// Marked says that the value itself tells, by meta.truncated.
	Marked bool
}

// Any reports whether anything was cut.
func (c Cut) Any() bool { return c.Items+c.Strings+c.Fields > 0 }

// Truncate brings a JSON value within limit characters, counted as Unicode code
// points of its JSON text. In this order, and only as far as needed, it
//
//   - drops items from the end of lists, the largest list first, keeping at
//     least one of each and what minItems demands;
//   - shortens the longest strings, marking the cut with "…", except those whose
//     schema has a pattern, format, enumeration or encoding;
//   - drops optional members, from the end.
//
// A top-level meta member (cursor, hasNextPage, …) is never cut, and gets
// truncated: true where the schema declares it or there is no schema. A value
// that kept to its schema keeps to it afterwards; what cannot be cut that way is
// refused with the code [ErrTooLong].
func Truncate(value []byte, schema *Schema, limit int) ([]byte, Cut, error) {
	if err := strict.Check(value, strict.Limits{}); err != nil {
		return nil, Cut{}, annotary.E(annotary.CodeInvalid, "the value cannot be read: "+err.Error(), err)
	}
	n := parse(value)
	if n.size <= limit {
		return value, Cut{}, nil
	}
	n, cut, err := truncate(n, schema, limit)
	if err != nil {
		return nil, Cut{}, err
	}
	return n.json(), cut, nil
}

func truncate(original *node, schema *Schema, limit int) (*node, Cut, error) {
	n := original.clone()
	err := schema.validate(original)
	if errors.Is(err, ErrCostly) {
		return nil, Cut{}, err
	}
	valid := err == nil
	t := truncator{root: n, limit: limit}
	t.cut.Marked = mark(n, schema)
	if schema != nil {
		n.learn([]*rule{schema.root})
	} else {
		n.learn(nil)
	}
	t.lists()
	t.strings()
	t.fields()
	n.remeasure()
	if n.size > limit {
		return nil, Cut{}, annotary.E(ErrTooLong, "the result is too long and cannot be shortened", nil)
	}
	if err := schema.validate(n); valid && err != nil {
		return nil, Cut{}, annotary.E(ErrTooLong, "the result is too long and its schema allows no shorter one", err)
	}
	return n, t.cut, nil
}

// mark sets meta.truncated if the value may say so itself.
func mark(n *node, schema *Schema) bool {
	if n.kind != strict.Object {
		return false
	}
	meta := n.get("meta")
	if meta != nil && meta.kind != strict.Object {
		return false
	}
	marked := n.clone()
	if meta == nil {
		meta = &node{kind: strict.Object}
	} else {
		meta = meta.clone()
	}
	meta.set("truncated", scalar(strict.True, []byte("true")))
	marked.set("meta", meta)
	if clean, _, err := sanitise(marked, schema); err != nil || clean.get("meta").get("truncated") == nil {
		return false
	}
	if schema.validate(n) == nil && schema.validate(marked) != nil {
		return false
	}
	*n = *marked
	return true
}

// learn notes for every value below n what its rules demand. All alternatives
// count: being too careful costs a worse cut, never a broken schema.
func (n *node) learn(rules []*rule) {
	flat := flatten(rules, n, everything)
	n.facts = facts{need: map[string]bool{}, named: map[string]bool{}}
	if n.kind == strict.Object {
		n.list = len(rules) == 0 && len(n.names) > maxFields
	}
	for _, r := range flat {
		n.obey(r)
	}
	for i, kid := range n.kids {
		var below []*rule
		if n.kind == strict.Object {
			below, _ = memberRules(flat, n.names[i])
		} else {
			below = elementRules(flat, i)
		}
		kid.learn(below)
		kid.fixed = kid.fixed || n.fixed || n.unique
	}
}

// maxFields is how many members an object of unknown form may have before it is
// taken for a map from keys to entries.
const maxFields = 64

func elementRules(flat []*rule, i int) []*rule {
	var rules []*rule
	for _, r := range flat {
		if er := r.element(i); er != nil {
			rules = append(rules, er)
		}
	}
	return rules
}

func (n *node) obey(r *rule) {
	n.fixed = n.fixed || len(r.enums) > 0
	switch n.kind {
	case strict.Array:
		n.least = max(n.least, r.minItems)
		n.fixed = n.fixed || r.contains != nil
		n.unique = n.unique || r.unique
	case strict.String:
		n.least = max(n.least, r.minLength)
		n.fixed = n.fixed || r.verbatim
	case strict.Object:
		n.least = max(n.least, r.minProps)
		n.list = n.list || (r.additional != nil && !r.additional.never)
		for _, name := range n.names {
			n.need[name] = n.need[name] || r.needed[name]
			n.named[name] = n.named[name] || len(r.declared(name)) > 0
		}
	default:
	}
}

type truncator struct {
	root  *node
	limit int
	cut   Cut
}

func (t *truncator) excess() int {
	t.root.remeasure()
	return t.root.size - t.limit
}

// isMeta reports whether the child is the top-level meta, which is not cut.
func (t *truncator) isMeta(n *node, i int) bool {
	return n == t.root && n.kind == strict.Object && n.names[i] == "meta"
}

// walk visits every value that may be cut.
func (t *truncator) walk(n *node, visit func(n *node)) {
	visit(n)
	for i, kid := range n.kids {
		if !t.isMeta(n, i) {
			t.walk(kid, visit)
		}
	}
}

// lists drops items from the end, of the largest list first.
func (t *truncator) lists() {
	eligible := func(n *node) bool { return n.kind == strict.Array || n.list }
	stays := func(n *node, i int) bool {
		return n.kind == strict.Object && (n.need[n.names[i]] || n.named[n.names[i]])
	}
	t.shrink(eligible, stays, &t.cut.Items)
}

// fields drops optional members from the end, of the largest object first.
func (t *truncator) fields() {
	eligible := func(n *node) bool { return n.kind == strict.Object }
	stays := func(n *node, i int) bool { return n.need[n.names[i]] }
	t.shrink(eligible, stays, &t.cut.Fields)
}

func (t *truncator) shrink(eligible func(*node) bool, stays func(*node, int) bool, count *int) {
	excess := t.excess()
	queue := &bySize{}
	t.frontier(t.root, eligible, queue)
	for excess > 0 && queue.Len() > 0 {
		n := heap.Pop(queue).(*node)
		dropped, saved := n.dropFromEnd(excess, func(i int) bool { return t.isMeta(n, i) || stays(n, i) })
		*count += dropped
		excess -= saved
		for i, kid := range n.kids {
			if !t.isMeta(n, i) {
				t.frontier(kid, eligible, queue)
			}
		}
	}
}

// frontier queues the eligible values at or below n that no other eligible one
// holds: an outer list is never smaller than an inner one, and what it drops
// need not be looked at.
func (t *truncator) frontier(n *node, eligible func(*node) bool, queue *bySize) {
	if n.fixed {
		return
	}
	if eligible(n) {
		heap.Push(queue, n)
		return
	}
	for i, kid := range n.kids {
		if !t.isMeta(n, i) {
			t.frontier(kid, eligible, queue)
		}
	}
}

// bySize is a heap of values, the largest first; of equals, the first pushed.
type bySize struct {
	nodes []*node
	order []int
	count int
}

func (h *bySize) Len() int { return len(h.nodes) }

func (h *bySize) Less(i, j int) bool {
	if h.nodes[i].size != h.nodes[j].size {
		return h.nodes[i].size > h.nodes[j].size
	}
	return h.order[i] < h.order[j]
}

func (h *bySize) Swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	h.order[i], h.order[j] = h.order[j], h.order[i]
}

func (h *bySize) Push(x any) {
	h.nodes = append(h.nodes, x.(*node))
	h.order = append(h.order, h.count)
	h.count++
}

func (h *bySize) Pop() any {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	h.nodes, h.order = h.nodes[:last], h.order[:last]
	return n
}

// dropFromEnd drops children until excess characters are gone or no more may,
// and returns how many went and what that saved.
func (n *node) dropFromEnd(excess int, stays func(i int) bool) (dropped, saved int) {
	gone := map[int]bool{}
	for i := len(n.kids) - 1; i >= 0 && saved < excess && len(n.kids)-dropped > max(1, n.least); i-- {
		if stays(i) {
			continue
		}
		saved += n.weight(i)
		gone[i] = true
		dropped++
	}
	n.forget(gone)
	return dropped, saved
}

func (n *node) forget(gone map[int]bool) {
	names, kids := n.names[:0:0], n.kids[:0:0]
	for i, kid := range n.kids {
		if gone[i] {
			continue
		}
		kids = append(kids, kid)
		if n.kind == strict.Object {
			names = append(names, n.names[i])
		}
	}
	n.names, n.kids = names, kids
	n.measure()
}

// strings shortens the longest strings to one common length, the greatest that
// fits.
func (t *truncator) strings() {
	excess := t.excess()
	if excess <= 0 {
		return
	}
	var cuttable []*node
	longest := 0
	t.walk(t.root, func(n *node) {
		if n.kind == strict.String && !n.fixed {
			cuttable = append(cuttable, n)
			longest = max(longest, n.size)
		}
	})
	// The smallest saving that suffices, from the longest cap downwards.
	steps := sort.Search(longest, func(less int) bool {
		saved := 0
		for _, n := range cuttable {
			saved += n.size - n.shortened(longest-less).size
		}
		return saved >= excess
	})
	for _, n := range cuttable {
		if short := n.shortened(max(1, longest-steps)); short != n {
			n.raw, n.size = short.raw, short.size
			t.cut.Strings++
		}
	}
}

// shortened returns the string cut to at most length characters, n itself if it
// is no longer than that.
func (n *node) shortened(length int) *node {
	length = max(length, n.least, 1)
	if n.size-2 <= length {
		return n
	}
	s, _ := strict.Text(n.raw)
	if utf8.RuneCountInString(s) <= length {
		return n
	}
	return text(firstRunes(s, length-1) + "…")
}

func firstRunes(s string, count int) string {
	for i := range s {
		if count == 0 {
			return s[:i]
		}
		count--
	}
	return s
}
