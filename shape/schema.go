package shape

import (
	"fmt"
	"iter"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// A Schema is an input or output schema, read once. A nil *Schema declares nothing.
type Schema struct {
	root *rule
}

// A rule is one schema of the document: what it demands of a value, and which
// other rules hold for the same value or for what is inside it.
type rule struct {
	never bool // the schema false
	types []string
	enums []map[string]bool // canonical forms; the value is in each

	// for the same value
	ref           *rule
	all, any, one []*rule
	not           *rule
	cond          *rule
	then, orElse  *rule

	// objects
	props       map[string]*rule
	patterns    []patternRule
	additional  *rule
	propNames   *rule
	required    []string
	dependent   map[string][]string
	needed      map[string]bool // what required and dependentRequired name
	whenPresent map[string]*rule
	minProps    int
	maxProps    int

	// arrays
	prefix      []*rule
	items       *rule
	contains    *rule
	minContains int
	maxContains int
	minItems    int
	maxItems    int
	unique      bool

	// strings and numbers
	minLength int
	maxLength int
	pattern   *regexp.Regexp
	verbatim  bool // a pattern, format or encoding that a cut would break
	bounds    []bound
}

type patternRule struct {
	re   *regexp.Regexp
	rule *rule
}

// Compile reads a schema (JSON Schema 2020-12 or draft-07). References
// are followed inside the document only. Keywords that would need more than the
// value at hand ($dynamicRef, unevaluatedProperties, unevaluatedItems) are
// refused rather than misread. No bytes make a nil Schema.
func Compile(raw []byte) (*Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := strict.Check(raw, strict.Limits{Bytes: maxSchema}); err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "the schema cannot be read: "+err.Error(), err)
	}
	c := compiler{doc: raw, done: map[string]*rule{}, referred: map[string]*rule{}}
	draft, _ := strict.Text(strict.Get(raw, "$schema"))
	c.draft7 = strings.Contains(draft, "draft-07")
	root := c.rule("", raw)
	if c.err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "the schema cannot be understood: "+c.err.Error(), c.err)
	}
	return &Schema{root: root}, nil
}

// maxSchema is the largest schema read; real ones are a hundred times smaller.
const maxSchema = 4 << 20

// maxPatterns is how many patterns of member names one schema may have: each is
// tried on every name.
const maxPatterns = 64

func count[K, V any](seq iter.Seq2[K, V]) int {
	n := 0
	for range seq {
		n++
	}
	return n
}

// A compiler turns a document into rules. Each place is read once, so that a
// schema which refers to itself becomes a graph.
type compiler struct {
	doc      strict.Raw
	done     map[string]*rule // by JSON Pointer
	referred map[string]*rule // by reference
	looked   int
	draft7   bool // the document asks for the older draft, in which $ref silences its neighbours
	err      error
}

func (c *compiler) fail(at, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at %q: "+format, append([]any{at}, args...)...)
	}
}

// rule returns the rule at the JSON Pointer, whose schema is raw.
func (c *compiler) rule(pointer string, raw strict.Raw) *rule {
	if r, ok := c.done[pointer]; ok || c.err != nil {
		return r
	}
	r := &rule{maxProps: -1, maxItems: -1, maxLength: -1, maxContains: -1, minContains: 1}
	c.done[pointer] = r
	switch strict.KindOf(raw) {
	case strict.True:
	case strict.False:
		r.never = true
	case strict.Object:
		for name, value := range strict.Members(raw) {
			c.keyword(r, pointer, name, value)
		}
		c.older(r, pointer, raw)
	default:
		c.fail(pointer, "a schema is an object or a boolean")
	}
	return r
}

// older reads what keywords of older drafts, which servers still send, do to
// their neighbours.
func (c *compiler) older(r *rule, at string, raw strict.Raw) {
	if rest := strict.Get(raw, "additionalItems"); rest != nil && strict.KindOf(strict.Get(raw, "items")) == strict.Array {
		r.items = c.rule(at+"/additionalItems", rest)
	}
	for i, b := range r.bounds { // in draft-04 exclusiveMinimum and -Maximum are booleans
		if exclusive := exclusives[b.keyword]; exclusive != "" && strict.KindOf(strict.Get(raw, exclusive)) == strict.True {
			r.bounds[i].keyword = exclusive
		}
	}
	if strict.KindOf(strict.Get(raw, "$ref")) == strict.String && c.draft7 {
		*r = rule{ref: r.ref, maxProps: -1, maxItems: -1, maxLength: -1, maxContains: -1, minContains: 1}
	}
}

