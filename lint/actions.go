package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/internal/strict"
)

var actionRules = []Rule{
	{
		ID: "catch-all", Severity: at(Warning, Error, Error, Error),
		Demand: "Reading and writing are separate tools: one hint cannot be true for both.",
		Vendor: map[Profile]string{
			Anthropic: "Anthropic's directory review refuses a tool that takes both safe and unsafe methods, documented or not",
			OpenAI:    "OpenAI's submission help wants separate tools for reading and writing, so that ChatGPT can ask for the right ones",
		},
		tool: catchAll,
	},
	{
		ID: "idempotent-unstated", Severity: always(Note), Fixable: true,
		Demand: "A write that can be repeated safely says so; clients that lose a connection may then try again.",
		tool:   idempotentUnstated,
	},
}

// actionNames are the parameters that choose what a tool does.
var actionNames = []string{
	"action", "actions", "operation", "op", "method", "httpmethod", "command", "cmd", "subcommand", "verb", "mode", "actiontype", "operationtype",
}

// makers are the verbs of tools that make or change a thing of which an action
// may be a property: create_endpoint with its method.
var makers = []string{"create", "update", "add", "define", "register", "edit", "save"}

func catchAll(p *pass) []Finding {
	words := strings.Fields(strings.ToLower(humanise(p.Name)))
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(makers, w) }) {
		return nil
	}
	for name, schema := range strict.Members(strict.Get(p.Input, "properties")) {
		if !slices.Contains(actionNames, fold(name)) {
			continue
		}
		reads, writes := sortActions(choices(schema))
		if len(reads) == 0 || len(writes) == 0 {
			continue
		}
		return one(Finding{
			At:       "/inputSchema/properties/" + strict.EscapePointer(name),
			Message:  fmt.Sprintf("mixes reading and writing behind the parameter %s", name),
			Evidence: fmt.Sprintf("%s reads, %s writes", some(reads), some(writes)),
			Fix:      "make one tool per action, or one for reading and one for writing",
		})
	}
	return nil
}

// choices returns the texts a schema allows, by enum or by const.
func choices(schema []byte) []string {
	var all []string
	for _, v := range strict.Elements(strict.Get(schema, "enum")) {
		if s, ok := strict.Text(v); ok {
			all = append(all, s)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, sub := range strict.Elements(strict.Get(schema, key)) {
			if s, ok := strict.Text(strict.Get(sub, "const")); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// sortActions tells the actions that surely read from those that surely write,
// each judged as if it were a tool of that name.
func sortActions(actions []string) (reads, writes []string) {
	tools := make([]annotary.Tool, len(actions))
	for i, a := range actions {
		tools[i].Name = strings.ToLower(a)
	}
	for i, c := range derive.Tools(tools) {
		switch ro := c[annotary.ReadOnly]; {
		case ro.Confidence < fillConfidence:
		case ro.Value == annotary.Yes:
			reads = append(reads, actions[i])
		case ro.Value == annotary.No:
			writes = append(writes, actions[i])
		}
	}
	return reads, writes
}

// idempotentUnstated suggests the hint only where the definition shows it: a
// stable id or key in the schema, or a verb that sets.
func idempotentUnstated(p *pass) []Finding {
	c := p.claims[annotary.Idempotent]
	if p.Stated[annotary.ReadOnly] != annotary.StatedFalse || p.Stated[annotary.Idempotent] != annotary.StatedAbsent || !p.repeatable() {
		return nil
	}
	return one(Finding{
		At: "/annotations", Message: "can be repeated and does not say so", Evidence: c.Why,
		Fix: "if a second call changes nothing more, set idempotentHint to true",
	})
}

// repeatable reports whether the definition shows a write that a second call
// would not add to.
func (p *pass) repeatable() bool {
	return p.shows(annotary.Idempotent) == annotary.Yes && p.claims[annotary.ReadOnly].Value != annotary.Yes
}
