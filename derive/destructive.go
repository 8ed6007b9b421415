package derive

import (
	"slices"

	"github.com/annotary/annotary"
)

// judgeDestructive says whether a tool that is not read-only may delete,
// overwrite or do what cannot be taken back. Seeds and spec agree on deleting;
// where authors differ (sending, running, steering) the careful side is taken.
func (r *reading) judgeDestructive() verdict {
	for _, rule := range destructiveRules {
		if why := rule.holds(r); why != "" {
			return verdict{annotary.Yes, rule.confidence, why}
		}
	}
	switch r.kind {
	case noKind:
		return verdict{why: "nothing says what it changes"}
	case add:
		return verdict{annotary.No, 0.8, r.nameSays() + " and leaves what is there"}
	case put:
		return verdict{annotary.No, 0.6, r.nameSays() + ", which can be set back"}
	default:
		return verdict{annotary.No, 0.55, r.nameSays() + ", and nothing says that it deletes or overwrites"}
	}
}

type destructiveRule struct {
	confidence float64
	holds      func(*reading) string // why, or ""
}

// destructiveRules are tried in order; the first that holds decides.
var destructiveRules = []destructiveRule{
	{0.97, (*reading).deletes},
	{0.85, (*reading).takesAway},
	{0.85, (*reading).mayDelete},
	{0.85, (*reading).executesGiven},
	{0.65, (*reading).wantsAssent},
	{0.75, (*reading).admitsLoss},
	{0.7, (*reading).cannotBeRecalled},
	{0.7, (*reading).sweeps},
	{0.65, (*reading).mayCommit},
	{0.6, (*reading).catchesAll},
	{0.7, (*reading).overwrites},
	{0.6, (*reading).steers},
}

// unmistakable verbs mean deletion and nothing else.
var unmistakable = wordSet("delete destroy drop wipe erase truncate")

func (r *reading) deletes() string {
	if unmistakable[r.verb] && !verbOf(r.prose.lead).kind.reads() && r.lasts(r.verb) {
		return r.nameSays()
	}
	return ""
}

func (r *reading) takesAway() string {
	if r.kind == destroy {
		return r.nameSays()
	}
	if verbOf(r.joined).kind == destroy {
		return "its name joins the verb '" + r.joined + "', which " + deeds[destroy]
	}
	for _, w := range r.words {
		if (unmistakable[w] || w == "trash") && r.kind.writes() {
			return "its name has the word '" + w + "'"
		}
	}
	return ""
}

func (r *reading) mayDelete() string {
	if v := r.modes[destroy]; v != "" {
		return "one of the actions it can be told is '" + v + "'"
	}
	return ""
}

func (r *reading) executesGiven() string {
	for _, p := range r.params {
		given := p.role() == code && (r.kind == run || r.kind == noKind && p.joined() != "code")
		given = given || p.role() == question && r.hasWord(wordsLanguage) && (r.kind == run || r.kind == noKind)
		if given {
			return "it executes what it is given as '" + p.name + "'"
		}
	}
	return ""
}

func (r *reading) wantsAssent() string {
	for _, p := range r.params {
		if p.role() == assent {
			return "its parameter '" + p.name + "' asks whether the caller means it"
		}
	}
	return ""
}

// wordsLanguage are languages in which a query can write.
var wordsLanguage = wordSet("sql graphql cypher mysql postgres sqlite")

// losses are words by which a description admits that something is lost.
var losses = wordSet("permanently irreversible irreversibly irrevocably undone unrecoverable destructive")

func (r *reading) admitsLoss() string {
	for _, v := range slices.Concat(r.prose.later, r.prose.also) {
		if verbOf(v).kind == destroy && plainStates[v] {
			return "its description also states that it does '" + v + "'"
		}
	}
	for i, w := range r.prose.words {
		if losses[w] && (i == 0 || r.prose.words[i-1] != "not" && r.prose.words[i-1] != "non") {
			return "its description says '" + w + "'"
		}
	}
	return ""
}

