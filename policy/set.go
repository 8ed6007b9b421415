package policy

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Schema is the Cedar schema all policies are checked against.
//
//go:embed schema.cedarschema
var Schema string

// A File is Cedar text and the name it is known by.
type File struct {
	Name string
	Text string
}

// Options say what a Set is made of.
type Options struct {
	// Rules are the short rules; nil means none.
	Rules *annotary.Rules
	// Profiles have rules of their own, which hold for their members instead.
	Profiles map[string]annotary.Rules
	// Files are the operator's own policies.
	Files []File
	// Fleet selects the shipped approval rules for many users, where a
	// destructive call needs a second person. If false, those of one user.
	Fleet bool
}

// A Set is compiled policies, ready to decide. It does not change; a reload
// makes a new one. The zero Set denies everything.
type Set struct {
	policies []*compiled
	byID     map[types.PolicyID]*compiled
	index    map[Action]*index
	hides    bool // some policy can hide a tool by name of the action see
	timed    bool // some policy could ask for the time of a call
	argued   bool // some policy could ask for its arguments
	text     string
	digest   strict.Digest
	name     string // the digest, as text
	warnings []Warning
}

// A Warning is something the operator should look at that does not stop a load.
type Warning struct {
	At   annotary.Position
	Text string
}

// A compiled is one policy, prepared.
type compiled struct {
	id              string
	at              annotary.Position
	policy          *cedar.Policy
	asked           *cedar.Policy // the policy on any action: the index knows the action
	scopeOnly       *cedar.Policy // the same without its conditions
	mentionsContext bool
	asksTime        bool // the time of the call could matter
	asksArguments   bool // what its arguments say could
	mayFail         bool // it reads an argument that a call may lack
	reason          annotary.Reason
}

func (p *compiled) forbids() bool { return p.policy.Effect() == types.Forbid }

// New compiles a set. The error names every mistake with its file and line.
func New(o Options) (*Set, error) {
	checker, err := newChecker()
	if err != nil {
		return nil, err
	}
	s := &Set{byID: map[types.PolicyID]*compiled{}, index: map[Action]*index{}}
	var mistakes []error
	for _, f := range append(shipped(o), o.Files...) {
		list, err := cedar.NewPolicyListFromBytes(f.Name, []byte(f.Text))
		if err != nil {
			mistakes = append(mistakes, misread(f.Name, err))
			continue
		}
		for _, p := range list {
			c := compile(p)
			warning, err := checker.check(c)
			if err != nil {
				mistakes = append(mistakes, err)
			}
			if c.mayFail = warning != nil; warning != nil {
				s.warnings = append(s.warnings, *warning)
			}
			s.policies = append(s.policies, c)
		}
		s.text += "// " + f.Name + "\n" + strings.TrimSpace(f.Text) + "\n\n"
	}
	mistakes = append(mistakes, s.nameAll()...)
	if err := errors.Join(mistakes...); err != nil {
		return nil, annotary.E(annotary.CodeConfig, err.Error(), err).
			WithHint("'annotary policy show --schema' prints what policies can see")
	}
	s.digest = sha256.Sum256([]byte(s.text)) // every record names it
	s.name = s.digest.String()
	s.build()
	return s, nil
}

// place is how the parser says where in its input it stopped.
var place = regexp.MustCompile(`^(?:parser error: )?(?:parse error at )?<input>:(\d+):(\d+):? ?`)

// misread is the error of a file that is no Cedar text, with its line.
func misread(file string, err error) error {
	at := place.FindStringSubmatch(err.Error())
	if at == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	why := err.Error()[len(at[0]):]
	if found := expected.FindStringSubmatch(why); found != nil {
		why = fmt.Sprintf("expected %q, found %q", found[2], found[1])
		if found[1] == "" {
			why = fmt.Sprintf("expected %q, and there is no more", found[2])
		}
	}
	return fmt.Errorf("%s:%s: this is no Cedar text, at column %s: %s", file, at[1], at[2], why)
}

// expected is how the parser says what it wanted in place of what it found.
var expected = regexp.MustCompile(`^".*": exact got (.*) want (.*)$`)

// Text returns all policies as Cedar text, the compiled short rules too.
func (s *Set) Text() string { return s.text }

// Warnings returns what the operator should look at.
func (s *Set) Warnings() []Warning { return s.warnings }

// Name is the digest as text.
func (s *Set) Name() string { return s.name }

// Digest names the set: what was decided can be told by what it was decided.
func (s *Set) Digest() strict.Digest { return s.digest }

