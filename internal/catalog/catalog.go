// Package catalog holds what is known of every server's tools: the definition
// as it was sent, every claim about it, the effective hints and who vouches for
// them, and the definition as clients see it.
//
// A [Server] is made whole from a listing and the operator's stance ([New]) and
// never changes; a new listing or a reload makes a new one. Looking a tool up
// costs the same among ten tools and a hundred thousand.
//
// The package decides nothing and connects to nothing. It prepares each tool
// for package policy once, so that a decision does not pay for it.
package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/policy"
	"github.com/annotary/annotary/shape"
)

// A Stance is what the operator says of one server.
type Stance struct {
	// Believe takes the server at its word where nobody contradicts it.
	Believe bool
	// Identity is what the server is started or reached by, as a digest. A
	// grant for a tool does not outlive it.
	Identity string
	// Overrides set hints of tools.
	Overrides []Override
	// Said are overrides that count only where those before say nothing: what
	// was said while the gateway ran does not overrule what it was started with.
	Said []Override
	// Narrow says which argument of a tool tells that a call only reads.
	Narrow []Narrow
	// Scopes a caller needs, by tool.
	Scopes []ScopeRule
	// Confined is what the kernel holds the running instance to.
	Confined annotary.Confinement
	// Unvalidated lets arguments of writing calls pass that do not keep to the
	// input schema of their tool.
	Unvalidated bool
	// Unordered lets calls that write run beside each other.
	Unordered bool
}

// An Override is the operator's word on the hints of some tools.
type Override struct {
	Tools    string // a name, or a pattern with *
	Hints    map[annotary.HintName]bool
	Reason   string
	Expires  time.Time // zero: never
	Evidence string    // the observation it answers
	At       annotary.Position
}

// Narrow binds a narrowing rule to some tools.
type Narrow struct {
	Tools string
	Rule  derive.Rule
	At    annotary.Position
}

// A ScopeRule demands scopes of whoever would see or call some tools.
type ScopeRule struct {
	Tools  string          // a name or pattern; empty for all
	Class  *annotary.Class // only tools of this class; nil for all
	Scopes []string
	At     annotary.Position
}

// A Server is one server's tools at one moment.
type Server struct {
	Name   string
	Tools  []*Tool // in the order the server sent them
	byName map[string]*Tool
}

// A Tool is a tool with everything known of it.
type Tool struct {
	annotary.Entry
	Resolution annotary.Resolution
	Derived    derive.Claims
	Believed   bool
	// Digest is of the definition as sent.
	Digest strict.Digest
	// Behaviour is the digest of all that a grant relies on: the name, the
	// schemas without their prose, the hints, the app it belongs to, and the
	// identity of its server.
	Behaviour strict.Digest
	// Shown is the definition as clients see it.
	Shown []byte
	// Scopes are what a caller must have.
	Scopes []string
	// ModelVisible says that a model may see it; if not, only its app may.
	ModelVisible bool

	identity          string // of its server
	narrow            []derive.Rule
	input             func() (*shape.Schema, error) // the input schema, read when first needed
	told, toldReading func() *audit.Entry
	target            *policy.Target
	narrowed          *policy.Target // as seen when the arguments only read
	reading           annotary.Hints // the hints when the arguments only read
}

// New makes the server's tools out of a listing. Of definitions of one name the
// first counts; the linter tells of the others.
func New(name string, tools []annotary.Tool, s Stance, now time.Time) (*Server, error) {
	tools = Firsts(tools)
	srv := &Server{Name: name, byName: make(map[string]*Tool, len(tools))}
	derived := derive.Tools(tools)
	for i := range tools {
		tools[i].Server = name
		t, err := newTool(&tools[i], derived[i], &s, now)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", name, tools[i].Name, err)
		}
		srv.Tools = append(srv.Tools, t)
		srv.byName[t.Name] = t
	}
	return srv, nil
}

// Firsts leaves out of a listing, in place, what has the name of a tool before it:
// what the operator accepts, what is judged and what is shown are then the same.
func Firsts(tools []annotary.Tool) []annotary.Tool {
	seen := make(map[string]bool, len(tools))
	return slices.DeleteFunc(tools, func(t annotary.Tool) bool {
		again := seen[t.Name]
		seen[t.Name] = true
		return again
	})
}

// Tool returns the tool of that name, nil if there is none.
func (s *Server) Tool(name string) *Tool { return s.byName[name] }

