package derive

import (
	"slices"
	"strings"

	"github.com/annotary/annotary"
)

// judgeIdempotent says whether repeating a call changes nothing more. Without
// evidence it says no for what adds, sends or runs, and nothing for the rest.
func (r *reading) judgeIdempotent(readOnly verdict) verdict {
	if readOnly.value == annotary.Yes {
		return verdict{annotary.Yes, readOnly.confidence, "it is read-only: " + readOnly.why}
	}
	if p := r.firstParam(repeatKeys); p != "" {
		return verdict{annotary.Yes, 0.8, "its parameter '" + p + "' tells a repeated call from a new one"}
	}
	id := r.names()
	switch {
	case r.verb == "":
		return verdict{why: "nothing says what a second call would do"}
	case flips[r.verb]:
		return verdict{annotary.No, 0.9, r.nameSays() + ", and a second call does it again"}
	case r.verb == "upsert" || r.verb == "set" || r.verb == "put":
		return verdict{annotary.Yes, 0.8, r.nameSays() + ", and setting it again changes nothing more"}
	case r.kind == put && id != "":
		return verdict{annotary.Yes, 0.75, r.nameSays() + ", and '" + id + "' says which"}
	case r.kind == destroy && id != "" && !r.hasWord(wordsLast):
		return verdict{annotary.Yes, 0.6, "what '" + id + "' names is gone after the first call"}
	case r.kind == change && settles[r.verb] && id != "":
		return verdict{annotary.Yes, 0.6, r.nameSays() + ", and '" + id + "' says which"}
	case r.kind == add, r.kind == send, r.kind == run:
		return verdict{annotary.No, 0.8, r.nameSays() + ", and a second call does it again"}
	}
	return verdict{why: "nothing says what a second call would do"}
}

var (
	// repeatKeys are parameters by which a server knows a repeated call.
	repeatKeys = wordSet("idempotency_key idempotency_token client_token client_request_token request_id dedupe_key " +
		"deduplication_id")
	// flips are verbs of which a second call undoes or adds to the first.
	flips = wordSet("toggle increment decrement append rotate rerun retry undo redo")
	// settles are verbs after which the thing is in one state.
	settles = wordSet("archive unarchive close complete uncomplete approve reject accept decline resolve reopen restore " +
		"pause resume unlink unfollow unsubscribe unpin unstar move snooze")
	// wordsLast name something by its place, so that a second call meets another.
	wordsLast = wordSet("last latest next first oldest pop")
)

// names returns the parameter that names one stable thing, or "".
func (r *reading) names() string {
	for _, p := range r.params {
		last := ""
		if len(p.words) > 0 {
			last = p.words[len(p.words)-1]
		}
		switch last {
		case "id", "ids", "uuid", "guid", "key", "slug", "number", "iid", "uid", "name", "path", "url", "email", "ref":
			if !p.nested {
				return p.name
			}
		}
	}
	return ""
}

// firstParam returns the first parameter of the tool itself whose name is in the
// set, or "".
func (r *reading) firstParam(set map[string]bool) string {
	for _, p := range r.params {
		if set[p.joined()] && !p.nested {
			return p.name
		}
	}
	return ""
}

// judgeReversible says whether there is a way back.
func (r *reading) judgeReversible(readOnly, destructive verdict) verdict {
	if readOnly.value == annotary.Yes {
		return verdict{annotary.Yes, readOnly.confidence, "it is read-only, so there is nothing to take back"}
	}
	if why := r.admitsLoss(); why != "" {
		return verdict{annotary.No, 0.9, why}
	}
	if r.says("trash", "soft-delete", "soft-deletes", "recoverable", "restorable") {
		return verdict{annotary.Yes, 0.7, "its description speaks of a way back"}
	}
	if back := r.wayBack(); back != "" {
		return verdict{annotary.Yes, 0.7, "the server also has '" + back + "'"}
	}
	switch {
	case r.kind == destroy && destructive.value == annotary.Yes:
		return verdict{annotary.No, 0.7, r.nameSays() + ", and no tool of the server brings it back"}
	case r.cannotBeRecalled() != "":
		return verdict{annotary.No, 0.7, r.cannotBeRecalled()}
	case r.kind == put:
		return verdict{annotary.Yes, 0.5, r.nameSays() + ", which can be set back by who knows what it was"}
	}
	return verdict{why: "nothing says whether there is a way back"}
}

// opposites pairs verbs that undo each other.
var opposites = makeOpposites("create/delete add/remove archive/unarchive archive/restore enable/disable " +
	"activate/deactivate follow/unfollow subscribe/unsubscribe lock/unlock mute/unmute pin/unpin star/unstar " +
	"assign/unassign link/unlink attach/detach close/reopen complete/uncomplete complete/reopen start/stop " +
	"pause/resume publish/unpublish register/unregister install/uninstall connect/disconnect mark/unmark join/leave " +
	"block/unblock ban/unban open/close insert/delete upload/delete upgrade/downgrade trash/untrash trash/restore " +
	"enroll/unenroll hide/unhide delete/restore remove/restore delete/undelete approve/unapprove")

func makeOpposites(pairs string) map[string][]string {
	m := map[string][]string{}
	for pair := range strings.FieldsSeq(pairs) {
		a, b, _ := strings.Cut(pair, "/")
		m[a] = append(m[a], b)
		m[b] = append(m[b], a)
	}
	for _, oneWay := range []string{"delete", "remove", "uninstall", "leave"} { // making anew is no way back
		back := m[oneWay][:0]
		for _, v := range m[oneWay] {
			if v == "restore" || v == "undelete" {
				back = append(back, v)
			}
		}
		m[oneWay] = back
	}
	return m
}

// wayBack returns a tool of the server that does the opposite to the same
// thing, or "".
func (r *reading) wayBack() string {
	for _, opposite := range opposites[r.verb] {
		if name := r.server.tools[opposite+" "+r.object()]; name != "" {
			return name
		}
	}
	return ""
}

// object returns the words of the name without its verb.
func (r *reading) object() string {
	var words []string
	for i, w := range r.words {
		if i != r.at || r.verb == "" {
			words = append(words, strings.TrimSuffix(w, "s"))
		}
	}
	return strings.Join(words, " ")
}

// says reports whether the description has one of the words.
func (r *reading) says(words ...string) bool {
	return slices.ContainsFunc(r.prose.words, func(w string) bool { return slices.Contains(words, w) })
}
