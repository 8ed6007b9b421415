package lint

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// An Op is one operation of a JSON Patch (RFC 6902).
type Op struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// A Repair is what [Fix] proposes for one tool.
type Repair struct {
	Tool  string
	Index int
	// Title is the tool's title after the repair.
	Title string
	// Hints are what the tool states after the repair, by hint of the
	// specification; Unknown stays unsaid.
	Hints [4]annotary.Value
	// Assumed are the hints of which the definition shows nothing, and for
	// which the repair takes the pessimistic value.
	Assumed []annotary.HintName
	// Ops change the definition; their paths begin at the definition.
	Ops []Op
}

// Fix returns the repairs that leave no finding of a fixable rule. What the
// definition shows is used; of what it does not show, the worst is assumed and
// named under [MetaAssumed]. A tool that needs no repair has none.
func Fix(tools []annotary.Tool, o Options) []Repair {
	l := newList(tools, o.Profile)
	var repairs []Repair
	for i := range l.passes {
		r := l.passes[i].repair()
		if len(r.Ops) > 0 {
			repairs = append(repairs, r)
		}
	}
	return repairs
}

// repair settles the tool's hints and title and writes down the changes.
func (p *pass) repair() Repair {
	r := Repair{Tool: p.Name, Index: p.index}
	p.settle(&r)
	p.entitle(&r)
	p.patchAnnotations(&r)
	p.patchTitle(&r)
	for _, s := range slices.Concat(p.misspelt, p.misplaced) {
		r.Ops = append(r.Ops, Op{Op: "remove", Path: s.at})
	}
	p.patchAssumed(&r)
	return r
}

// settle decides every hint the tool should state.
func (p *pass) settle(r *Repair) {
	for _, n := range specHints {
		r.Hints[n] = p.intended(n)
	}
	said := r.Hints != [len(specHints)]annotary.Value{}
	p.settleReadOnly(r)
	for _, n := range specHints[1:] {
		p.settleHint(r, n, said)
	}
	destructive := &r.Hints[annotary.Destructive]
	if p.list.profile == Anthropic && r.Hints[annotary.ReadOnly] != annotary.Yes && *destructive == annotary.No {
		*destructive = annotary.Yes // see modify-not-destructive
	}
}

// intended returns the value the author wrote, if only under a wrong name or
// in a wrong place.
func (p *pass) intended(n annotary.HintName) annotary.Value {
	if v := p.Stated[n].Value(); v != annotary.Unknown {
		return v
	}
	for _, s := range slices.Concat(p.misspelt, p.misplaced) {
		switch kind := strict.KindOf(s.raw); {
		case s.hint != n:
		case kind == strict.True:
			return annotary.Yes
		case kind == strict.False:
			return annotary.No
		}
	}
	return annotary.Unknown
}

// settleReadOnly comes first: what the other hints mean depends on it.
func (p *pass) settleReadOnly(r *Repair) {
	v := &r.Hints[annotary.ReadOnly]
	switch {
	case *v == annotary.Yes && p.against(annotary.ReadOnly) >= annotary.ContradictionConfidence:
		*v = annotary.No
	case *v == annotary.Unknown && r.Hints[annotary.Destructive] == annotary.Yes:
		*v = annotary.No
	case *v == annotary.Unknown:
		p.fill(r, annotary.ReadOnly)
	}
	if *v == annotary.Yes && r.Hints[annotary.Destructive] == annotary.Yes {
		*v = annotary.No
		r.Assumed = append(r.Assumed, annotary.ReadOnly)
	}
}

// settleHint decides one of the other three.
func (p *pass) settleHint(r *Repair, n annotary.HintName, said bool) {
	v := &r.Hints[n]
	reads := r.Hints[annotary.ReadOnly] == annotary.Yes
	follows := reads && (n == annotary.Destructive || n == annotary.Idempotent)
	wanted := !said || p.unreadable(n) || slices.Contains(demanded(p.list.profile, r.Hints[annotary.ReadOnly]), n)
	switch {
	case *v == n.Safe() && !follows && p.against(n) >= annotary.ContradictionConfidence:
		*v = n.Dangerous()
	case *v != annotary.Unknown:
	case wanted && follows:
		*v = n.Safe()
	case wanted:
		p.fill(r, n)
	case n == annotary.Idempotent && !reads && p.repeatable():
		*v = annotary.Yes // see idempotent-unstated
	}
}

// unreadable reports whether the hint is there but says nothing.
func (p *pass) unreadable(n annotary.HintName) bool {
	return p.Stated[n] == annotary.StatedNull || p.Stated[n] == annotary.StatedWrongType
}

