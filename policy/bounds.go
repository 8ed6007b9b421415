package policy

import (
	"slices"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"

	"github.com/annotary/annotary"
)

// Unknown says what is not known of a request. The zero Unknown is nothing.
type Unknown struct {
	Arguments bool // what the call carries
	Truncated bool // whether that was more than policies can see
	Scopes    bool // of the caller
	Standing  bool // of the target: confined, pinned, part of an app
}

// Truncated reports whether arguments are more than policies can see.
func Truncated(arguments []byte) bool {
	var size flattener // counts only
	size.walk("", arguments, 0)
	return size.truncated
}

// Bounds returns the strictest and the loosest decision that the request may
// get, whatever it is that is not known. Where their effects are the same, it is
// known what becomes of the request.
func (s *Set) Bounds(r *Request, u Unknown) (strictest, loosest annotary.Decision) {
	if u == (Unknown{}) || s == nil || r.Who == nil || r.Target == nil {
		d := s.Decide(r)
		return d, d
	}
	q := *r
	if q.Action == "" {
		q.Action = Call
	}
	strictest, loosest = s.bound(&q, u, true, r.Target.entity), s.bound(&q, u, false, r.Target.entity)
	if other := r.Target.unclaimed; other != nil {
		strictest = strictest.Stricter(s.bound(&q, u, true, *other))
		loosest = loosest.Stricter(s.bound(&q, u, false, *other))
	}
	return strictest, loosest
}

// bound asks what decide asks, with every policy that may or may not match taken
// for the worst, or for the best.
func (s *Set) bound(r *Request, u Unknown, worst bool, target types.Entity) annotary.Decision {
	g := &guess{set: s, unknown: u, worst: worst, w: s.newWorld(r)}
	g.w.resource = target
	if r.Action == Call {
		if hidden := g.authorize(see); hidden.refuses() {
			return hidden.decision(see)
		}
	}
	may := g.authorize(r.Action)
	alone := g.authorize(unattended)
	switch {
	case g.mayFail:
		return deny(annotary.CodePolicyError, "a policy may not be evaluated")
	case !may.permits():
		return may.decision(r.Action)
	case alone.permits():
		return may.decision(r.Action)
	case alone.failed != nil:
		return alone.decision(unattended)
	}
	return asking(alone.decision(unattended))
}

// A guess is a decision about a request of which something is not known.
type guess struct {
	set     *Set
	unknown Unknown
	worst   bool
	w       *world
	mayFail bool // a policy that may match may fail
}

func (g *guess) authorize(a Action) answer {
	return g.set.authorize(a, g.w, g.set.pick(a, g.w, func(p *compiled) *cedar.Policy {
		if a == see && (!p.forbids() || p.mentionsContext) {
			return nil
		}
		if !g.unknown.touches(p) {
			return p.policy
		}
		switch holds, certain := g.holds(a, p); {
		case !certain && p.mayFail && g.worst:
			g.mayFail = true
			return nil
		case !certain:
			holds = p.forbids() == g.worst
			fallthrough
		default:
			if holds {
				return p.scopeOnly
			}
			return nil
		}
	}))
}

// holds says whether the policy matches, as far as what is known can tell.
func (g *guess) holds(a Action, p *compiled) (holds, certain bool) {
	u := &g.unknown
	tree := ast.Policy(*p.policy.AST())
	if (u.Scopes && reads(&tree, "scopes")) || (u.Standing && reads(&tree, standing...)) {
		return true, false // whether its scope matches is found out later
	}
	context := g.w.context.Map()
	for name, unknown := range map[types.String]bool{"args": u.Arguments, "ints": u.Arguments, "truncated": u.Truncated} {
		if unknown {
			context[name] = eval.Variable(name)
		}
	}
	left, keep := eval.PartialPolicy(eval.Env{
		Entities: g.w, Principal: g.w.principal.UID, Action: actionUIDs[a], Resource: g.w.resource.UID, Context: types.NewRecord(context),
	}, &tree)
	if !keep {
		return false, true
	}
	return true, !slices.ContainsFunc(left.Conditions, func(c ast.ConditionType) bool {
		v, ok := c.Body.(ast.NodeValue)
		return !ok || v.Value != types.Boolean(c.Condition == ast.ConditionWhen)
	})
}

var standing = []types.String{"confined", "pinned", "ui"}

// touches reports whether a policy looks at something that is not known.
func (u *Unknown) touches(p *compiled) bool {
	tree := ast.Policy(*p.policy.AST())
	return (u.Arguments && reads(&tree, "args", "ints")) || (u.Truncated && reads(&tree, "truncated")) ||
		(u.Scopes && reads(&tree, "scopes")) || (u.Standing && reads(&tree, standing...))
}

// reads reports whether a policy's conditions name one of the attributes.
func reads(tree *ast.Policy, attributes ...types.String) bool {
	found := false
	for _, c := range tree.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			switch n := n.(type) {
			case ast.NodeTypeAccess:
				found = found || slices.Contains(attributes, n.Value)
			case ast.NodeTypeHas:
				found = found || slices.Contains(attributes, n.Value)
			}
			return true
		})
	}
	return found
}
