package derive

import (
	"strconv"
	"strings"
)

// A slot says where in a definition a word was found.
type slot uint8

const (
	slotBias      slot = iota
	slotKind           // what the verb of the name does, and where it stands
	slotVerb           // that verb
	slotAlso           // what further verbs of the name do
	slotShape          // how the name is built
	slotTitle          // what the verb of the title does
	slotParam          // the name of a parameter
	slotParamWord      // a word of a parameter's name
	slotRole           // what a parameter is for
	slotParams         // how many parameters, how many required
	slotMode           // what the values of an action parameter do
	slotServer         // what the rest of the server does
	slotLead           // the verb the description begins with
	slotLeadKind       // what it does
	slotAgree          // the kinds of name and description together
	slotJoined         // what further verbs of the first sentence do
	slotLater          // what the verbs that begin later sentences do
	slotProse          // any word of the description
	slotPhrase         // a telling phrase of the description
	numSlots
)

var slotNames = [numSlots]string{
	"bias", "kind", "verb", "also", "shape", "title", "param", "paramword", "role", "params", "mode",
	"server", "lead", "leadkind", "agree", "joined", "later", "prose", "phrase",
}

// prose reports whether the slot is filled from the description, which is not
// enough to call a tool read-only.
func (s slot) prose() bool { return s >= slotLead }

// A feature is one thing seen in a definition.
type feature struct {
	slot slot
	word string
}

// features returns what the model weighs.
func (r *reading) features() []feature {
	fs := make([]feature, 0, 48+len(r.prose.words))
	say := func(s slot, w string) { fs = append(fs, feature{s, w}) }
	say(slotBias, "")
	r.nameFeatures(say)
	r.schemaFeatures(say)
	say(slotServer, "share"+strconv.Itoa(int(r.server.reads*4.99)))
	r.proseFeatures(say)
	return dedupe(fs)
}

func dedupe(fs []feature) []feature {
	seen := make(map[feature]bool, len(fs))
	out := fs[:0]
	for _, f := range fs {
		if !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	return out
}

func (r *reading) nameFeatures(say func(slot, string)) {
	say(slotKind, kindNames[r.kind]+r.place())
	say(slotKind, kindNames[r.kind])
	if r.verb != "" {
		say(slotVerb, r.verb)
	}
	for i, w := range r.words {
		if i != r.at || r.verb == "" {
			if v := verbOf(w); v.rank == firm {
				say(slotAlso, kindNames[v.kind])
			}
		}
	}
	if n := len(r.words); n > 0 {
		if r.verb == "" && strings.HasSuffix(r.words[n-1], "s") {
			say(slotShape, "plural")
		}
		say(slotShape, "words"+strconv.Itoa(min(n, 5)))
	}
	if r.titleVerb != "" {
		say(slotTitle, kindNames[verbOf(r.titleVerb).kind])
		say(slotTitle, r.titleVerb)
	}
}

// place says where the name has its verb.
func (r *reading) place() string {
	switch {
	case r.verb == "":
		return ""
	case r.at == 0:
		return "/first"
	case r.at == len(r.words)-1:
		return "/last"
	default:
		return "/middle"
	}
}

func (r *reading) schemaFeatures(say func(slot, string)) {
	required, top := 0, 0
	for _, p := range r.params {
		say(slotParam, p.joined())
		if role := p.role(); role != noRole {
			say(slotRole, roleNames[role])
			if p.required {
				say(slotRole, "required "+roleNames[role])
			}
		}
		for _, w := range p.words {
			say(slotParamWord, w)
		}
		if !p.nested {
			top++
			if p.required {
				required++
			}
		}
	}
	say(slotParams, "params"+strconv.Itoa(min(top, 8)))
	say(slotParams, "required"+strconv.Itoa(min(required, 4)))
	reads, writes := r.modesDo()
	switch {
	case reads && writes:
		say(slotMode, "mixed")
	case writes:
		say(slotMode, "writes")
	case reads:
		say(slotMode, "reads")
	}
}

// maxWeighed bounds how many words of a description are weighed one by one.
const maxWeighed = 60

func (r *reading) proseFeatures(say func(slot, string)) {
	leadKind := verbOf(r.prose.lead).kind
	say(slotLeadKind, kindNames[leadKind])
	say(slotAgree, kindNames[r.kind]+"+"+kindNames[leadKind])
	if r.prose.lead != "" {
		say(slotLead, r.prose.lead)
	}
	for _, v := range r.prose.verbs {
		say(slotJoined, kindNames[verbOf(v).kind])
	}
	for _, v := range r.prose.later {
		say(slotLater, kindNames[verbOf(v).kind])
	}
	for _, w := range r.prose.words[:min(maxWeighed, len(r.prose.words))] {
		if _, isVerb := base(w); isVerb || plain[w] {
			say(slotProse, w)
		}
	}
	for i := range r.prose.words[:max(0, len(r.prose.words)-1)] {
		if says := telltale[[2]string(r.prose.words[i:i+2])]; says != "" {
			say(slotPhrase, says)
		}
	}
}

// telltale pairs of words say outright whether a tool changes something.
var telltale = makeTelltale(map[string]string{
	"assures": "does not|not modify|not change|not alter|not write|without modifying|without changing|without saving|" +
		"without sending|read only|no side|side-effect free|never modifies|never writes|only reads|not mutate|no changes|" +
		"nothing is|never changes|without executing|without applying|not create|not send|not save|not execute",
	"warns": "write tool|write operation|not read-only|side effects|side effect|be undone|destructive operation|" +
		"will overwrite|crud operations|and mutations|marks as|mark as|will create|will delete|will send|will update",
})

func makeTelltale(table map[string]string) map[[2]string]string {
	pairs := map[[2]string]string{}
	for what, list := range table {
		for pair := range strings.SplitSeq(list, "|") {
			first, second, _ := strings.Cut(pair, " ")
			pairs[[2]string{first, second}] = what
		}
	}
	return pairs
}

// plain words carry no topic, so that a weight on them cannot mean one.
var plain = wordSet("a an the this that these those it its if when whether which who what how why where while as at by for " +
	"from in into of on onto to with without within via per and or but not no never only also just more most less all " +
	"any each every both either one two first last next new existing current previous specific specified given exact " +
	"full complete detailed available optional optionally required requires require must can cannot may might should will " +
	"would does do is are was were be been being has have had you your user use used useful using before after once " +
	"instead already still then than between across including include includes based such e.g example permanently " +
	"irreversible irreversibly undone destructive read-only readonly safe caution warning important confirm confirmation " +
	"approval note idempotent returned returning return results result containing contains related matching similar " +
	"recent latest real-time named known multiple single several there here now default created updated deleted removed " +
	"sent saved added modified changed applied started executed")
