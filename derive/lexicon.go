package derive

import "strings"

// A kind is what a verb does to the world.
type kind uint8

const (
	noKind  kind = iota
	look         // reads and shows
	probe        // examines; most examinations leave things as they are
	compute      // works something out from its arguments
	produce      // makes an output, which may be kept somewhere
	add          // makes something new beside what is there
	put          // sets something to a stated value
	change       // alters something in another way
	destroy      // deletes, ends or takes away
	send         // tells or gives something to somebody
	run          // executes what it is given, or starts something
	steer        // drives a user interface
	numKinds
)

var kindNames = [numKinds]string{
	"none", "look", "probe", "compute", "produce", "add", "put", "change", "destroy", "send", "run", "steer",
}

// deeds says in words what each kind does, for reasons.
var deeds = [numKinds]string{
	"says nothing", "looks something up", "examines something", "works something out", "produces something",
	"adds something", "sets something", "changes something", "deletes or ends something", "sends something",
	"runs something", "drives a user interface",
}

// reads reports whether the kind leaves the world as it was.
func (k kind) reads() bool { return k == look || k == probe || k == compute }

// quiet reports whether the kind by itself does not write.
func (k kind) quiet() bool { return k < add }

// writes reports whether the kind changes the world.
func (k kind) writes() bool { return k >= add }

// A rank says where in a name a word counts as its action.
type rank uint8

const (
	noRank  rank = iota
	loose        // a noun as often (comment, order): where nothing better stands
	ending       // a noun for what is asked (status, stats): at the end
	agent        // a noun for who does it (reader, updater): at the end
	leading      // a verb at the beginning, elsewhere a noun (set, check)
	firm         // a verb wherever it stands
)

// A verb is an entry of the lexicon.
type verb struct {
	kind kind
	rank rank
}

// An entry lists the verbs of one kind, by rank.
type entry struct{ firm, leading, agent, ending, loose string }

// The lexicon: what the common verbs of tool names do. A word is here for what
// it means in English, not for how often some server uses it.
//
//nolint:misspell // names are spelt in both ways
var lexicon = makeLexicon([numKinds]entry{
	look: {
		firm: "get list search find fetch read retrieve lookup describe browse enumerate discover explore show peek " +
			"introspect autocomplete whoami grep glob ls cat locate obtain explain suggest recommend ask consult recall " +
			"gather collect return query see inspect compare identify determine validate verify detect lint measure",
		leading: "view count stat tail head filter sort display poll match watch help what where who check can diff",
		agent:   "reader viewer finder explorer searcher checker validator inspector",
		ending: "status info information detail details stats statistics summary overview history logs metrics analytics " +
			"schema docs documentation guide guidelines reference instructions version health balance balances insights " +
			"usage availability weather ranking rankings price prices leaderboard trends results suggestions " +
			"recommendations examples capabilities metadata",
		loose: "research lists trace state size contents performance totals quota",
	},
	probe: {
		firm:   "analyze analyse diagnose examine assess investigate scan observe understand interpret",
		agent:  "analyzer",
		ending: "analysis diagnostics comparison",
		loose:  "test audit review monitor debug profile benchmark probe ping",
	},
	compute: {
		firm: "calculate compute estimate forecast predict simulate convert translate encode decode parse extract classify " +
			"geocode tokenize normalize transform transcribe embed solve summarize summarise deduplicate decompile " +
			"intersect aggregate interpolate",
		leading: "format think hash reason echo",
		agent:   "calculator converter estimator",
		ending:  "calculation conversion",
		loose:   "quote score rank plan rate",
	},
	produce: {
		firm:    "generate render download scrape crawl capture synthesize visualize draw",
		leading: "print preview dump wait",
		agent:   "generator",
		loose:   "export screenshot snapshot report draft design sample",
	},
	add: {
		firm: "create add insert append upload register clone duplicate write enqueue ingest attach bookmark subscribe " +
			"join provision onboard enroll mint scaffold initialize initialise init bootstrap compose remember " +
			"replicate seed save store favorite favourite prescribe mkdir touch cp unzip untar",
		leading: "new react",
		agent:   "creator writer",
		loose: "post comment log record track fork copy book schedule reserve build push stage stash commit star follow " +
			"like vote tag label pin link backup note issue file mock import",
	},
	put: {
		firm: "update upsert put edit modify rename assign unassign configure enable disable toggle activate deactivate " +
			"overwrite replace adjust mute unmute lock unlock promote demote reorder resize mark unmark annotate reassign " +
			"disarm acknowledge silence chmod chown",
		leading: "set patch change customize scale arm",
		agent:   "updater editor",
	},
	change: {
		firm: "move merge archive unarchive restore approve accept reject decline resolve reopen complete uncomplete finish " +
			"migrate apply sync synchronize refresh rebase rotate retry pause resume start stop restart connect " +
			"disconnect reconnect login logout authenticate authorize authorise unlink unfollow unsubscribe unpin " +
			"unstar detach manage submit claim switch increment decrement transition organize snooze undo redo install " +
			"upgrade checkout optimize fix repair refactor learn train ungroup split align setup standardize reboot " +
			"shutdown vacuum reindex discharge skip mv reload",
		leading: "close open load use",
		agent:   "manager",
		ending:  "management operations",
		loose:   "end process handle group index mount tune sign pull lease power cherry",
	},
	destroy: {
		firm: "delete remove destroy drop purge wipe erase truncate clear cancel revoke uninstall terminate kill reset " +
			"unpublish expire ban kick trash discard deprovision prune flush rollback revert void forget unregister " +
			"deregister evict dismiss unset invalidate abort disband decommission cleanup finalize finalise leave " +
			"unenroll clean del rm",
		leading: "empty block",
		ending:  "destructive",
	},
	send: {
		firm: "send notify forward publish broadcast share invite pay buy purchase sell withdraw donate " +
			"tweet announce refund tip redeem escalate remind dispatch reply respond",
		agent: "sender",
		loose: "email mail message sms dial trade bid swap stake bridge order chat call place transfer charge",
	},
	run: {
		firm:    "execute exec eval evaluate invoke redeploy launch spawn perform rerun",
		leading: "play",
		agent:   "executor runner agent",
		loose:   "run deploy trigger script shell command request",
	},
	steer: {
		firm:    "click press drag hover navigate scroll tap swipe fill goto interact uncheck emulate",
		leading: "type focus select",
		loose:   "mouse keyboard",
	},
})

// sureAtFirst are loose verbs that at the beginning of a name are as sure as
// firm ones.
var sureAtFirst = wordSet("run deploy trigger import transfer post push commit")

// verbOf looks a word up. A known verb of writing may have a syllable before it
// that does it again or takes it back: reactivate, unschedule.
func verbOf(word string) verb {
	if v, ok := lexicon[word]; ok {
		return v
	}
	for _, syllable := range []string{"re", "un"} {
		rest, ok := strings.CutPrefix(word, syllable)
		if v := lexicon[rest]; ok && len(rest) > 3 && v.kind.writes() && (v.rank >= leading || rest == "build" || rest == "schedule") {
			return verb{v.kind, firm}
		}
	}
	return verb{}
}

func makeLexicon(table [numKinds]entry) map[string]verb {
	verbs := map[string]verb{}
	for k, e := range table {
		for r, words := range [...]string{loose: e.loose, ending: e.ending, agent: e.agent, leading: e.leading, firm: e.firm} {
			for w := range strings.FieldsSeq(words) {
				verbs[w] = verb{kind(k), rank(r)}
			}
		}
	}
	return verbs
}
