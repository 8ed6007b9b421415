package derive

import (
	"math"
	"slices"
	"strings"

	"github.com/annotary/annotary"
)

const (
	// readOnlyFrom is the probability from which a tool is called read-only,
	// set where few that write are (see docs/derivation.md).
	readOnlyFrom = 0.7
	// readOnlyFromUnclear is the same where the verb may well keep or start
	// something: scan, generate, export.
	readOnlyFromUnclear = 0.8
	// ownFrom is the probability that all but the description must give: a
	// description may confirm, not convince. Where the name has no verb it
	// must be likelier than not.
	ownFrom       = 0.4
	ownFromNoVerb = 0.5
	// writesBelow is the probability below which a tool is said to write.
	writesBelow = 0.4
)

// A verdict is the answer for one hint.
type verdict struct {
	value      annotary.Value
	confidence float64
	why        string
}

// judgeReadOnly decides the hint on which the others stand. What plainly
// writes is vetoed; what is left is weighed.
func (r *reading) judgeReadOnly(m model) verdict {
	if v := r.veto(); v.why != "" {
		return v
	}
	sc := m.score(r.features())
	from, own := r.bars()
	reads := r.speaksForReading()
	switch {
	case sc.p >= from && sc.own >= own && reads != "":
		if verbOf(r.prose.lead).kind.reads() && r.verb != "" {
			reads += ", and its description agrees"
		}
		return verdict{annotary.Yes, rounded(min(sc.p, 0.99)), reads}
	case sc.p < writesBelow:
		return verdict{annotary.No, rounded(min(1-sc.p, unsure)), r.speaksForWriting(sc.con)}
	case sc.p >= from && verbOf(r.prose.lead).kind.reads():
		return verdict{annotary.Unknown, 0, "its description says that it reads, and a description alone is not enough"}
	default:
		return verdict{annotary.Unknown, 0, r.leavesOpen()}
	}
}

// rounded keeps two digits: more would say more than is known.
func rounded(p float64) float64 { return math.Round(100*p) / 100 }

// bars returns what the probability of reading must reach, with and without
// the description.
func (r *reading) bars() (from, own float64) {
	from, own = readOnlyFrom, ownFrom
	if r.kind == probe || r.kind == produce {
		from = readOnlyFromUnclear
	}
	if r.verb == "" {
		own = ownFromNoVerb
	}
	return from, own
}

// unsure is the most confidence that weighing alone can give a dangerous
// value: below what contradicts a server.
const unsure = annotary.ContradictionConfidence - 0.01

// veto returns why a tool is not read-only whatever else speaks for it. Its
// reason is empty if there is no such thing.
func (r *reading) veto() verdict {
	verb := verbOf(r.verb)
	if value := r.writingMode(); value != "" {
		does := splitName(value)[0]
		good := plainWrites[does] && !verb.kind.reads() && r.lasts(does)
		return verdict{annotary.No, sure(true, good), "one of the actions it can be told is '" + value + "'"}
	}
	if j := verbOf(r.joined); j.kind.writes() {
		return verdict{annotary.No, 0.85, "its name joins the verb '" + r.joined + "', which " + deeds[j.kind]}
	}
	if verb.kind.quiet() && r.kind.writes() {
		return verdict{annotary.No, 0.8, r.nameSays()}
	}
	if verb.kind.writes() && (verb.rank == firm || r.at == mannerOf(r.words) && sureAtFirst[r.verb]) {
		lead := verbOf(r.prose.lead).kind
		agrees := r.prose.direct && lead == verb.kind || len(r.prose.words) == 0
		return verdict{annotary.No, sure(agrees || lead.writes(), plainWrites[r.verb] && agrees && r.lasts(r.verb)), r.nameSays()}
	}
	if why := r.executesGiven(); why != "" {
		return verdict{annotary.No, 0.8, why}
	}
	if why := r.vetoByParams(); why != "" {
		return verdict{annotary.No, 0.8, why}
	}
	return r.vetoByProse()
}

// vetoByParams returns which parameter only something that writes would take,
// or "".
func (r *reading) vetoByParams() string {
	for _, p := range r.params {
		switch {
		case p.role() == callback:
			return "its parameter '" + p.name + "' says that it starts something which reports later"
		case p.role() == keeping && !p.nested:
			return "its parameter '" + p.name + "' is about what it writes"
		case p.role() == output && p.required && !p.nested && r.makes() && p.local():
			return "it is told by '" + p.name + "' where to put what it makes"
		}
	}
	return ""
}

// makes reports whether the tool makes something that can be put somewhere.
func (r *reading) makes() bool { return r.kind == compute || r.kind == produce || r.kind == noKind }