var (
	// tells are verbs that put words before a person.
	tells = wordSet("send post email mail message sms reply forward tweet broadcast notify announce")
	// words that are sent to people.
	messages = wordSet("email emails mail message messages sms text dm tweet notification notifications invitation " +
		"reminder reply newsletter letter fax")
	// wordsMoney are things whose making moves money.
	wordsMoney = wordSet("charge payment payout transfer refund withdrawal purchase checkout donation")
	// wordsDeals are things whose making may, where it is not a draft.
	wordsDeals = wordSet("order orders trade bid")
	// spends are verbs that move money.
	spends = wordSet("pay charge buy purchase sell withdraw donate refund tip redeem")
)

func (r *reading) cannotBeRecalled() string {
	switch {
	case spends[r.verb], r.kind == send && r.movesMoney(), r.kind == add && r.hasRole(money) && r.hasWord(wordsMoney):
		return r.nameSays() + ", and money that was moved is gone"
	case r.verb == "deploy" || r.verb == "redeploy":
		return r.nameSays() + " in place of what ran before"
	case tells[r.verb] && (r.verb != "post" && r.hasRole(recipient) || r.hasWord(messages)):
		return r.nameSays() + ", and what was sent cannot be taken back"
	}
	return ""
}

// mayCommit says of making a deal that it may be binding: an order at an exchange
// is, one in a shop may still be a basket.
func (r *reading) mayCommit() string {
	if r.kind == add && r.hasRole(money) && r.hasWord(wordsDeals) {
		return r.nameSays() + ", and a deal may bind once it is made"
	}
	return ""
}

// movesMoney reports whether the tool is told how much to move. A currency or a
// price may only be told of.
func (r *reading) movesMoney() bool {
	return slices.ContainsFunc(r.params, func(p param) bool {
		return p.role() == money && !p.nested && p.joined() != "currency" && p.joined() != "price"
	})
}

func (r *reading) sweeps() string {
	switch {
	case r.hasWord(wordsBulk) && (r.kind == change || r.kind == put) && r.verb != "mark":
		return r.nameSays() + " in bulk"
	case r.verb == "migrate" && r.hasWord(wordsStore):
		return r.nameSays() + " that everything else stands on"
	case r.verb == "close" && r.hasWord(wordsAccount):
		return "a closed account stays closed"
	}
	return ""
}

var (
	wordsBulk    = wordSet("bulk mass")
	wordsStore   = wordSet("database db schema data migrations")
	wordsAccount = wordSet("account accounts")
)

func (r *reading) catchesAll() string {
	switch r.verb {
	case "manage", "management", "operations", "manager":
		return "it stands for several actions, and nothing says that deleting is not one"
	}
	return ""
}

func (r *reading) overwrites() string {
	switch {
	case r.joined == "replace":
		return "its name joins the verb 'replace', and what was there before is gone"
	case r.verb == "overwrite" || r.verb == "replace" || r.verb == "rotate":
		return r.nameSays() + ", and what was there before is gone"
	case r.verb == "write" && r.has("path", "file_path", "filename", "file") && r.has("content", "contents", "text", "data", "body"):
		return "writing a file overwrites what was in it"
	}
	return ""
}

func (r *reading) steers() string {
	switch {
	case r.kind == steer && r.verb != "select":
		return r.nameSays() + ", and a click can do anything"
	case r.server.steers && !r.kind.reads() && r.kind != produce:
		return "its server drives a user interface, where a change can do anything"
	}
	return ""
}

// has reports whether the tool takes a parameter of one of these names.
func (r *reading) has(names ...string) bool {
	return slices.ContainsFunc(r.params, func(p param) bool { return slices.Contains(names, p.joined()) })
}

func (r *reading) hasRole(want role) bool { return r.paramOf(want) != "" }

func (r *reading) hasWord(set map[string]bool) bool { return r.firstWord(set) != "" }

// nameSays tells what the verb of the name is and does.
func (r *reading) nameSays() string {
	where := "has"
	switch {
	case r.at == 0:
		where = "begins with"
	case r.at == len(r.words)-1:
		where = "ends with"
	}
	word := "verb"
	if rank := verbOf(r.verb).rank; rank == ending || rank == agent {
		word = "word"
	}
	return "its name " + where + " the " + word + " '" + r.verb + "', which " + deeds[r.kind]
}
