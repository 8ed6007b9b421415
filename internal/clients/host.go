package clients

import "github.com/annotary/annotary"

// HostFacts is when the behaviour in [Hosts] was last compared with what the
// clients do. Clients change: docs/clients.md lists the versions and sources.
const HostFacts = "2026-10"

// A Host is one client in one of its modes. It is judged as it comes, without
// allow lists or trust the user may have added, but for the rules we can read.
type Host struct {
	Client ID
	Mode   string
	// Default says it is the mode people get without choosing one.
	Default bool
	judge   func(said) Verdict
}

// A Verdict is what a host does with a call of a tool: run it unasked (Allow),
// ask (Ask), or block it (Deny), and why.
type Verdict struct {
	Effect annotary.Effect
	Why    string
}

// Judge says what the host does, given the hints as the definition states them
// and what a rule of the user's says about the tool.
func (h *Host) Judge(stated [annotary.NumHints]annotary.Stated, rule Rule) Verdict {
	if rule == RuleDeny {
		return blocks("a rule of yours denies it")
	}
	return h.judge(said{
		rule:        rule,
		readOnly:    stated[annotary.ReadOnly].Value(),
		destructive: stated[annotary.Destructive].Value(),
		openWorld:   stated[annotary.OpenWorld].Value(),
	})
}

// said is what a host makes of the stated hints. Null, a wrong type and absence
// are the same to all of them; only their defaults differ.
type said struct {
	rule                             Rule
	readOnly, destructive, openWorld annotary.Value
}

// Hosts are the modes that treat hints differently.
var Hosts = []Host{
	{ClaudeCode, "normal", true, claudeNormal},
	{ClaudeCode, "plan mode", false, claudePlan},
	{ClaudeDesktop, "connectors", true, claudeDesktop},
	{Cursor, "agent", true, cursorAgent},
	{Cursor, "ask mode", false, cursorAsk},
	{Cursor, "admin: reads", false, cursorReads},
	{VSCode, "agent", true, vscodeAgent},
	{Codex, "auto", true, codexAuto},
	{Codex, "exec, never ask", false, codexNever},
}

// HostsOf returns the modes of one client.
func HostsOf(id ID) []Host {
	var hosts []Host
	for _, h := range Hosts {
		if h.Client == id {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func runs(why string) Verdict   { return Verdict{annotary.Allow, why} }
func asks(why string) Verdict   { return Verdict{annotary.Ask, why} }
func blocks(why string) Verdict { return Verdict{annotary.Deny, why} }

func claudeNormal(s said) Verdict {
	switch s.rule {
	case RuleAllow:
		return runs("a rule of yours allows it")
	case RuleAsk:
		return asks("a rule of yours says so")
	default:
	}
	return asks("asks for every MCP tool that no rule of yours allows; hints do not count")
}

func claudePlan(s said) Verdict {
	if s.rule == RuleAsk {
		return asks("a rule of yours says so")
	}
	if s.readOnly == annotary.Yes {
		return runs("readOnlyHint is true")
	}
	return asks("readOnlyHint is not true: asks on every call, even where a rule allows the tool")
}

func claudeDesktop(s said) Verdict {
	switch {
	case s.destructive == annotary.Yes:
		return asks("destructiveHint is true: always asks")
	case s.readOnly == annotary.Yes:
		return runs("readOnlyHint is true")
	case s.readOnly == annotary.Unknown && s.destructive == annotary.Unknown:
		return asks("no hint: listed under \"Other tools\", each call gated")
	}
	return asks("not read-only")
}

func cursorAgent(said) Verdict {
	return asks("asks for every MCP tool that is not on your allow list")
}

func cursorAsk(s said) Verdict {
	if s.readOnly == annotary.Yes {
		return asks("readOnlyHint is true: available, asks as usual")
	}
	return blocks("readOnlyHint is not true: Ask mode refuses the tool")
}

func cursorReads(s said) Verdict {
	if s.readOnly == annotary.Yes && s.destructive != annotary.Yes {
		return runs("readOnlyHint is true and destructiveHint is not")
	}
	return blocks("an administrator allows reads only")
}

func vscodeAgent(s said) Verdict {
	if s.readOnly != annotary.Yes {
		return asks("readOnlyHint is not true")
	}
	if s.openWorld == annotary.Yes {
		return runs("readOnlyHint is true; asks before it uses the result, since openWorldHint is true")
	}
	return runs("readOnlyHint is true")
}

func codexAuto(s said) Verdict {
	switch {
	case s.destructive == annotary.Yes:
		return asks("destructiveHint is true")
	case s.readOnly == annotary.Yes:
		return runs("readOnlyHint is true")
	case s.destructive == annotary.Unknown:
		return asks("no destructiveHint: taken as true")
	case s.openWorld == annotary.Yes:
		return asks("openWorldHint is true")
	case s.openWorld == annotary.Unknown:
		return asks("no openWorldHint: taken as true")
	}
	return runs("destructiveHint and openWorldHint are false")
}

func codexNever(s said) Verdict {
	v := codexAuto(s)
	if v.Effect == annotary.Ask {
		return blocks(v.Why + "; nobody may be asked, so the call is cancelled")
	}
	return v
}