var exclusives = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

func (c *compiler) keyword(r *rule, at, name string, v strict.Raw) {
	below := at + "/" + strict.EscapePointer(name)
	switch name {
	case "$ref":
		r.ref = c.refer(at, v)
	case "$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems":
		c.fail(at, "%s is not supported", name)
	case "type", "enum", "const":
		c.kindOf(r, name, v)
	case "allOf":
		r.all = c.each(below, v)
	case "anyOf":
		r.any = c.each(below, v)
	case "oneOf":
		r.one = c.each(below, v)
	case "not":
		r.not = c.rule(below, v)
	case "if":
		r.cond = c.rule(below, v)
	case "then":
		r.then = c.rule(below, v)
	case "else":
		r.orElse = c.rule(below, v)
	default:
		c.objectKeyword(r, at, name, v)
	}
}

func (c *compiler) objectKeyword(r *rule, at, name string, v strict.Raw) {
	below := at + "/" + strict.EscapePointer(name)
	switch name {
	case "properties":
		r.props = c.named(below, v)
	case "patternProperties":
		if count(strict.Members(v)) > maxPatterns {
			c.fail(below, "more than %d patterns", maxPatterns)
			return
		}
		for pattern, schema := range strict.Members(v) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				c.fail(below, "a pattern of member names cannot be read")
				return
			}
			r.patterns = append(r.patterns, patternRule{re, c.rule(below+"/"+strict.EscapePointer(pattern), schema)})
		}
	case "additionalProperties":
		r.additional = c.rule(below, v)
	case "propertyNames":
		r.propNames = c.rule(below, v)
	case "required":
		r.required = texts(v)
		r.need(r.required)
	case "dependentRequired":
		r.dependent = map[string][]string{}
		for member, needs := range strict.Members(v) {
			r.dependent[member] = texts(needs)
			r.need(r.dependent[member])
		}
	case "dependentSchemas":
		r.whenPresent = c.named(below, v)
	case "minProperties":
		r.minProps = c.number(below, v)
	case "maxProperties":
		r.maxProps = c.number(below, v)
	default:
		c.arrayKeyword(r, at, name, v)
	}
}

// need notes members whose presence the rule may demand.
func (r *rule) need(names []string) {
	if r.needed == nil {
		r.needed = map[string]bool{}
	}
	for _, name := range names {
		r.needed[name] = true
	}
}

func (c *compiler) arrayKeyword(r *rule, at, name string, v strict.Raw) {
	below := at + "/" + strict.EscapePointer(name)
	switch name {
	case "prefixItems":
		r.prefix = c.each(below, v)
	case "items":
		if strict.KindOf(v) == strict.Array { // draft-07
			r.prefix = c.each(below, v)
		} else {
			r.items = c.rule(below, v)
		}
	case "contains":
		r.contains = c.rule(below, v)
	case "minContains":
		r.minContains = c.number(below, v)
	case "maxContains":
		r.maxContains = c.number(below, v)
	case "minItems":
		r.minItems = c.number(below, v)
	case "maxItems":
		r.maxItems = c.number(below, v)
	case "uniqueItems":
		r.unique = strict.KindOf(v) == strict.True
	default:
		c.scalarKeyword(r, at, name, v)
	}
}

func (c *compiler) scalarKeyword(r *rule, at, name string, v strict.Raw) {
	below := at + "/" + strict.EscapePointer(name)
	switch name {
	case "minLength":
		r.minLength = c.number(below, v)
	case "maxLength":
		r.maxLength = c.number(below, v)
	case "pattern":
		// A pattern Go cannot read is not checked, and the string not cut.
		s, _ := strict.Text(v)
		r.pattern, _ = regexp.Compile(s)
		r.verbatim = true
	case "format", "contentEncoding", "contentMediaType":
		r.verbatim = true
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		c.bound(r, below, name, v)
	}
}

