package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// A scenario is one run of a scenario file.
type scenario struct {
	set    *Set
	file   string
	tools  map[string]About
	who    annotary.Principal
	seen   annotary.Label
	now    time.Time
	failed []Mismatch
	ran    int
}

// A Mismatch is a line of a scenario that did not come out as written.
type Mismatch struct {
	At        annotary.Position
	Line      string
	Want, Got string
}

// String writes the mismatch for a terminal.
func (m Mismatch) String() string {
	return fmt.Sprintf("%s: %s\n  want %s\n  got  %s", m.At, m.Line, m.Want, m.Got)
}

// RunScenario runs a scenario file against the set and returns how many
// expectations it holds and which failed. An error is a mistake in the file.
//
// A scenario is calls in and decisions out, in text a person can read:
//
//	# interns read, nothing else
//	tool  mail/list  readOnly=true from=operator
//	tool  mail/send  destructive=false openWorld=true
//	as    ann groups=interns
//	seen  private strangers
//	call  mail/list                   -> allow
//	call  mail/send {"to":"x@y.org"}  -> ask outside egress_after_private_and_untrusted
//	see   mail/purge                  -> deny no_permit
//	approve client bob mail/send      -> deny
//
// After the arrow stands the effect, then words that must all occur among the
// reasons: a code, a rule's id or its last part, or how a person is asked (once,
// each, outside). "as", "seen", "now" and "tool" hold until said anew.
func (s *Set) RunScenario(f File) (ran int, failed []Mismatch, err error) {
	sc := &scenario{
		set: s, file: f.Name, tools: map[string]About{}, seen: annotary.CleanLabel(),
		who: annotary.Principal{Tenant: annotary.DefaultTenant, Subject: "ann"},
		now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
	}
	n := 0
	for line := range strings.Lines(f.Text) {
		n++
		at := annotary.Position{File: f.Name, Line: n}
		line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := sc.line(at, line); err != nil {
			return sc.ran, sc.failed, annotary.E(annotary.CodeConfig, fmt.Sprintf("%s: %v", at, err), err)
		}
	}
	if sc.ran == 0 {
		return 0, nil, annotary.E(annotary.CodeConfig, f.Name+": the scenario expects nothing", nil).
			WithHint("write lines such as: call server/tool -> allow")
	}
	return sc.ran, sc.failed, nil
}

func (sc *scenario) line(at annotary.Position, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "tool":
		return sc.tool(rest)
	case "as":
		return sc.as(rest)
	case "seen":
		return sc.sees(rest)
	case "now":
		now, err := time.Parse(time.RFC3339, rest)
		sc.now = now
		return err
	case "call", "see", "approve":
		return sc.expect(at, line, verb, rest)
	}
	return fmt.Errorf("unknown word %q; lines begin with tool, as, seen, now, call, see or approve", verb)
}

// tool declares a tool: server/name and hints. Hints that are not named are the
// specification's defaults.
func (sc *scenario) tool(rest string) error {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return fmt.Errorf("tool needs a name, server/tool")
	}
	server, name, ok := strings.Cut(words[0], "/")
	if !ok {
		return fmt.Errorf("a tool is named server/tool, not %q", words[0])
	}
	a := About{Server: server, Name: name}
	from := annotary.FromOperator
	var claims []annotary.Claim
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		hint, isHint := annotary.ParseHintName(key)
		switch {
		case key == "from":
			if err := from.UnmarshalText([]byte(value)); err != nil {
				return err
			}
		case key == "believed":
			a.Believed = true
		case key == "pinned":
			a.Pinned = true
		case isHint && (value == "true" || value == "false"):
			claims = append(claims, annotary.Claim{Hint: hint, Value: annotary.ValueOf(value == "true"), By: from, Confidence: 1, Calls: annotary.MinVerifiedCalls})
		default:
			return fmt.Errorf("unknown word %q; write a hint=true or hint=false, from=…, believed or pinned", w)
		}
	}
	for i := range claims {
		claims[i].By = from
	}
	return sc.resolve(words[0], a, claims)
}

func (sc *scenario) resolve(name string, a About, claims []annotary.Claim) error {
	res, err := annotary.Resolve(annotary.Known{Claims: claims, Believed: a.Believed})
	if err != nil {
		return err
	}
	a.Hints = res.Hints
	if !a.Believed {
		trusted := slices.DeleteFunc(slices.Clone(claims), func(c annotary.Claim) bool {
			return c.By == annotary.FromDeclared || c.By == annotary.FromDerived
		})
		bare, err := annotary.Resolve(annotary.Known{Claims: trusted})
		if err != nil {
			return err
		}
		a.Unclaimed = &bare.Hints
	}
	sc.tools[name] = a
	return nil
}

// as sets the caller: a subject, then groups=, profiles=, scopes=, tenant=.
func (sc *scenario) as(rest string) error {
	p, err := parsePrincipal(rest)
	sc.who = p
	return err
}

