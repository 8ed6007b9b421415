package policy

import (
	"github.com/cedar-policy/cedar-go/types"

	"github.com/annotary/annotary"
)

// A Kind is what sort of thing a target is.
type Kind string

// The kinds of target.
const (
	Tool     Kind = "Tool"
	Resource Kind = "Resource"
	PromptOf Kind = "Prompt"
	Method   Kind = "Method"
)

// About is what policies may know of a target.
type About struct {
	Kind   Kind // if empty, Tool
	Server string
	Name   string
	Hints  annotary.Hints
	// Unclaimed are the hints as they would be without the claims of a server
	// that is not believed and without derivation; nil if they are the same.
	Unclaimed                      *annotary.Hints
	Believed, Confined, Pinned, UI bool
}

// A Target is something that can be called, prepared once for many decisions.
type Target struct {
	entity    types.Entity
	unclaimed *types.Entity
}

// NewTarget prepares a target.
func NewTarget(a About) *Target {
	if a.Kind == "" {
		a.Kind = Tool
	}
	t := &Target{entity: targetEntity(&a, &a.Hints)}
	if a.Unclaimed != nil && !sameValues(a.Unclaimed, &a.Hints) {
		e := targetEntity(&a, a.Unclaimed)
		t.unclaimed = &e
	}
	return t
}

// sameValues reports whether policies could tell the two apart.
func sameValues(a, b *annotary.Hints) bool {
	for n := range a {
		if a[n].Value != b[n].Value || a[n].From != b[n].From {
			return false
		}
	}
	return true
}

func targetEntity(a *About, h *annotary.Hints) types.Entity {
	attrs := types.RecordMap{
		"server":   types.String(a.Server),
		"name":     types.String(a.Name),
		"class":    types.String(h.Class().String()),
		"open":     types.Boolean(h.Open()),
		"believed": types.Boolean(a.Believed),
		"confined": types.Boolean(a.Confined),
		"pinned":   types.Boolean(a.Pinned),
		"ui":       types.Boolean(a.UI),
	}
	from := types.RecordMap{}
	for n := range annotary.HintName(annotary.NumHints) {
		value := h[n].Value
		if value == annotary.Unknown {
			value = n.Dangerous()
		}
		attrs[types.String(n.String())] = types.Boolean(value == annotary.Yes)
		from[types.String(n.String())] = types.String(h[n].From.String())
	}
	attrs["from"] = types.NewRecord(from)
	return types.Entity{
		UID:        types.NewEntityUID(types.EntityType(a.Kind), types.String(a.Server+"/"+a.Name)),
		Parents:    types.NewEntityUIDSet(types.NewEntityUID("Server", types.String(a.Server))),
		Attributes: types.NewRecord(attrs),
	}
}