func newTool(def *annotary.Tool, derived derive.Claims, s *Stance, now time.Time) (*Tool, error) {
	operator := s.claims(def.Name, now)
	foreign := append(def.Declared(), derived[:]...)
	res, err := annotary.Resolve(annotary.Known{Claims: append(slices.Clone(operator), foreign...), Believed: s.Believe, Confined: s.Confined})
	if err != nil {
		return nil, err
	}
	t := &Tool{
		Entry:      annotary.Entry{Tool: *def, Hints: res.Hints},
		Resolution: res, Derived: derived, Believed: s.Believe,
		ModelVisible: def.ModelVisible(),
		identity:     s.Identity,
		narrow:       s.narrowing(def),
		input:        sync.OnceValues(func() (*shape.Schema, error) { return shape.Compile(def.Input) }),
	}
	if t.Digest, err = strict.Sum(def.Raw); err != nil {
		return nil, err
	}
	if t.Behaviour, err = behaviour(def, &res.Hints, s.Identity); err != nil {
		return nil, err
	}
	t.Shown = Show(def.Raw, &res.Hints)
	t.Scopes = s.scopes(t)
	t.told, t.toldReading = t.tell(&t.Hints), t.tell(&t.reading)
	return t, t.prepare(operator, s)
}

// prepare makes what policies see of the tool: with all claims, and without
// those of a server that is not believed.
func (t *Tool) prepare(operator []annotary.Claim, s *Stance) error {
	about := policy.About{
		Server: t.Server, Name: t.Name, Hints: t.Hints, Believed: s.Believe,
		Confined: s.Confined.NoWrite && s.Confined.NoNetwork,
		UI:       strict.Get(t.Raw, "_meta", "ui") != nil,
	}
	if !s.Believe {
		bare, err := annotary.Resolve(annotary.Known{Claims: operator, Confined: s.Confined})
		if err != nil {
			return err
		}
		about.Unclaimed = &bare.Hints
	}
	t.target = policy.NewTarget(about)
	if len(t.narrow) == 0 {
		return nil
	}
	from := annotary.FromDeclared
	if slices.ContainsFunc(s.Narrow, func(n Narrow) bool { return Match(n.Tools, t.Name) }) {
		from = annotary.FromOperator
	}
	t.reading = asRead(t.Hints, from)
	about.Hints = t.reading
	if about.Unclaimed != nil {
		bare := asRead(*about.Unclaimed, from)
		about.Unclaimed = &bare
	}
	t.narrowed = policy.NewTarget(about)
	return nil
}

// asRead relaxes the three hints that arguments may relax. A call that only
// reads still reaches out, and still carries its arguments there.
func asRead(h annotary.Hints, from annotary.Source) annotary.Hints {
	for _, n := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.Idempotent} {
		h[n] = annotary.Hint{Value: n.Safe(), From: from, Why: "these arguments only read"}
	}
	return h
}

// For returns the hints and the policy target of one call: where a rule is bound
// to the tool and the arguments only read, those of a read.
func (t *Tool) For(args []byte) (annotary.Hints, *policy.Target, string) {
	for _, r := range t.narrow {
		if n := derive.Call(r, args); n.Reads {
			return t.reading, t.narrowed, n.Why
		}
	}
	return t.Hints, t.target, ""
}

// Proposed returns the safe values that were said of the tool and that nobody
// vouches for yet. Where a definition suggests the opposite of what the server
// says, nothing of the tool is proposed, and contradicted says why: accepting in
// bulk must not let a lie pass.
func (t *Tool) Proposed() (claims []annotary.Claim, contradicted string) {
	for _, c := range t.Resolution.Proposals {
		against := t.Derived[c.Hint]
		if c.By == annotary.FromDeclared && against.Value == c.Value.Not() && against.Value != annotary.Unknown {
			return nil, fmt.Sprintf("it says %s is %s, but %s", c.Hint, c.Value, against.Why)
		}
	}
	return t.Resolution.Proposals, ""
}

// Input returns the input schema, nil if the tool has none. An error says that
// it cannot be understood.
func (t *Tool) Input() (*shape.Schema, error) { return t.input() }

// MayRead reports whether some call of the tool only reads: every one, or one
// whose arguments say so.
func (t *Tool) MayRead() bool { return t.Hints.Vouched(annotary.ReadOnly) || len(t.narrow) > 0 }

// Told returns what an entry of the log says of the tool, as it is or when the
// arguments only read. It is made when first needed, and not to be changed.
func (t *Tool) Told(reading bool) *audit.Entry {
	if reading {
		return t.toldReading()
	}
	return t.told()
}

func (t *Tool) tell(h *annotary.Hints) func() *audit.Entry {
	return sync.OnceValue(func() *audit.Entry {
		var e audit.Entry
		e.SetTool(&t.Tool, h)
		e.Definition = t.Digest.String()
		return &e
	})
}

// Target returns what policies see of the tool, whatever the arguments.
func (t *Tool) Target() *policy.Target { return t.target }

