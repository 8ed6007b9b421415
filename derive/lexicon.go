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
	loose        // a noun as often (comment, order): only where nothing better stands
	ending       // a noun for what is asked (status, stats): only at the end
	agent        // a noun for who does it (reader, updater): only at the end
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
var lexicon = makeLexicon([numKinds]entry{
	look: {
		firm: "get list search find fetch read retrieve lookup describe browse enumerate discover explore show peek " +
			"introspect autocomplete whoami grep glob ls cat locate obtain explain suggest recommend ask consult recall " +
			"gather collect return query see",
		leading: "view count stat tail head filter sort display poll match watch help what where who trace",
		ending: "status info information detail details stats statistics summary overview history logs metrics analytics " +
			"schema docs documentation guide guidelines reference instructions version health balance balances insights " +
			"usage availability weather ranking rankings price prices leaderboard trends results suggestions " +
			"recommendations examples capabilities",
		agent: "reader viewer finder explorer searcher",
		loose: "research lists",
	},
	probe: {
		firm: "analyze analyse validate verify inspect diagnose detect compare examine assess investigate identify lint scan " +
			"observe understand interpret measure determine",
		leading: "check test diff audit review monitor debug profile ping benchmark probe can",
		agent:   "checker validator analyzer inspector",
		ending:  "analysis diagnostics comparison",
	},
	compute: {
		firm: "calculate compute estimate forecast predict simulate convert translate encode decode parse extract classify " +
			"geocode tokenize normalize transform transcribe embed solve summarize summarise deduplicate decompile " +
			"intersect aggregate interpolate",
		leading: "format score rank plan think rate hash reason echo",
		agent:   "calculator converter estimator",
		ending:  "calculation conversion",
		loose:   "quote",
	},
	produce: {
		firm:    "generate render download export scrape crawl capture synthesize visualize draw",
		leading: "screenshot snapshot dump print preview report draft design wait sample",
		agent:   "generator",
	},
	add: {
		firm: "create add insert append upload import register clone duplicate write enqueue ingest attach bookmark subscribe " +
			"join provision onboard enroll mint scaffold initialize initialise init bootstrap compose remember " +
			"replicate seed save store favorite favourite",
		leading: "new post comment log record track fork copy book schedule reserve build push stage stash commit star follow " +
			"like react vote tag label pin link backup",
		agent: "creator writer",
		loose: "note issue file mock",
	},
	put: {
		firm: "update upsert put edit modify rename assign unassign configure enable disable toggle activate deactivate " +
			"overwrite replace adjust mute unmute lock unlock promote demote reorder resize mark unmark annotate reassign",
		leading: "set patch change customize scale",
		agent:   "updater editor",
	},
	change: {
		firm: "move merge archive unarchive restore approve accept reject decline resolve reopen complete uncomplete finish " +
			"migrate apply sync synchronize refresh rebase rotate retry pause resume start stop restart connect " +
			"disconnect reconnect login logout authenticate authorize authorise unlink unfollow unsubscribe unpin " +
			"unstar detach manage submit claim switch increment decrement transition organize snooze undo redo install " +
			"upgrade checkout power reboot shutdown cherry optimize fix repair refactor learn train ungroup split align setup standardize",
		leading: "process handle group close open load reload index mount tune sign pull lease use",
		agent:   "manager",
		ending:  "management operations",
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
		firm: "send notify forward publish broadcast share invite transfer pay charge buy purchase sell withdraw donate " +
			"tweet announce refund tip redeem escalate remind dispatch reply respond",
		leading: "email mail message sms dial trade bid swap stake bridge",
		agent:   "sender",
		loose:   "order chat call place",
	},
	run: {
		firm:    "run execute exec eval evaluate invoke deploy redeploy launch trigger spawn perform rerun",
		leading: "script play shell",
		agent:   "executor runner",
		loose:   "command request",
	},
	steer: {
		firm:    "click press drag hover navigate scroll tap swipe fill goto interact uncheck emulate",
		leading: "type focus select",
	},
})

func makeLexicon(table [numKinds]entry) map[string]verb {
	verbs := map[string]verb{}
	for k, e := range table {
		for r, words := range [...]string{loose: e.loose, ending: e.ending, agent: e.agent, leading: e.leading, firm: e.firm} {
			for _, w := range strings.Fields(words) {
				verbs[w] = verb{kind(k), rank(r)}
			}
		}
	}
	return verbs
}