// bound reads a numeric demand.
func (c *compiler) bound(r *rule, at, name string, v strict.Raw) {
	if kind := strict.KindOf(v); strings.HasPrefix(name, "exclusive") && (kind == strict.True || kind == strict.False) {
		return // draft-04: older reads it
	}
	limit, ok := rational(v)
	if !ok || (name == "multipleOf" && limit.Sign() <= 0) {
		c.fail(at, "not a number that can bound")
		return
	}
	r.bounds = append(r.bounds, bound{name, limit})
}

// kindOf reads the keywords that name the value or its type.
func (c *compiler) kindOf(r *rule, name string, v strict.Raw) {
	switch {
	case name == "type" && strict.KindOf(v) == strict.String:
		s, _ := strict.Text(v)
		r.types = []string{s}
	case name == "type":
		r.types = texts(v)
	case name == "const":
		r.enums = append(r.enums, canonicals(v))
	default:
		var values []strict.Raw
		for _, e := range strict.Elements(v) {
			values = append(values, e)
		}
		r.enums = append(r.enums, canonicals(values...))
	}
}

func canonicals(values ...strict.Raw) map[string]bool {
	set := map[string]bool{}
	for _, v := range values {
		if canonical, err := strict.Canonical(v); err == nil {
			set[string(canonical)] = true
		}
	}
	return set
}

func (c *compiler) each(at string, v strict.Raw) []*rule {
	var rules []*rule
	for i, schema := range strict.Elements(v) {
		rules = append(rules, c.rule(at+"/"+strconv.Itoa(i), schema))
	}
	return rules
}

func (c *compiler) named(at string, v strict.Raw) map[string]*rule {
	rules := map[string]*rule{}
	for name, schema := range strict.Members(v) {
		rules[name] = c.rule(at+"/"+strict.EscapePointer(name), schema)
	}
	return rules
}

// maxLooked is how many bytes of the document are searched for what references
// name. Schemas come from strangers, and each new reference is a search.
const maxLooked = 256 << 20

// refer follows a reference inside the document, by pointer or by anchor.
func (c *compiler) refer(at string, v strict.Raw) *rule {
	s, ok := strict.Text(v)
	if r := c.referred[s]; r != nil {
		return r
	}
	if c.looked += len(c.doc); c.looked > maxLooked {
		c.fail(at, "there are too many references to follow")
		return nil
	}
	fragment, isLocal := strings.CutPrefix(s, "#")
	if !ok || !isLocal {
		c.fail(at, "the reference %q leaves the document", s)
		return nil
	}
	pointer, err := url.PathUnescape(fragment)
	if err == nil && pointer != "" && pointer[0] != '/' {
		pointer, ok = c.anchor("", c.doc, pointer)
	}
	target := strict.At(c.doc, pointer)
	if err != nil || !ok || target == nil {
		c.fail(at, "the reference %q points nowhere", s)
		return nil
	}
	r := c.rule(pointer, target)
	c.referred[s] = r
	return r
}

// anchor finds the schema that calls itself name.
func (c *compiler) anchor(at string, raw strict.Raw, name string) (string, bool) {
	if s, _ := strict.Text(strict.Get(raw, "$anchor")); s == name {
		return at, true
	}
	for member, v := range strict.Members(raw) {
		if found, ok := c.anchor(at+"/"+strict.EscapePointer(member), v, name); ok {
			return found, true
		}
	}
	for i, v := range strict.Elements(raw) {
		if found, ok := c.anchor(at+"/"+strconv.Itoa(i), v, name); ok {
			return found, true
		}
	}
	return "", false
}

func (c *compiler) number(at string, v strict.Raw) int {
	limit, ok := rational(v)
	if !ok || limit.Sign() < 0 || !limit.IsInt() || limit.Cmp(big.NewRat(1<<31, 1)) > 0 {
		c.fail(at, "not a count")
		return 0
	}
	return int(limit.Num().Int64())
}

func texts(v strict.Raw) []string {
	list := []string{}
	for _, e := range strict.Elements(v) {
		if s, ok := strict.Text(e); ok {
			list = append(list, s)
		}
	}
	return list
}
