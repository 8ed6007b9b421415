package shape

import (
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Sanitise returns the JSON value without the members its schema does not
// declare, at any depth, and the places they were dropped from ("/data/*/notes").
//
// A member is declared if properties, patternProperties, required or
// dependentRequired name it, or if additionalProperties admits it in so many
// words; silence about further members does not declare them. Of anyOf and
// oneOf, the alternatives count that the value keeps to once it is sanitised by
// them; if it keeps to none, all count. Where a schema says nothing at all about
// members, they stay.
func Sanitise(value []byte, schema *Schema) (clean []byte, dropped []string, err error) {
	if err := strict.Check(value, strict.Limits{}); err != nil {
		return nil, nil, annotary.E(annotary.CodeInvalid, "the value cannot be read: "+err.Error(), err)
	}
	n, dropped, err := sanitise(parse(value), schema)
	if err != nil {
		return nil, nil, err
	}
	if len(dropped) == 0 {
		return value, nil, nil
	}
	return n.json(), dropped, nil
}

func sanitise(n *node, schema *Schema) (*node, []string, error) {
	if schema == nil {
		return n, nil, nil
	}
	s := sanitiser{}
	clean := s.value(n, []*rule{schema.root}, nil)
	if s.steps > maxSteps {
		return nil, nil, annotary.E(annotary.CodeInvalid, ErrCostly.Error(), ErrCostly)
	}
	slices.Sort(s.dropped)
	return clean, slices.Compact(s.dropped), nil
}

type sanitiser struct {
	steps   int
	trial   bool // choosing among alternatives: nothing is reported
	dropped []string
}

func (s *sanitiser) value(n *node, rules []*rule, path []string) *node {
	if s.steps++; s.steps > maxSteps || len(rules) == 0 || (n.kind != strict.Object && n.kind != strict.Array) {
		return n
	}
	flat := flatten(rules, n, s.choose)
	s.steps += len(flat) * (len(flat) + len(n.kids))
	if n.kind == strict.Array {
		return s.array(n, flat, path)
	}
	return s.object(n, flat, path)
}

func (s *sanitiser) array(n *node, flat []*rule, path []string) *node {
	clean := &node{kind: n.kind, kids: make([]*node, 0, len(n.kids))}
	for i, kid := range n.kids {
		var rules []*rule
		for _, r := range flat {
			if er := r.element(i); er != nil {
				rules = append(rules, er)
			}
		}
		clean.kids = append(clean.kids, s.value(kid, rules, append(path, "*")))
	}
	clean.measure()
	return clean
}

func (s *sanitiser) object(n *node, flat []*rule, path []string) *node {
	if !slices.ContainsFunc(flat, (*rule).speaksOfMembers) {
		return n
	}
	clean := &node{kind: n.kind}
	for i, name := range n.names {
		rules, declared := memberRules(flat, name)
		if !declared {
			s.drop(append(path, name))
			continue
		}
		clean.names = append(clean.names, name)
		clean.kids = append(clean.kids, s.value(n.kids[i], rules, append(path, name)))
	}
	clean.measure()
	return clean
}

func (s *sanitiser) drop(path []string) {
	if s.trial {
		return
	}
	var b strings.Builder
	for _, part := range path {
		b.WriteString("/" + strict.EscapePointer(part))
	}
	s.dropped = append(s.dropped, b.String())
}

// speaksOfMembers reports whether the rule says which members there are.
func (r *rule) speaksOfMembers() bool {
	return len(r.props) > 0 || len(r.patterns) > 0 || r.additional != nil
}

// memberRules returns what holds for the member's value, and whether any of the
// rules declares it.
func memberRules(flat []*rule, name string) (rules []*rule, declared bool) {
	for _, r := range flat {
		named := r.declared(name)
		switch {
		case len(named) > 0:
			rules, declared = append(rules, named...), true
		case r.additional != nil && !r.additional.never:
			rules, declared = append(rules, r.additional), true
		case r.needed[name]:
			declared = true
		}
	}
	return rules, declared
}

// flatten returns all rules that hold for the value itself, each once: through
// references, allOf, conditions, and those alternatives that choose picks.
func flatten(rules []*rule, n *node, choose func(alternatives []*rule, n *node) []*rule) []*rule {
	var flat []*rule
	seen := map[*rule]bool{}
	todo := slices.Clone(rules)
	for len(todo) > 0 {
		r := todo[0]
		todo = todo[1:]
		if r == nil || seen[r] {
			continue
		}
		seen[r] = true
		flat = append(flat, r)
		todo = append(todo, r.ref, r.then, r.orElse)
		todo = append(todo, r.all...)
		for name, when := range r.whenPresent {
			if n.get(name) != nil {
				todo = append(todo, when)
			}
		}
		for _, alternatives := range [][]*rule{r.any, r.one} {
			if len(alternatives) > 0 {
				todo = append(todo, choose(alternatives, n)...)
			}
		}
	}
	return flat
}

// everything picks all alternatives.
func everything(alternatives []*rule, _ *node) []*rule { return alternatives }

// choose picks the alternatives that the value keeps to once sanitised by them.
func (s *sanitiser) choose(alternatives []*rule, n *node) []*rule {
	var kept []*rule
	for _, alt := range alternatives {
		if s.steps > maxSteps {
			return alternatives
		}
		trial := sanitiser{steps: s.steps, trial: true}
		clean := trial.value(n, []*rule{alt}, nil)
		v := validator{steps: trial.steps}
		if v.check(alt, clean, 0) == nil {
			kept = append(kept, alt)
		}
		s.steps = v.steps
	}
	if len(kept) == 0 {
		return alternatives
	}
	return kept
}
