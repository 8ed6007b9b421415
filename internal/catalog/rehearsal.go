package catalog

import (
	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

// Rehearsal is the argument of a tool, as a JSON Pointer, that has it only pretend:
// the one the operator bound, else the one its schema suggests; empty if there is
// none. Whether the server keeps to it is another question.
func (s *Stance) Rehearsal(def *annotary.Tool) string {
	for _, rules := range [][]derive.Rule{s.narrowing(def), derive.Rules(*def)} {
		for _, r := range rules {
			if r.Kind == derive.KindDryRun {
				return r.At
			}
		}
	}
	return ""
}