// fillConfidence is how sure a derived claim must be to propose the safe value
// to an author, who reads the proposal.
const fillConfidence = 0.8

// shows returns what the definition shows of a hint: the dangerous value on
// any evidence, the safe one only on good evidence.
func (p *pass) shows(n annotary.HintName) annotary.Value {
	c := p.claims[n]
	if c.Value == n.Safe() && c.Confidence < fillConfidence {
		return annotary.Unknown
	}
	return c.Value
}

// fill gives the hint what the definition shows, else the pessimistic value.
func (p *pass) fill(r *Repair, n annotary.HintName) {
	r.Hints[n] = p.shows(n)
	if r.Hints[n] == annotary.Unknown {
		r.Hints[n] = n.Dangerous()
		r.Assumed = append(r.Assumed, n)
	}
}

func (p *pass) entitle(r *Repair) {
	r.Title = p.Title
	if p.Title == "" || p.Title == p.Name {
		r.Title = humanise(p.Name)
	}
}

// patchAnnotations writes the hints, and the title where it belongs to them.
func (p *pass) patchAnnotations(r *Repair) {
	annotations := strict.Get(p.Raw, "annotations")
	var members []Op
	if p.wantsInnerTitle(r) {
		members = append(members, set(annotations, "/annotations/", "title", strict.Quote(r.Title)))
	}
	for _, n := range specHints {
		if v := r.Hints[n]; v != annotary.Unknown && v != p.Stated[n].Value() {
			members = append(members, set(annotations, "/annotations/", n.Wire(), []byte(v.String())))
		}
	}
	if strict.KindOf(annotations) == strict.Object || len(members) == 0 {
		r.Ops = append(r.Ops, members...)
		return
	}
	whole := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(append(whole, strict.Quote(m.Path[len("/annotations/"):])...), ':')
		whole = append(whole, m.Value...)
	}
	r.Ops = append(r.Ops, set(p.Raw, "/", "annotations", append(whole, '}')))
}

// wantsInnerTitle reports whether annotations must carry the title: where the
// tool has none, where it has only its name there, or where the profile looks
// nowhere else.
func (p *pass) wantsInnerTitle(r *Repair) bool {
	inner := p.innerTitle()
	top, _ := strict.Text(strict.Get(p.Raw, "title"))
	return (top == "" && inner != r.Title) || (p.list.profile == Anthropic && inner == "")
}

// patchTitle mends a top-level title that is only the name.
func (p *pass) patchTitle(r *Repair) {
	if top, _ := strict.Text(strict.Get(p.Raw, "title")); top != "" && top != r.Title {
		r.Ops = append(r.Ops, set(p.Raw, "/", "title", strict.Quote(r.Title)))
	}
}

// patchAssumed names what was assumed, beside what earlier repairs assumed.
func (p *pass) patchAssumed(r *Repair) {
	if len(r.Assumed) == 0 {
		return
	}
	var names []string
	for _, raw := range strict.Elements(strict.Get(p.Raw, "_meta", MetaAssumed)) {
		if s, ok := strict.Text(raw); ok {
			names = append(names, s)
		}
	}
	for _, n := range r.Assumed {
		if !slices.Contains(names, n.Wire()) {
			names = append(names, n.Wire())
		}
	}
	list := []byte{'['}
	for i, name := range names {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, strict.Quote(name)...)
	}
	list = append(list, ']')
	if meta := strict.Get(p.Raw, "_meta"); strict.KindOf(meta) == strict.Object {
		r.Ops = append(r.Ops, set(meta, "/_meta/", MetaAssumed, list))
		return
	}
	whole := append(append([]byte("{"), strict.Quote(MetaAssumed)...), ':')
	whole = append(append(whole, list...), '}')
	r.Ops = append(r.Ops, set(p.Raw, "/", "_meta", whole))
}

// set gives a member of an object a value, whether or not it has one.
func set(object []byte, at, name string, value []byte) Op {
	op := "add"
	if strict.Get(object, name) != nil {
		op = "replace"
	}
	return Op{Op: op, Path: at + strict.EscapePointer(name), Value: value}
}

// Patch joins repairs into one JSON Patch against the document whose list of
// tools is at the given JSON Pointer.
func Patch(repairs []Repair, list string) []Op {
	patch := []Op{}
	for _, r := range repairs {
		for _, op := range r.Ops {
			op.Path = list + "/" + strconv.Itoa(r.Index) + op.Path
			patch = append(patch, op)
		}
	}
	return patch
}
