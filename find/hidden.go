package find

import (
	"fmt"
	"slices"

	"github.com/annotary/annotary"
)

// hiding counts what each filter kept out, and remembers the best of it.
type hiding map[Filter]*hiddenHits

type hiddenHits struct {
	count int
	best  []Hit // at most maxHiddenNames
}

// add counts a hit that a filter kept out. Those that the limits cut come in
// their order, the others in none.
func (h hiding) add(f Filter, hit Hit) {
	e := h[f]
	if e == nil {
		e = &hiddenHits{}
		h[f] = e
	}
	e.count++
	at := len(e.best)
	if f == FilterReadOnly || f == FilterDestructive {
		at, _ = slices.BinarySearchFunc(e.best, hit, compareHits)
	}
	if at < maxHiddenNames {
		e.best = slices.Insert(e.best, at, hit)
		e.best = e.best[:min(len(e.best), maxHiddenNames)]
	}
}

// report returns the filters that hid something, each with its reason. What
// policy hid is not named.
func (h hiding) report(q Query) []Hidden {
	var all []Hidden
	for _, f := range []Filter{FilterPolicy, FilterReadOnly, FilterDestructive, FilterMax, FilterBudget} {
		e := h[f]
		if e == nil {
			continue
		}
		hidden := Hidden{Filter: f, Count: e.count, Why: f.why(q)}
		for _, hit := range e.best {
			if f != FilterPolicy {
				hidden.Names = append(hidden.Names, fullName(hit.Tool))
			}
		}
		all = append(all, hidden)
	}
	return all
}

// fullName is the name under which a tool can be asked for, also where servers have
// tools of the same name.
func fullName(t *annotary.Entry) string {
	if t.Server == "" {
		return t.Name
	}
	return t.Server + "/" + t.Name
}

func (f Filter) why(q Query) string {
	switch f {
	case FilterPolicy:
		return "policy does not let the caller see them"
	case FilterReadOnly:
		return "read_only: nobody vouches that they change nothing"
	case FilterDestructive:
		return "exclude_destructive: they may delete or overwrite, or nobody vouches that they do not"
	case FilterMax:
		return fmt.Sprintf("max: at most %d tools were wanted", q.Max)
	default:
		return fmt.Sprintf("token_budget: the definitions may take %d tokens together", q.Budget)
	}
}
