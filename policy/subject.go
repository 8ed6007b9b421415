package policy

import (
	"github.com/cedar-policy/cedar-go/types"

	"github.com/annotary/annotary"
)

// A Subject is a principal, prepared once for many decisions.
type Subject struct{ entity types.Entity }

// NewSubject prepares a principal.
func NewSubject(p *annotary.Principal) *Subject {
	parents := make([]types.EntityUID, 0, 1+len(p.Groups)+len(p.Profiles))
	parents = append(parents, types.NewEntityUID("Tenant", types.String(p.Tenant)))
	for _, g := range p.Groups {
		parents = append(parents, types.NewEntityUID("Group", types.String(g)))
	}
	for _, name := range p.Profiles {
		parents = append(parents, types.NewEntityUID("Profile", types.String(name)))
	}
	scopes := make([]types.Value, len(p.Scopes))
	for i, s := range p.Scopes {
		scopes[i] = types.String(s)
	}
	return &Subject{types.Entity{
		UID:     types.NewEntityUID("User", types.String(p.ID())),
		Parents: types.NewEntityUIDSet(parents...),
		Attributes: types.NewRecord(types.RecordMap{
			"tenant":  types.String(p.Tenant),
			"issuer":  types.String(p.Issuer),
			"subject": types.String(p.Subject),
			"client":  types.String(p.Client),
			"scopes":  types.NewSet(scopes...),
		}),
	}}
}
