package derive

import "strings"

// A kind is what a verb does to the world.
type kind uint8

const (
	noKind  kind = iota
	look         // reads and shows
	compute      // works something out from its arguments
	add          // makes something new beside what is there
	put          // sets something to a stated value
	change       // alters something in another way
	destroy      // deletes, ends or takes away
	send         // tells or gives something to somebody
	run          // executes what it is given, or starts something
	steer        // drives a user interface
	numKinds
)

// deeds says in words what each kind does, for reasons.
var deeds = [numKinds]string{
	"says nothing", "looks something up", "works something out", "adds something", "sets something",
	"changes something", "deletes or ends something", "sends something", "runs something", "drives a user interface",
}

// reads reports whether the kind leaves the world as it was.
func (k kind) reads() bool { return k == look || k == compute }

// A verb is an entry of the lexicon.
type verb struct {
	kind kind
	// firm verbs are verbs wherever they stand in a name. The others are
	// nouns as often (comment, order, test) and count only where a name has
	// its action: at its beginning or its end.
	firm bool
}

// The lexicon: what the common verbs of tool names do. A word is here for what
// it means in English, not for how often some server uses it.
var lexicon = makeLexicon([numKinds]struct{ firm, loose string }{
	look: {
		"get list search find fetch read retrieve lookup describe inspect browse enumerate discover explore show peek " +
			"introspect autocomplete whoami grep glob ls cat locate obtain compare analyze analyse validate verify " +
			"explain summarize summarise diagnose detect suggest recommend identify enrich ask download scrape crawl " +
			"preview investigate understand interpret consult observe recall lint collect gather scan examine assess",
		"query view check count stat stats status info details help diff trace monitor watch tail head preview audit " +
			"review filter sort export dump report display print snapshot screenshot capture poll ping test wait match " +
			"debug profile summary overview history logs browse research",
	},
	compute: {
		"calculate compute estimate forecast predict simulate convert translate encode decode parse extract classify " +
			"evaluate measure geocode tokenize rank normalize transform transcribe embed hash solve",
		"format score render plan think quote rate",
	},
	add: {
		"create add insert append upload import register clone duplicate generate write enqueue ingest attach bookmark " +
			"subscribe join provision onboard enroll mint scaffold initialize initialise init bootstrap compose " +
			"remember replicate backup back seed",
		"new post comment note draft log record track fork copy book schedule reserve save store build push stage stash " +
			"commit star follow like react vote tag label pin link issue file mock snapshot",
	},
	put: {
		"update upsert set put edit modify rename assign unassign configure enable disable toggle activate deactivate " +
			"overwrite replace adjust mute unmute lock unlock promote demote reorder resize mark unmark annotate",
		"patch change customize",
	},
	change: {
		"move merge archive unarchive restore approve accept reject decline resolve reopen complete finish migrate convert " +
			"apply sync synchronize refresh rebase rotate retry pause resume start stop restart connect disconnect " +
			"login logout authenticate authorize authorise unlink link unfollow unsubscribe unpin unstar detach " +
			"manage handle process submit claim import switch increment decrement transition organize snooze undo redo " +
			"install upgrade checkout optimize fix repair refactor learn train configure ungroup group split align setup",
		"close open load reload index mount tune sign pull lease lend use",
	},
	destroy: {
		"delete remove destroy drop purge wipe erase truncate clear cancel revoke uninstall terminate kill reset " +
			"unpublish expire ban kick trash discard deprovision prune flush rollback revert void forget unregister " +
			"deregister evict dismiss unset invalidate abort disband decommission cleanup finalize finalise " +
			"overwrite leave unenroll unban clean",
		"empty block rm del",
	},
	send: {
		"send notify forward reply publish broadcast share invite transfer pay charge buy purchase sell withdraw donate " +
			"tweet respond announce refund tip redeem escalate remind dispatch",
		"email mail message sms text dial post trade order call chat bid swap stake bridge",
	},
	run: {
		"run execute exec eval invoke deploy redeploy launch trigger shell spawn evaluate perform rerun",
		"call script command request batch bulk play test",
	},
	steer: {
		"click type press drag hover navigate scroll tap swipe fill select goto interact dblclick uncheck",
		"focus wait close back resize upload drop",
	},
})

func makeLexicon(table [numKinds]struct{ firm, loose string }) map[string]verb {
	verbs := map[string]verb{}
	for k, words := range table {
		for _, w := range strings.Fields(words.firm) {
			if _, ok := verbs[w]; !ok {
				verbs[w] = verb{kind(k), true}
			}
		}
	}
	for k, words := range table {
		for _, w := range strings.Fields(words.loose) {
			if _, ok := verbs[w]; !ok {
				verbs[w] = verb{kind(k), false}
			}
		}
	}
	return verbs
}
