package policy

import (
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/annotary/annotary"
)

// A Mention is a server or tools that a policy names. A policy that names what
// does not exist protects nothing.
type Mention struct {
	Server string            // empty: any
	Tool   func(string) bool // whether it means the tool of this name; nil: the server itself
	Text   string            // as it is written
	Rule   string
	At     annotary.Position
}

// Mentions returns what the policies of a set name.
func (s *Set) Mentions() []Mention {
	var all []Mention
	if s == nil {
		return nil
	}
	for _, p := range s.policies {
		all = append(all, p.mentions()...)
	}
	return all
}

func (p *compiled) mentions() []Mention {
	var found []Mention
	tree := p.policy.AST()
	server := ""
	if uid, ok := named(tree.Resource); ok {
		m := Mention{Text: uid.String(), Rule: p.id, At: p.at}
		switch uid.Type {
		case "Server":
			server, m.Server = string(uid.ID), string(uid.ID)
			found = append(found, m)
		case types.EntityType(Tool):
			name := ""
			m.Server, name, _ = strings.Cut(string(uid.ID), "/")
			m.Tool = func(tool string) bool { return tool == name }
			found = append(found, m)
		}
	}
	if !admits(tree.Action, Call) && !admits(tree.Action, see) {
		return found // it may speak of resources or prompts, which have names of their own
	}
	for _, c := range tree.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if like, ok := n.(ast.NodeTypeLike); ok && isName(like.Arg) {
				found = append(found, Mention{
					Server: server, Rule: p.id, At: p.at, Text: "a tool like " + string(like.Value.MarshalCedar()),
					Tool: func(tool string) bool { return like.Value.Match(types.String(tool)) },
				})
			}
			return true
		})
	}
	return found
}

// isName reports whether a node is resource.name.
func isName(n ast.IsNode) bool {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok || access.Value != "name" {
		return false
	}
	v, ok := access.Arg.(ast.NodeTypeVariable)
	return ok && v.Name == "resource"
}
