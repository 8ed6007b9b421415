package lint

import (
	"fmt"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// MetaAssumed is the _meta key under which [Fix] names the hints it had to
// assume, so that a person knows where to look.
const MetaAssumed = "dev.annotary/assumed"

// specHints are the four hints of the specification.
var specHints = [...]annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.Idempotent, annotary.OpenWorld}

const (
	anthropicHints = "Anthropic's directory policy (section 5.E) wants all applicable annotations on every tool, " +
		"readOnlyHint, destructiveHint and title first of all"
	openaiHints = "OpenAI's app submission wants readOnlyHint, destructiveHint and openWorldHint set to true or " +
		"false on every tool, never null, each with a justification"
)

var hintRules = []Rule{
	{
		ID: "annotations-missing", Severity: at(Warning, Error, Error, Error), Fixable: true,
		Demand: "Every tool says what it does to the world, app-only helpers too; without hints clients assume the worst.",
		Vendor: map[Profile]string{Anthropic: anthropicHints, OpenAI: openaiHints},
		tool:   annotationsMissing,
	},
	{
		ID: "hint-missing", Severity: at(Warning, Error, Error, Error), Fixable: true,
		Demand: "The hints clients gate on are said: readOnlyHint at least, under strict all four.",
		Vendor: map[Profile]string{Anthropic: anthropicHints, OpenAI: openaiHints},
		tool:   hintMissing,
	},
	{
		ID: "hint-null", Severity: always(Error), Fixable: true,
		Demand: "A hint is true or false; the specification's schema has no null, and clients read it differently.",
		Vendor: map[Profile]string{OpenAI: openaiHints},
		tool:   hintNull,
	},
	{
		ID: "hint-wrong-type", Severity: always(Error), Fixable: true,
		Demand: "A hint is a JSON boolean, not a string or a number.",
		tool:   hintWrongType,
	},
	{
		ID: "hint-misspelt", Severity: always(Error), Fixable: true,
		Demand: "A hint's name is spelt as the specification spells it; clients ignore any other spelling.",
		tool:   hintMisspelt,
	},
	{
		ID: "hint-misplaced", Severity: always(Error), Fixable: true,
		Demand: "Hints are members of annotations; clients look nowhere else.",
		tool:   hintMisplaced,
	},
	{
		ID: "hint-assumed", Severity: always(Note),
		Demand: "A hint that was assumed by a fix is looked at by a person.",
		tool:   hintAssumed,
	},
}

// annotated reports whether the tool states any hint of the specification, if
// only as null.
func (p *pass) annotated() bool {
	for _, n := range specHints {
		if p.Stated[n] != annotary.StatedAbsent {
			return true
		}
	}
	return false
}

// strays reports whether a hint is written where or how no client reads it.
// Then that is the finding, and not that the hint is missing.
func (p *pass) strays() bool { return len(p.misspelt)+len(p.misplaced) > 0 }

func annotationsMissing(p *pass) []Finding {
	if p.annotated() || p.strays() {
		return nil
	}
	f := Finding{At: "/annotations", Message: "states no hint at all", Fix: "state what the tool does in its annotations"}
	if !p.ModelVisible() {
		f.Message = "is hidden from the model and states no hint at all"
	}
	return one(f)
}

// demanded returns the hints a profile wants said, given what a tool says of
// reading only.
func demanded(profile Profile, readOnly annotary.Value) []annotary.HintName {
	switch {
	case profile == OpenAI:
		return []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.OpenWorld}
	case profile == Strict:
		return specHints[:]
	case profile == Anthropic && readOnly != annotary.Yes:
		return []annotary.HintName{annotary.ReadOnly, annotary.Destructive}
	default:
		return []annotary.HintName{annotary.ReadOnly}
	}
}

func hintMissing(p *pass) []Finding {
	if !p.annotated() || p.strays() {
		return nil
	}
	var missing []string
	for _, n := range demanded(p.list.profile, p.Stated[annotary.ReadOnly].Value()) {
		if p.Stated[n] == annotary.StatedAbsent {
			missing = append(missing, n.Wire())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, ", ")
	return one(Finding{At: "/annotations", Message: "does not state " + names, Fix: "set " + names + " to true or false"})
}

func hintNull(p *pass) []Finding { return p.hintsThatAre(annotary.StatedNull, "is null") }

func hintWrongType(p *pass) []Finding {
	return p.hintsThatAre(annotary.StatedWrongType, "is not a boolean")
}

func (p *pass) hintsThatAre(state annotary.Stated, what string) []Finding {
	var all []Finding
	for _, n := range specHints {
		if p.Stated[n] == state {
			all = append(all, Finding{
				At: "/annotations/" + n.Wire(), Message: n.Wire() + " " + what,
				Evidence: fmt.Sprintf("%s: %s", n.Wire(), short(strict.Get(p.Raw, "annotations", n.Wire()))),
				Fix:      "set " + n.Wire() + " to true or false",
			})
		}
	}
	return all
}

// A stray is a hint written where or how no client reads it.
type stray struct {
	at   string // JSON Pointer in the definition
	name string
	hint annotary.HintName
	raw  []byte
}

func hintMisspelt(p *pass) []Finding {
	return strayFindings(p.misspelt, "is not a name clients know")
}

func hintMisplaced(p *pass) []Finding {
	return strayFindings(p.misplaced, "is not where clients look")
}

func strayFindings(strays []stray, what string) []Finding {
	var all []Finding
	for _, s := range strays {
		all = append(all, Finding{
			At: s.at, Message: s.name + " " + what, Evidence: fmt.Sprintf("%s: %s", s.at, short(s.raw)),
			Fix: "write it as annotations." + s.hint.Wire(),
		})
	}
	return all
}

// misspeltIn returns the members of annotations that mean a hint in another
// spelling, such as read_only_hint or readOnly.
func misspeltIn(definition []byte) []stray {
	var all []stray
	for name, raw := range strict.Members(strict.Get(definition, "annotations")) {
		if n, ok := hintOf(strings.TrimSuffix(fold(name), "hint") + "hint"); ok && name != n.Wire() {
			all = append(all, stray{"/annotations/" + strict.EscapePointer(name), name, n, raw})
		}
	}
	return all
}

// misplacedIn returns the hints beside annotations, or in _meta.
func misplacedIn(definition []byte) []stray {
	var all []stray
	for _, at := range []string{"", "/_meta"} {
		for name, raw := range strict.Members(strict.At(definition, at)) {
			if n, ok := hintOf(fold(name)); ok {
				all = append(all, stray{at + "/" + strict.EscapePointer(name), name, n, raw})
			}
		}
	}
	return all
}

// hintOf returns the hint whose folded name this is.
func hintOf(folded string) (annotary.HintName, bool) {
	for _, n := range specHints {
		if folded == strings.ToLower(n.Wire()) {
			return n, true
		}
	}
	return 0, false
}

// fold makes spellings of one name equal: read_only_hint, readonlyHint.
func fold(s string) string { return strings.ToLower(separators.Replace(s)) }

var separators = strings.NewReplacer("_", "", "-", "")

func hintAssumed(p *pass) []Finding {
	var names []string
	for _, raw := range strict.Elements(strict.Get(p.Raw, "_meta", MetaAssumed)) {
		if name, ok := strict.Text(raw); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := strings.Join(names, ", ")
	return one(Finding{
		At: "/_meta/" + strict.EscapePointer(MetaAssumed), Message: "was fixed with the worst assumed for " + list,
		Fix: "check " + list + ", then remove " + MetaAssumed + " from _meta",
	})
}
