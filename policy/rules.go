package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/annotary/annotary"
)

// shipped returns the policies that come with us: the compiled short rules, the
// guard on truncated arguments, and who may approve.
func shipped(o Options) []File {
	var files []File
	if o.Rules != nil {
		files = append(files, File{"rules", compileRules("rules", *o.Rules, outsideOf(slices.Sorted(maps.Keys(o.Profiles))))})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Profiles)) {
		id := "profile " + name
		files = append(files, File{id, compileRules(id, o.Profiles[name], memberOf(name))})
	}
	if len(files) > 0 {
		files = append(files, File{"shipped", unattendedRules})
	}
	if o.Fleet {
		return append(files, File{"approvers", fleetApprovers})
	}
	return append(files, File{"approvers", singleApprovers})
}

// Without short rules nothing is permitted unattended unless a file says so.
const unattendedRules = `
@id("unattended") @reason("nothing asks for a person")
permit(principal, action == Action::"unattended", resource);

@id("truncated_arguments") @code("truncated_arguments") @ask("each")
@reason("the arguments are larger than policies can see")
forbid(principal, action == Action::"unattended", resource)
when { context.truncated };

@id("named_methods") @reason("the operator let this method of the server through")
permit(principal, action == Action::"other", resource);

@id("upstream_questions") @reason("servers may ask the person, in their own name")
permit(principal, action == Action::"elicit", resource);
`

const singleApprovers = `
@id("owner_approves") @reason("the owner may approve own calls")
permit(principal, action == Action::"approve", resource)
when { principal == context.requester };

@id("approve_outside") @reason("this yes must come from outside the client")
forbid(principal, action == Action::"approve", resource)
when { context.channel == "client" && (context.outside || resource.class == "destructive" || context.codes.contains("trifecta")) };

@id("owner_operates") permit(principal, action in [Action::"operate", Action::"audit"], resource);
`

// The gateway and its log are all tenants', and whoever runs a tenant's issuer says
// who is in which group: a role over them comes with a group of the default tenant's.
const fleetApprovers = `
@id("member_approves") @reason("whoever made the call may approve it")
permit(principal, action == Action::"approve", resource)
when { principal == context.requester };

@id("approvers_approve") @reason("members of the group approvers may approve")
permit(principal in Group::"approvers", action == Action::"approve", resource)
when { principal.tenant == context.requester.tenant };

@id("second_person") @reason("a destructive call needs a second person")
forbid(principal, action == Action::"approve", resource)
when { resource.class == "destructive" && principal == context.requester };

@id("approve_outside") @reason("this yes must come from outside the client")
forbid(principal, action == Action::"approve", resource)
when { context.channel == "client" && (context.outside || resource.class == "destructive" || context.codes.contains("trifecta")) };

@id("operators_operate") permit(principal in Group::"operators", action == Action::"operate", resource)
when { principal.tenant == "default" };
@id("auditors_audit") permit(principal in Group::"auditors", action == Action::"audit", resource)
when { principal.tenant == "default" };
`

func memberOf(profile string) string {
	return fmt.Sprintf("principal in Profile::%s", strconv.Quote(profile))
}

// outsideOf is the condition of being in none of the profiles.
func outsideOf(profiles []string) string {
	var parts []string
	for _, p := range profiles {
		parts = append(parts, "!("+memberOf(p)+")")
	}
	return strings.Join(parts, " && ")
}

// onUse are the actions the class rules speak of. A resource, a prompt and a
// completion are judged by the class of what they are: reads.
const onUse = `action in [Action::"call", Action::"read", Action::"prompt", Action::"complete"]`

// onAsking is the action that a rule which wants a person forbids.
const onAsking = `action == Action::"unattended"`

// A writer gathers the Cedar text of one set of short rules.
type writer struct {
	prefix string // of every id
	among  string // whom the rules are for, as a condition; empty for all
	out    strings.Builder
}

// A statement is one policy of such a set.
type statement struct {
	effect string // permit or forbid
	id     string
	code   annotary.Code
	action string
	when   string
	ask    string // once, each or outside; empty if nobody is asked
	reason string
}

// compileRules writes short rules as Cedar. A verdict that asks is a
// forbid(unattended); deny is a forbid; allow is a permit and nothing else.
func compileRules(prefix string, r annotary.Rules, among string) string {
	w := &writer{prefix: prefix, among: among}
	for _, c := range []struct {
		class annotary.Class
		v     annotary.Verdict
		does  string
	}{
		{annotary.Read, r.Read, "it reads"},
		{annotary.Write, r.Write, "it changes something"},
		{annotary.Destroy, r.Destructive, "it may delete or overwrite something"},
	} {
		class := c.class.String()
		when := fmt.Sprintf(`resource.class == %q`, class)
		if c.v != annotary.NoRule {
			w.write(statement{
				effect: "permit", id: class, code: annotary.CodeClass, action: onUse,
				when: when, reason: "tools of class " + class + " may be used",
			})
		}
		w.restrict(c.v, statement{id: class, code: annotary.CodeClass, when: when, reason: c.does})
	}
	w.restrict(r.Irreversible, statement{
		id: "irreversible", code: annotary.CodeIrreversible,
		when:   `resource.class == "destructive" && !resource.reversible`,
		reason: "it may destroy, and no way back is known",
	})
	w.restrict(r.EgressAfterBoth, statement{
		id: "egress_after_private_and_untrusted", code: annotary.CodeTrifecta,
		when:   `context.seen.private && context.seen.strangers && resource.egress && resource.openWorld`,
		reason: "the conversation has seen private data and strangers' words, and this call may carry them out",
	})
	w.open(r.Open)
	return w.out.String()
}

// open writes the rule on the open world: free for the profiles it allows.
func (w *writer) open(o annotary.OpenRule) {
	if o.IsZero() {
		return
	}
	v := o.Else
	if v == annotary.NoRule {
		v = annotary.VerdictDeny
	}
	when := []string{"resource.open"}
	for _, a := range o.Allow {
		when = append(when, "!("+memberOf(strings.TrimPrefix(a, annotary.ProfilePrefix))+")")
	}
	w.restrict(v, statement{
		id: "open", code: annotary.CodeOpenWorld,
		when: strings.Join(when, " && "), reason: "it reaches the open world",
	})
}

// restrict writes what a verdict other than allow takes away.
func (w *writer) restrict(v annotary.Verdict, s statement) {
	s.effect = "forbid"
	switch v {
	case annotary.VerdictDeny:
		s.id, s.action = s.id+"/deny", onUse
	case annotary.VerdictAskOnce:
		s.id, s.action, s.ask = s.id+"/ask", onAsking, "once"
	case annotary.VerdictAsk:
		s.id, s.action, s.ask = s.id+"/ask", onAsking, "each"
	case annotary.VerdictAskOutside:
		s.id, s.action, s.ask = s.id+"/ask", onAsking, "outside"
	case annotary.NoRule, annotary.VerdictAllow:
		return
	}
	w.write(s)
}

func (w *writer) write(s statement) {
	fmt.Fprintf(&w.out, "@id(%q) @code(%q)", w.prefix+"/"+s.id, s.code)
	if s.ask != "" {
		fmt.Fprintf(&w.out, " @ask(%q)", s.ask)
	}
	when := s.when
	if w.among != "" {
		when = w.among + " && " + when
	}
	fmt.Fprintf(&w.out, "\n@reason(%q)\n%s(principal, %s, resource)\nwhen { %s };\n\n", s.reason, s.effect, s.action, when)
}
