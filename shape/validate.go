package shape

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Both sides of a validation may be a stranger's. These bound what one may cost:
// a schema can ask for exponential work in few bytes.
const (
	maxSteps = 4_000_000
	maxDepth = 1_000
)

// ErrCostly is the cause of an error where a value could not be held against
// its schema within bounds. It says nothing about the value.
var ErrCostly = errors.New("checking it against the schema would cost too much")

// A Violation is the cause of an error where a value does not keep to its
// schema.
type Violation struct {
	At      string // JSON Pointer of what is wrong; empty for the whole value
	Problem string
}

// Error says what is wrong, and where.
func (v *Violation) Error() string {
	if v.At == "" {
		return v.Problem
	}
	return v.At + ": " + v.Problem
}

func violated(format string, args ...any) error {
	return &Violation{Problem: fmt.Sprintf(format, args...)}
}

// within says of a violation that it is in the member or element of that name.
func within(name string, err error) error {
	if v, ok := errors.AsType[*Violation](err); ok {
		return &Violation{"/" + strict.EscapePointer(name) + v.At, v.Problem}
	}
	return err
}

// Validate reports whether the JSON value keeps to the schema; if not, the cause
// of the error is a [*Violation] or [ErrCostly]. Formats are not checked, nor
// patterns that Go's regexp cannot read.
func (s *Schema) Validate(value []byte) error {
	if s == nil {
		return nil
	}
	if err := strict.Check(value, strict.Limits{}); err != nil {
		return annotary.E(annotary.CodeInvalid, "the value cannot be read: "+err.Error(), err)
	}
	return s.validate(parse(value))
}

func (s *Schema) validate(n *node) error {
	if s == nil {
		return nil
	}
	var v validator
	if err := v.check(s.root, n, 0); err != nil {
		return annotary.E(annotary.CodeInvalid, "the value does not keep to the schema: "+err.Error(), err)
	}
	return nil
}

type validator struct{ steps int }

func (v *validator) check(r *rule, n *node, depth int) error {
	if v.steps++; v.steps > maxSteps || depth > maxDepth {
		return ErrCostly
	}
	if r.never {
		return violated("is not allowed here")
	}
	if err := v.checkKind(r, n); err != nil {
		return err
	}
	if err := v.checkSame(r, n, depth+1); err != nil {
		return err
	}
	switch n.kind {
	case strict.Object:
		return v.checkObject(r, n, depth+1)
	case strict.Array:
		return v.checkArray(r, n, depth+1)
	case strict.String:
		return v.checkString(r, n)
	case strict.Number:
		return checkNumber(r, n)
	default:
		return nil
	}
}

// spend counts work that grows with the size of a value.
func (v *validator) spend(size int) error {
	if v.steps += size / stepBytes; v.steps > maxSteps {
		return ErrCostly
	}
	return nil
}

// stepBytes is how many bytes are compared or matched for the price of a step.
const stepBytes = 4

func (v *validator) checkKind(r *rule, n *node) error {
	if r.types != nil && !slices.ContainsFunc(r.types, func(t string) bool { return isType(t, n) }) {
		return violated("is a %s, not %s", n.kind, strings.Join(r.types, " or "))
	}
	for _, allowed := range r.enums {
		if err := v.spend(n.size); err != nil {
			return err
		}
		canonical, err := strict.Canonical(n.json())
		if err != nil || !allowed[string(canonical)] {
			return violated("is none of the values allowed")
		}
	}
	return nil
}

func isType(t string, n *node) bool {
	switch n.kind {
	case strict.True, strict.False:
		return t == "boolean"
	case strict.Number:
		return t == "number" || (t == "integer" && isInteger(n.raw))
	default:
		return t == n.kind.String()
	}
}

// checkSame checks the rules that hold for the same value.
func (v *validator) checkSame(r *rule, n *node, depth int) error {
	for _, same := range append([]*rule{r.ref}, r.all...) {
		if same != nil {
			if err := v.check(same, n, depth); err != nil {
				return err
			}
		}
	}
	if len(r.any) > 0 {
		if err := v.checkChoice(r.any, n, depth, 1, len(r.any)); err != nil {
			return err
		}
	}
	if len(r.one) > 0 {
		if err := v.checkChoice(r.one, n, depth, 1, 1); err != nil {
			return err
		}
	}
	if r.not != nil {
		if err := v.checkChoice([]*rule{r.not}, n, depth, 0, 0); err != nil {
			return err
		}
	}
	return v.checkCondition(r, n, depth)
}

// checkChoice demands that between least and most of the rules hold.
func (v *validator) checkChoice(rules []*rule, n *node, depth, least, most int) error {
	held := 0
	for _, choice := range rules {
		err := v.check(choice, n, depth)
		if errors.Is(err, ErrCostly) {
			return err
		}
		if err == nil {
			held++
		}
	}
	if held < least || held > most {
		return violated("keeps to %d of the alternatives", held)
	}
	return nil
}

func (v *validator) checkCondition(r *rule, n *node, depth int) error {
	if r.cond == nil {
		return nil
	}
	branch := r.then
	if err := v.check(r.cond, n, depth); errors.Is(err, ErrCostly) {
		return err
	} else if err != nil {
		branch = r.orElse
	}
	if branch == nil {
		return nil
	}
	return v.check(branch, n, depth)
}