func compile(p *cedar.Policy) *compiled {
	pos := p.Position()
	c := &compiled{policy: p, at: annotary.Position{File: pos.Filename, Line: pos.Line}}
	notes := p.Annotations()
	c.id = string(notes["id"])
	if c.id == "" {
		c.id = c.at.String()
	}
	tree := ast.Policy(*p.AST())
	c.look(tree.Conditions)
	tree.Action = ast.ScopeTypeAll{}
	asked := tree
	c.asked = policyFromTree(&asked)
	tree.Conditions = nil
	c.scopeOnly = policyFromTree(&tree)
	c.reason = annotary.Reason{
		Code: annotary.CodePolicy, Rule: c.id, At: c.at,
		Text: string(notes["reason"]), Hint: string(notes["hint"]), Ask: askOf(string(notes["ask"])),
		Version: versionOf(p),
	}
	if code := notes["code"]; code != "" {
		c.reason.Code = annotary.Code(code)
	}
	if c.reason.Text == "" {
		c.reason.Text = "the policy " + c.id
	}
	return c
}

// versionOf digests what a policy says, however it is laid out.
func versionOf(p *cedar.Policy) string {
	sum := sha256.Sum256(p.MarshalCedar())
	return hex.EncodeToString(sum[:8])
}

// look finds out what of the context the conditions could read. A context that
// is used as a whole could be asked for anything.
func (p *compiled) look(conditions []ast.ConditionType) {
	mentioned, known := 0, 0
	member := func(op ast.StrOpNode) {
		if v, ok := op.Arg.(ast.NodeTypeVariable); ok && v.Name == "context" {
			known++
			p.asksTime = p.asksTime || op.Value == "now"
			p.asksArguments = p.asksArguments || op.Value == "args" || op.Value == "ints"
		}
	}
	for _, cond := range conditions {
		ast.Inspect(ast.NewNode(cond.Body), func(n ast.IsNode) bool {
			switch n := n.(type) {
			case ast.NodeTypeVariable:
				if n.Name == "context" {
					mentioned++
				}
			case ast.NodeTypeAccess:
				member(n.StrOpNode)
			case ast.NodeTypeHas:
				member(n.StrOpNode)
			}
			return true
		})
	}
	p.mentionsContext = mentioned > 0
	if mentioned != known {
		p.asksTime, p.asksArguments = true, true
	}
}

// askOf reads the @ask annotation. A forbid(unattended) without one asks each
// time.
func askOf(s string) annotary.Verdict {
	switch s {
	case "once":
		return annotary.VerdictAskOnce
	case "outside":
		return annotary.VerdictAskOutside
	default:
		return annotary.VerdictAsk
	}
}

// nameAll files the policies by id and complains of ids used twice.
func (s *Set) nameAll() []error {
	var errs []error
	for _, p := range s.policies {
		if other, ok := s.byID[types.PolicyID(p.id)]; ok {
			errs = append(errs, fmt.Errorf("%s: the id %q is taken by %s", p.at, p.id, other.at))
		}
		s.byID[types.PolicyID(p.id)] = p
	}
	return errs
}

// A checker holds policies against the schema.
type checker struct{ validator *validate.Validator }

func newChecker() (*checker, error) {
	var s schema.Schema
	if err := s.UnmarshalCedar([]byte(Schema)); err != nil {
		return nil, fmt.Errorf("reading our own schema: %w", err)
	}
	resolved, err := s.Resolve()
	if err != nil {
		return nil, fmt.Errorf("resolving our own schema: %w", err)
	}
	return &checker{validate.New(resolved)}, nil
}

// check validates one policy. Reading a tag without asking for it first is no
// mistake of type: it fails when the argument is missing, and then the call is
// refused. That may be meant, so it is a warning.
func (c *checker) check(p *compiled) (*Warning, error) {
	tree := ast.Policy(*p.policy.AST())
	err := c.validator.Policy("", &tree)
	if err == nil {
		return nil, nil
	}
	found := slices.Compact(strings.Split(err.Error(), "\n"))
	wrong := func(text string) bool { return !strings.Contains(text, "unable to guarantee safety of access to tag") }
	if !slices.ContainsFunc(found, wrong) {
		return &Warning{p.at, "a call without this argument is refused as policy_error: " + strings.Join(found, "; ")}, nil
	}
	return nil, fmt.Errorf("%s: %s", p.at, strings.Join(found, "\n"+p.at.String()+": "))
}