// vetoByProse lets a description speak against reading.
func (r *reading) vetoByProse() verdict {
	for _, v := range slices.Concat(r.prose.later, r.prose.also) {
		if plainStates[v] {
			return verdict{annotary.No, 0.8, "its description also states that it does '" + v + "', which " + deeds[verbOf(v).kind]}
		}
	}
	switch lead := verbOf(r.prose.lead); {
	case lead.kind.writes() && lead.kind != run && r.verb == "":
		return verdict{annotary.No, 0.7, "its description begins with the verb '" + r.prose.lead + "', which " + deeds[lead.kind]}
	case lead.rank != firm:
	case lead.kind == add, lead.kind == put, lead.kind == destroy, lead.kind == send, lead.kind == steer:
		return verdict{annotary.No, 0.8, "its description begins with the verb '" + r.prose.lead + "', which " + deeds[lead.kind]}
	}
	return verdict{}
}

var (
	// plainWrites are verbs nobody uses for reading.
	plainWrites = wordSet("create update delete destroy drop purge wipe erase truncate remove insert send publish upload " +
		"rename cancel clear edit write save upsert overwrite modify")
	// plainStates are verbs by which a sentence says that something is changed.
	plainStates = wordSet("create delete destroy drop purge wipe erase truncate remove insert send publish upload rename " +
		"cancel clear write save upsert overwrite modify mark register trigger start add update edit")
)

// sure returns how sure a verb of writing makes: less than a doubt where only the
// name has it, as much as a contradiction where the evidence is that good.
func sure(agreed, good bool) float64 {
	switch {
	case good:
		return 0.96
	case agreed:
		return 0.85
	}
	return 0.8
}

// writingMode returns a value of an action parameter that writes.
func (r *reading) writingMode() string {
	for k := add; k < numKinds; k++ {
		if r.modes[k] != "" {
			return r.modes[k]
		}
	}
	return ""
}

// speaksForReading returns what, beside the description, says that the tool
// reads, or "".
func (r *reading) speaksForReading() string {
	if r.kind.quiet() && r.verb != "" {
		return r.nameSays()
	}
	if reads, _ := r.modesDo(); reads {
		return "every action it can be told reads"
	}
	if verbOf(r.titleVerb).kind.reads() {
		return "its title has the verb '" + r.titleVerb + "', which " + deeds[verbOf(r.titleVerb).kind]
	}
	if r.verb == "" && r.beginsLikeProse() {
		return ""
	}
	for _, p := range r.params {
		if p.role().asks() {
			return "it changes nothing by its name, and its parameter '" + p.name + "' narrows an answer"
		}
	}
	if r.server.reads >= 0.6 {
		return "it changes nothing by its name, and most tools of its server read"
	}
	if last := r.lastWord(); r.verb == "" && isThing(last) && r.takesNothingToKeep() {
		return "its name has no verb ('" + last + "' is a thing), and it takes nothing to keep or to send"
	}
	return ""
}

// isThing reports whether a word that is no known verb does not look like one.
func isThing(word string) bool {
	for _, ending := range []string{"ate", "ize", "ise", "ify", "en"} {
		if strings.HasSuffix(word, ending) {
			return false
		}
	}
	return len(word) > 2
}

// beginsLikeProse reports whether the description begins with a form of a word
// of the name (dim_lamp, "Dims the lamp"): a verb, though none we know.
func (r *reading) beginsLikeProse() bool {
	if len(r.words) == 0 || r.prose.opening == "" {
		return false
	}
	if len(r.words) > 1 && r.prose.opening == r.words[0] {
		return true
	}
	return r.prose.acts && slices.ContainsFunc(r.words, func(w string) bool {
		return r.prose.opening == w+"s" || r.prose.opening == w+"es"
	})
}

// takesNothingToKeep reports whether the tool has parameters and none of them
// is something it could keep, execute or send.
func (r *reading) takesNothingToKeep() bool {
	for _, p := range r.params {
		if p.role().keeps() {
			return false
		}
	}
	return len(r.params) > 0
}

func (r *reading) lastWord() string {
	if len(r.words) == 0 {
		return ""
	}
	return r.words[len(r.words)-1]
}

func (r *reading) speaksForWriting(con feature) string {
	if r.kind.writes() {
		return r.nameSays()
	}
	switch {
	case con.slot == slotParam || con.slot == slotParamWord:
		return "its parameter '" + con.word + "' is what writing tools take"
	case con.slot == slotRole:
		return "it takes " + roleDeeds[roleOf(con.word)]
	case con.slot.prose():
		return "its description reads like that of a tool that changes something"
	}
	return "nothing in its name says that it only reads"
}

func (r *reading) leavesOpen() string {
	if r.kind == noKind {
		return "its name has no verb that says what it does"
	}
	return "its name has the verb '" + r.verb + "', which may or may not change something"
}