func (v *validator) checkObject(r *rule, n *node, depth int) error {
	if len(n.names) < r.minProps || (r.maxProps >= 0 && len(n.names) > r.maxProps) {
		return violated("has %d members", len(n.names))
	}
	// Each name is looked at, held against the patterns, and looked for.
	if err := v.spend(len(n.names) * (1 + len(r.patterns) + len(r.required))); err != nil {
		return err
	}
	for _, name := range r.required {
		if n.get(name) == nil {
			return violated("lacks %q", name)
		}
	}
	for i, name := range n.names {
		if err := v.checkMember(r, n, i, depth); err != nil {
			return within(name, err)
		}
	}
	return nil
}

func (v *validator) checkMember(r *rule, n *node, i, depth int) error {
	name := n.names[i]
	if r.propNames != nil {
		if err := v.check(r.propNames, text(name), depth); err != nil {
			return err
		}
	}
	needs := r.dependent[name]
	if err := v.spend(len(needs) * len(n.names)); err != nil {
		return err
	}
	for _, need := range needs {
		if n.get(need) == nil {
			return violated("needs %q beside it", need)
		}
	}
	if when := r.whenPresent[name]; when != nil {
		if err := v.check(when, n, depth); err != nil {
			return err
		}
	}
	for _, member := range r.member(name) {
		if err := v.check(member, n.kids[i], depth); err != nil {
			return err
		}
	}
	return nil
}

// member returns the rules for the value of a member, with additional ones
// where no other speaks.
func (r *rule) member(name string) []*rule {
	rules := r.declared(name)
	if len(rules) == 0 && r.additional != nil {
		rules = append(rules, r.additional)
	}
	return rules
}

// declared returns the rules that name the member.
func (r *rule) declared(name string) []*rule {
	var rules []*rule
	if p := r.props[name]; p != nil {
		rules = append(rules, p)
	}
	for _, p := range r.patterns {
		if p.re.MatchString(name) {
			rules = append(rules, p.rule)
		}
	}
	return rules
}

// element returns the rule for an element, nil if none holds.
func (r *rule) element(i int) *rule {
	if i < len(r.prefix) {
		return r.prefix[i]
	}
	return r.items
}

func (v *validator) checkArray(r *rule, n *node, depth int) error {
	if len(n.kids) < r.minItems || (r.maxItems >= 0 && len(n.kids) > r.maxItems) {
		return violated("has %d items", len(n.kids))
	}
	if err := v.spend(len(n.kids)); err != nil {
		return err
	}
	for i, kid := range n.kids {
		if er := r.element(i); er != nil {
			if err := v.check(er, kid, depth); err != nil {
				return within(strconv.Itoa(i), err)
			}
		}
	}
	if r.unique {
		if err := v.spend(n.size); err != nil {
			return err
		}
		if !distinct(n.kids) {
			return violated("has the same item twice")
		}
	}
	return v.checkContains(r, n, depth)
}

func (v *validator) checkContains(r *rule, n *node, depth int) error {
	if r.contains == nil {
		return nil
	}
	held := 0
	for _, kid := range n.kids {
		err := v.check(r.contains, kid, depth)
		if errors.Is(err, ErrCostly) {
			return err
		}
		if err == nil {
			held++
		}
	}
	if held < r.minContains || (r.maxContains >= 0 && held > r.maxContains) {
		return violated("has %d items of the kind it must contain", held)
	}
	return nil
}

func distinct(nodes []*node) bool {
	seen := map[string]bool{}
	for _, n := range nodes {
		canonical, err := strict.Canonical(n.json())
		if err != nil || seen[string(canonical)] {
			return false
		}
		seen[string(canonical)] = true
	}
	return true
}

func (v *validator) checkString(r *rule, n *node) error {
	if r.minLength == 0 && r.maxLength < 0 && r.pattern == nil {
		return nil
	}
	if err := v.spend(n.size); err != nil {
		return err
	}
	s, _ := strict.Text(n.raw)
	if length := utf8.RuneCountInString(s); length < r.minLength || (r.maxLength >= 0 && length > r.maxLength) {
		return violated("is %d characters long", length)
	}
	if r.pattern != nil && !r.pattern.MatchString(s) {
		return violated("does not have the form demanded")
	}
	return nil
}

// A bound is one numeric demand.
type bound struct {
	keyword string
	limit   *big.Rat
}

func (b bound) holds(x *big.Rat) bool {
	switch order := x.Cmp(b.limit); b.keyword {
	case "minimum":
		return order >= 0
	case "maximum":
		return order <= 0
	case "exclusiveMinimum":
		return order > 0
	case "exclusiveMaximum":
		return order < 0
	default:
		return new(big.Rat).Quo(x, b.limit).IsInt()
	}
}

func checkNumber(r *rule, n *node) error {
	if len(r.bounds) == 0 {
		return nil
	}
	x, ok := rational(n.raw)
	if !ok {
		return ErrCostly
	}
	for _, b := range r.bounds {
		if !b.holds(x) {
			return violated("breaks %s %s", b.keyword, b.limit.RatString())
		}
	}
	return nil
}

// rational reads a number exactly. Numbers whose exponent would fill the memory
// are refused.
func rational(raw []byte) (*big.Rat, bool) {
	s := string(raw)
	if strict.KindOf(raw) != strict.Number || len(s) > 1_000 {
		return nil, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if e, err := strconv.Atoi(exponent); err != nil || e > 1_000 || e < -1_000 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(strings.TrimSpace(s))
}

// isInteger reports whether the number has no fraction: 1, 1.0 and 10e-1 have
// none.
func isInteger(raw []byte) bool {
	canonical, err := strict.Canonical(raw)
	return err == nil && !strings.Contains(string(canonical), "e-")
}