// claims are the operator's words on a tool that are in force now. What was said
// and contradicts what is written does not count.
func (s *Stance) claims(tool string, now time.Time) []annotary.Claim {
	written := claimsOf(s.Overrides, tool, now, nil)
	if len(s.Said) == 0 {
		return written
	}
	all := append(slices.Clone(written), claimsOf(s.Said, tool, now, written)...)
	if _, err := annotary.Resolve(annotary.Known{Claims: all}); err != nil {
		return written
	}
	return all
}

// claimsOf are what overrides say of a tool, of hints that others do not speak
// of.
func claimsOf(overrides []Override, tool string, now time.Time, others []annotary.Claim) []annotary.Claim {
	var claims []annotary.Claim
	for _, o := range overrides {
		if !Match(o.Tools, tool) || o.expired(now) {
			continue
		}
		for n := range annotary.HintName(annotary.NumHints) {
			v, ok := o.Hints[n]
			if !ok || slices.ContainsFunc(others, func(c annotary.Claim) bool { return c.Hint == n }) {
				continue
			}
			claims = append(claims, annotary.Claim{
				Hint: n, Value: annotary.ValueOf(v), By: annotary.FromOperator, Evidence: o.Evidence,
				Why: cmp.Or(o.Reason, "the operator says so") + o.where(),
			})
		}
	}
	return claims
}

// Overruled returns the override that keeps something from being said of a tool:
// one that speaks of the same hint, or that it would contradict; nil if it would
// count.
func (s *Stance) Overruled(said *Override, now time.Time) *Override {
	for i := range s.Overrides {
		o := &s.Overrides[i]
		if !Match(o.Tools, said.Tools) || o.expired(now) {
			continue
		}
		for n := range said.Hints {
			if _, spoken := o.Hints[n]; spoken {
				return o
			}
		}
		both := append(claimsOf([]Override{*o}, said.Tools, now, nil), claimsOf([]Override{*said}, said.Tools, now, nil)...)
		if _, err := annotary.Resolve(annotary.Known{Claims: both}); err != nil {
			return o
		}
	}
	return nil
}

func (o *Override) expired(now time.Time) bool { return !o.Expires.IsZero() && !now.Before(o.Expires) }

func (o *Override) where() string {
	if o.At.File == "" {
		return ""
	}
	return " (" + o.At.String() + ")"
}

// narrowing returns the rules bound to a tool. Of a believed server the rules
// that its schema suggests count as bound.
func (s *Stance) narrowing(def *annotary.Tool) []derive.Rule {
	var rules []derive.Rule
	for _, n := range s.Narrow {
		if Match(n.Tools, def.Name) {
			rules = append(rules, n.Rule)
		}
	}
	if len(rules) == 0 && s.Believe {
		return derive.Rules(*def)
	}
	return rules
}

func (s *Stance) scopes(t *Tool) []string {
	var need []string
	for _, r := range s.Scopes {
		if (r.Tools == "" || Match(r.Tools, t.Name)) && (r.Class == nil || *r.Class == t.Hints.Class()) {
			need = append(need, r.Scopes...)
		}
	}
	if s.Believe {
		for _, v := range strict.Elements(strict.Get(t.Raw, "_meta", metaScopes)) {
			if scope, ok := strict.Text(v); ok {
				need = append(need, scope)
			}
		}
	}
	slices.Sort(need)
	return slices.Compact(need)
}

// ServerScopes are what a caller must have for anything of the server.
func (s *Stance) ServerScopes() []string {
	var need []string
	for _, r := range s.Scopes {
		if r.Tools == "" && r.Class == nil {
			need = append(need, r.Scopes...)
		}
	}
	slices.Sort(need)
	return slices.Compact(need)
}

// metaScopes is the _meta key under which a believed server names the scopes a
// tool wants.
const metaScopes = "dev.annotary/scopes"

// Unmatched returns what the stance says of tools that do not exist. A rule that
// silently matches nothing protects nothing.
func (s *Stance) Unmatched(srv *Server) []error {
	var errs []error
	check := func(pattern, what string, at annotary.Position) {
		if pattern == "" || slices.ContainsFunc(srv.Tools, func(t *Tool) bool { return Match(pattern, t.Name) }) {
			return
		}
		errs = append(errs, fmt.Errorf("%s: %s names %s/%s, and no such tool exists", at, what, srv.Name, pattern))
	}
	for _, o := range s.Overrides {
		check(o.Tools, "an override", o.At)
	}
	for _, n := range s.Narrow {
		check(n.Tools, "a narrowing rule", n.At)
	}
	for _, r := range s.Scopes {
		check(r.Tools, "a scope rule", r.At)
	}
	return errs
}

// Match reports whether a name fits a pattern, in which * stands for anything.
func Match(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}