func parsePrincipal(text string) (annotary.Principal, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return annotary.Principal{}, fmt.Errorf("as needs a name")
	}
	p := annotary.Principal{Tenant: annotary.DefaultTenant, Subject: words[0]}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		list := strings.Split(value, ",")
		switch key {
		case "groups":
			p.Groups = list
		case "profiles":
			p.Profiles = list
		case "scopes":
			p.Scopes = list
		case "tenant":
			p.Tenant = value
		case "client":
			p.Client = value
		default:
			return p, fmt.Errorf("unknown word %q; write groups=, profiles=, scopes=, tenant= or client=", w)
		}
	}
	return p, nil
}

func (sc *scenario) sees(rest string) error {
	sc.seen = annotary.CleanLabel()
	for w := range strings.FieldsSeq(rest) {
		switch w {
		case "private":
			sc.seen.Public = false
		case "strangers":
			sc.seen.Trusted = false
		case "nothing":
		default:
			return fmt.Errorf("unknown word %q; a conversation has seen private, strangers or nothing", w)
		}
	}
	return nil
}

// expect runs one line and compares what came out with what stands after the
// arrow.
func (sc *scenario) expect(at annotary.Position, line, verb, rest string) error {
	what, want, ok := strings.Cut(rest, "->")
	if !ok {
		return fmt.Errorf("no '->' and no expectation")
	}
	d, err := sc.decide(verb, strings.TrimSpace(what))
	if err != nil {
		return err
	}
	words := strings.Fields(want)
	if len(words) == 0 {
		return fmt.Errorf("nothing after '->'; write allow, ask or deny")
	}
	sc.ran++
	missing := slices.ContainsFunc(words[1:], func(w string) bool { return !mentions(d, w) })
	if words[0] != d.Effect.String() || missing {
		sc.failed = append(sc.failed, Mismatch{at, line, strings.Join(words, " "), describe(d)})
	}
	return nil
}

func (sc *scenario) decide(verb, what string) (annotary.Decision, error) {
	if verb == "approve" {
		return sc.approval(what)
	}
	name, args, _ := strings.Cut(what, " ")
	about, ok := sc.tools[name]
	if !ok {
		return annotary.Decision{}, fmt.Errorf("the tool %q was not declared", name)
	}
	who, target := NewSubject(&sc.who), NewTarget(about)
	if verb == "see" {
		return sc.set.See(who, target), nil
	}
	if args = strings.TrimSpace(args); args != "" {
		if err := strict.Check([]byte(args), strict.Limits{}); err != nil {
			return annotary.Decision{}, err
		}
	}
	return sc.set.Decide(&Request{Who: who, Target: target, Arguments: []byte(args), Seen: sc.seen, Now: sc.now}), nil
}

// approval reads "channel approver server/tool": may the approver answer what
// the caller would be asked?
func (sc *scenario) approval(what string) (annotary.Decision, error) {
	words := strings.Fields(what)
	if len(words) < 3 {
		return annotary.Decision{}, fmt.Errorf("write: approve CHANNEL WHO server/tool")
	}
	about, ok := sc.tools[words[len(words)-1]]
	if !ok {
		return annotary.Decision{}, fmt.Errorf("the tool %q was not declared", words[len(words)-1])
	}
	approver, err := parsePrincipal(strings.Join(words[1:len(words)-1], " "))
	if err != nil {
		return annotary.Decision{}, err
	}
	target, requester := NewTarget(about), NewSubject(&sc.who)
	asked := sc.set.Decide(&Request{Who: requester, Target: target, Seen: sc.seen, Now: sc.now})
	return sc.set.MayApprove(&ApproveRequest{
		Approver: NewSubject(&approver), Requester: requester, Channel: Channel(words[0]),
		Target: target, Asked: asked.Reasons, Now: sc.now,
	}), nil
}

// mentions reports whether a reason carries the word.
func mentions(d annotary.Decision, word string) bool {
	return slices.ContainsFunc(d.Reasons, func(r annotary.Reason) bool {
		return word == string(r.Code) || word == r.Rule || slices.Contains(strings.Split(r.Rule, "/"), word) ||
			(d.Effect == annotary.Ask && word == askWord(r.Ask))
	})
}

func askWord(v annotary.Verdict) string {
	switch v {
	case annotary.VerdictAskOnce:
		return "once"
	case annotary.VerdictAskOutside:
		return "outside"
	case annotary.VerdictAsk:
		return "each"
	default:
		return ""
	}
}

func describe(d annotary.Decision) string {
	words := []string{d.Effect.String()}
	for _, r := range d.Reasons {
		words = append(words, string(r.Code))
		if r.Rule != "" {
			words = append(words, "("+r.Rule+")")
		}
	}
	return strings.Join(words, " ")
}
