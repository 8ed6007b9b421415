package find

import (
	"fmt"
	"slices"

	"github.com/annotary/annotary"
)

// hiding counts what each filter kept out.
type hiding map[Filter]*Hidden

func (h hiding) add(f Filter, t *annotary.Entry) {
	e := h[f]
	if e == nil {
		e = &Hidden{Filter: f}
		h[f] = e
	}
	e.Count++
	if t != nil {
		e.Names = append(e.Names, t.Name)
	}
}

// report returns the filters that hid something, each with its reason.
func (h hiding) report(q Query) []Hidden {
	var all []Hidden
	for _, f := range []Filter{FilterPolicy, FilterReadOnly, FilterDestructive, FilterMax, FilterBudget} {
		e := h[f]
		if e == nil {
			continue
		}
		e.Why = f.why(q)
		if f == FilterReadOnly || f == FilterDestructive {
			slices.Sort(e.Names)
		}
		e.Names = e.Names[:min(len(e.Names), maxHiddenNames)]
		all = append(all, *e)
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
