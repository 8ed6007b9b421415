package derive

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/sqlread"
	"github.com/annotary/annotary/internal/strict"
)

// A Kind says how a [Rule] looks at an argument.
type Kind string

// The kinds of rules.
const (
	KindSQL    Kind = "sql"     // a SQL text that only reads
	KindHTTP   Kind = "http"    // an HTTP method that only reads
	KindAction Kind = "action"  // the name of an action that only reads
	KindDryRun Kind = "dry_run" // true: the call only pretends
)

// A Rule says which argument of a tool tells that a call only reads. It holds
// only where an operator bound it to the tool, or the server is believed.
type Rule struct {
	Kind Kind `json:"kind"`
	// At is the JSON Pointer of the argument, such as /query.
	At string `json:"at"`
	// Dialect of a sql rule: postgres, mysql or sqlite. If empty, a text is a
	// read only if it is one in all three.
	Dialect string `json:"dialect,omitempty"`
}

// Check reports what is wrong with the rule.
func (r Rule) Check() error {
	bad := func(format string, args ...any) error {
		return annotary.E(annotary.CodeConfig, fmt.Sprintf(format, args...), nil)
	}
	if _, ok := narrowers[r.Kind]; !ok {
		return bad("a narrowing rule is sql, http, action or dry_run, not %q", r.Kind)
	}
	if !strings.HasPrefix(r.At, "/") {
		return bad("a narrowing rule looks at a JSON Pointer such as /query, not %q", r.At)
	}
	if _, ok := sqlread.ParseDialect(r.Dialect); !ok {
		return bad("a SQL dialect is postgres, mysql or sqlite, not %q", r.Dialect)
	}
	if r.Dialect != "" && r.Kind != KindSQL {
		return bad("a %s rule has no dialect", r.Kind)
	}
	return nil
}

// A Narrowing is what one call's arguments say. The zero value says nothing.
type Narrowing struct {
	Reads bool
	Why   string
}

// narrowers judge the argument a rule looks at; all are the arguments whole.
var narrowers = map[Kind]func(r Rule, value, all strict.Raw) Narrowing{
	KindSQL:    narrowSQL,
	KindHTTP:   narrowHTTP,
	KindAction: narrowAction,
	KindDryRun: narrowDryRun,
}

// Call looks at the arguments of one call and says whether it only reads, by
// the rule. Whatever could be read in two ways does not narrow: duplicate keys,
// keys that differ only in case or punctuation, values of another type.
func Call(r Rule, args []byte) Narrowing {
	if err := r.Check(); err != nil {
		return Narrowing{Why: err.Error()}
	}
	if err := strict.Check(args, strict.Limits{}); err != nil {
		return Narrowing{Why: "the arguments cannot be read: " + err.Error()}
	}
	if err := strict.Unambiguous(args); err != nil {
		return Narrowing{Why: "the arguments are ambiguous: " + err.Error()}
	}
	value := strict.At(args, r.At)
	if value == nil {
		return Narrowing{Why: "the call has no argument " + r.At}
	}
	if twin := twinOf(args, r.At); twin != "" {
		return Narrowing{Why: fmt.Sprintf("the argument %q could be meant for %s", twin, r.At)}
	}
	return narrowers[r.Kind](r, value, args)
}

// Apply relaxes the hints of a tool for a call that only reads: ReadOnly,
// Destructive and Idempotent, and none of the others, since a call that reads
// still carries its arguments out and brings results in. The source says who
// stands behind the rule.
func (n Narrowing) Apply(h annotary.Hints, by annotary.Source) annotary.Hints {
	if !n.Reads {
		return h
	}
	for _, name := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.Idempotent} {
		if h[name].Value != name.Safe() {
			h[name] = annotary.Hint{Value: name.Safe(), From: by, Why: n.Why}
		}
	}
	return h
}

// twinOf returns a key beside the one a pointer names that a lenient server
// could take for it, such as dryRun beside dry_run.
func twinOf(args strict.Raw, pointer string) string {
	cut := strings.LastIndexByte(pointer, '/')
	own := strict.UnescapePointer(pointer[cut+1:])
	for key := range strict.Members(strict.At(args, pointer[:cut])) {
		if key != own && squash(key) == squash(own) {
			return key
		}
	}
	return ""
}

