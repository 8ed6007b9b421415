package policy

import (
	"iter"
	"slices"

	"github.com/cedar-policy/cedar-go"
	cedarast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// An index finds the policies on one action that could match, by the entity
// that their scope names. Each policy stands in exactly one place; those whose
// scope names neither a principal nor a resource stand in everywhere.
type index struct {
	everywhere []*compiled
	byEntity   map[types.EntityUID][]*compiled
}

// actionUIDs are all actions, as Cedar names them.
var actionUIDs = func() map[Action]types.EntityUID {
	uids := map[Action]types.EntityUID{}
	for _, a := range []Action{
		Call, Read, Prompt, Complete, Sample, Elicit, Other, see, unattended, approve, Action(Operate), Action(Audit),
	} {
		uids[a] = types.NewEntityUID("Action", types.String(a))
	}
	return uids
}()

// build files every policy under each action its scope admits.
func (s *Set) build() {
	for a := range actionUIDs {
		ix := &index{byEntity: map[types.EntityUID][]*compiled{}}
		for _, p := range s.policies {
			if admits(p.policy.AST().Action, a) {
				ix.add(p)
			}
		}
		s.index[a] = ix
	}
	for _, p := range s.policies {
		s.timed = s.timed || p.asksTime
		s.argued = s.argued || p.asksArguments
		s.hides = s.hides || (p.hides() && admits(p.policy.AST().Action, see))
	}
}

// hides reports whether the policy can hide a tool.
func (p *compiled) hides() bool { return p.forbids() && !p.mentionsContext }

func (ix *index) add(p *compiled) {
	tree := p.policy.AST()
	for _, scope := range []any{tree.Principal, tree.Resource} {
		if uid, ok := named(scope); ok {
			ix.byEntity[uid] = append(ix.byEntity[uid], p)
			return
		}
	}
	ix.everywhere = append(ix.everywhere, p)
}

// named returns the entity a principal or resource scope names.
func named(scope any) (types.EntityUID, bool) {
	switch s := scope.(type) {
	case ast.ScopeTypeEq:
		return s.Entity, true
	case ast.ScopeTypeIn:
		return s.Entity, true
	case ast.ScopeTypeIsIn:
		return s.Entity, true
	}
	return types.EntityUID{}, false
}

// admits reports whether an action scope can match the action. Our actions have
// no groups.
func admits(scope any, a Action) bool {
	uid := actionUIDs[a]
	switch s := scope.(type) {
	case ast.ScopeTypeEq:
		return s.Entity == uid
	case ast.ScopeTypeIn:
		return s.Entity == uid
	case ast.ScopeTypeInSet:
		return slices.Contains(s.Entities, uid)
	}
	return true
}

// policies are what Cedar is asked about one question.
type policies iter.Seq2[types.PolicyID, *cedar.Policy]

// All makes policies a cedar.PolicyIterator.
func (p policies) All() iter.Seq2[types.PolicyID, *cedar.Policy] {
	return iter.Seq2[types.PolicyID, *cedar.Policy](p)
}

// candidates yields the policies on the action that could match in this world.
func (s *Set) candidates(a Action, w *world) policies {
	return s.pick(a, w, func(p *compiled) *cedar.Policy { return p.asked })
}

// hiding yields the policies that can hide a tool by name of the action see.
func (s *Set) hiding(w *world) policies {
	return s.pick(see, w, func(p *compiled) *cedar.Policy {
		if p.hides() {
			return p.asked
		}
		return nil
	})
}

// withoutContext yields the policies on a call as far as they can be judged
// without arguments, conversation and time: a forbid that needs those cannot
// hide, a permit that needs them counts by its scope.
func (s *Set) withoutContext(w *world) policies {
	return s.pick(Call, w, func(p *compiled) *cedar.Policy {
		switch {
		case !p.mentionsContext:
			return p.asked
		case p.forbids():
			return nil
		}
		return p.scopeOnly
	})
}

// pick yields what choose makes of each candidate, nil meaning nothing.
func (s *Set) pick(a Action, w *world, choose func(*compiled) *cedar.Policy) policies {
	return func(yield func(types.PolicyID, *cedar.Policy) bool) {
		ix := s.index[a]
		if ix == nil {
			return
		}
		each := func(ps []*compiled) bool {
			for _, p := range ps {
				if chosen := choose(p); chosen != nil && !yield(types.PolicyID(p.id), chosen) {
					return false
				}
			}
			return true
		}
		if !each(ix.everywhere) || len(ix.byEntity) == 0 {
			return
		}
		for _, e := range []*types.Entity{&w.principal, &w.resource} {
			if !each(ix.byEntity[e.UID]) {
				return
			}
			for parent := range e.Parents.All() {
				if !each(ix.byEntity[parent]) {
					return
				}
			}
		}
	}
}

func policyFromTree(tree *ast.Policy) *cedar.Policy {
	return cedar.NewPolicyFromAST((*cedarast.Policy)(tree))
}
