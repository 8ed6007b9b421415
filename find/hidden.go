package find

import (
	"fmt"
	"slices"

	"github.com/annotary/annotary"
)

// hiding counts what each filter kept out.
type hiding map[Filter]*Hidden

// add counts a tool that a filter kept out, and remembers its name if there is
// room: the first ones of ranked tools, the first by name of the others. What
// policy hid is not named.
func (h hiding) add(f Filter, t *annotary.Entry) {
	e := h[f]
	if e == nil {
		e = &Hidden{Filter: f}
		h[f] = e
	}
	e.Count++
	at := len(e.Names)
	switch f {
	case FilterPolicy:
		return
	case FilterReadOnly, FilterDestructive:
		at, _ = slices.BinarySearch(e.Names, t.Name)
	}
	if at < maxHiddenNames {
		e.Names = slices.Insert(e.Names, at, t.Name)
		e.Names = e.Names[:min(len(e.Names), maxHiddenNames)]
	}
}

// report returns the filters that hid something, each with its reason.
func (h hiding) report(q Query) []Hidden {
	var all []Hidden
	for _, f := range []Filter{FilterPolicy, FilterReadOnly, FilterDestructive, FilterMax, FilterBudget} {
		if e := h[f]; e != nil {
			e.Why = f.why(q)
			all = append(all, *e)
		}
	}
	return all
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