// squash drops what different spellings of one name differ in.
func squash(key string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(key))
}

func narrowSQL(r Rule, value, _ strict.Raw) Narrowing {
	text, ok := strict.Text(value)
	if !ok {
		return Narrowing{Why: "the SQL is not a string"}
	}
	dialect, _ := sqlread.ParseDialect(r.Dialect)
	v := sqlread.Read(text, dialect)
	if !v.Read {
		return Narrowing{Why: "the SQL is not a read: " + v.Why}
	}
	return Narrowing{true, "the SQL only reads: " + v.Why}
}

// readMethods are the methods RFC 9110 calls safe, TRACE left out.
var readMethods = []string{"GET", "HEAD", "OPTIONS"}

func narrowHTTP(_ Rule, value, all strict.Raw) Narrowing {
	method, ok := strict.Text(value)
	if !ok || !slices.Contains(readMethods, method) {
		return Narrowing{Why: "the HTTP method is not GET, HEAD or OPTIONS"}
	}
	if mark := overridesMethod(all); mark != "" {
		return Narrowing{Why: "the call may override its method: it has " + mark}
	}
	return Narrowing{true, "the HTTP method is " + method}
}

// methodOverride matches what servers accept to run another method than the
// request's: a header, or a parameter of the query or the form.
var methodOverride = regexp.MustCompile(`(?i)x-http-method|method[-_]override|(^|[^a-z0-9])_method($|[^a-z0-9_])`)

// overridesMethod returns the mark of a method override anywhere in the
// arguments, in keys and in texts, plain or percent-encoded.
func overridesMethod(all strict.Raw) string {
	for pointer, leaf := range strict.Leaves(all) {
		text, _ := strict.Text(leaf)
		for _, s := range []string{pointer, text} {
			if decoded, err := url.QueryUnescape(s); err == nil {
				s = decoded
			}
			if mark := methodOverride.FindString(s); mark != "" {
				return strings.Trim(mark, "/?&=")
			}
		}
	}
	return ""
}

// readActions are the verbs that name an action which only reads. The list is
// shorter than the lexicon on purpose: there a wrong guess is a proposal, here
// it would let a call through.
var readActions = wordSet(`get list search find read show describe view count lookup inspect preview browse`)

// readAlone are words that name such an action only by themselves: in
// status_disable the status is what is acted on.
var readAlone = wordSet(`status info help whoami`)

// otherActions are words behind a verb that make it do something else too, as do
// the verbs of the lexicon that are nothing but verbs: get_or_create,
// find_and_modify.
var otherActions = wordSet(`and or then else plus create add insert new set update upsert edit modify write replace patch
	delete remove drop purge clear reset flush pop push send post publish run execute apply lock unlock mark move
	increment decrement archive cancel close save store`)

func narrowAction(_ Rule, value, _ strict.Raw) Narrowing {
	action, ok := strict.Text(value)
	if !ok {
		return Narrowing{Why: "the action is not a string"}
	}
	if readsOnly(action) {
		return Narrowing{true, fmt.Sprintf("the action is %q, which only reads", action)}
	}
	return Narrowing{Why: fmt.Sprintf("the action %q is not known to only read", action)}
}

// readsOnly reports whether an action's name begins with a verb that reads and
// goes on with nothing that does more. It begins in lower case: an action in
// another casing than the schema's is somebody trying.
func readsOnly(action string) bool {
	if action == "" || action[0] < 'a' || action[0] > 'z' || strings.ContainsFunc(action, notInAction) {
		return false
	}
	words := splitName(action)
	if !readActions[words[0]] {
		return len(words) == 1 && readAlone[words[0]]
	}
	return !slices.ContainsFunc(words[1:], func(w string) bool {
		v := verbOf(w)
		return otherActions[w] || v.rank == firm && v.kind.writes()
	})
}

func notInAction(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("_-.:", r)
}

func narrowDryRun(_ Rule, value, _ strict.Raw) Narrowing {
	if strict.KindOf(value) != strict.True {
		return Narrowing{Why: "it is not asked to only pretend"}
	}
	return Narrowing{true, "it is asked to only pretend"}
}

func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		words[w] = true
	}
	return words
}
