package derive

import (
	"fmt"
	"strings"

	"github.com/annotary/annotary"
)

// judgeMethod says what an operation's HTTP method says, and what speaks
// against it. RFC 9110 defines which methods are safe and idempotent; whether
// a change destroys something is the custom of APIs.
func (e *endpoint) judgeMethod(op *Operation, words Claims) {
	c := &op.Claims
	switch e.method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		e.judgeSafe(op)
	case "PUT":
		c.say(annotary.ReadOnly, annotary.No, 0.95, "PUT writes")
		c.say(annotary.Destructive, annotary.Yes, 0.7, "PUT overwrites what was there")
		c.say(annotary.Idempotent, annotary.Yes, 0.9, "PUT twice is PUT once, by RFC 9110")
	case "PATCH":
		c.say(annotary.ReadOnly, annotary.No, 0.95, "PATCH changes what is there")
		c.say(annotary.Destructive, annotary.Yes, 0.6, "PATCH overwrites parts of what was there")
		c.say(annotary.Idempotent, annotary.No, 0.6, "PATCH need not be idempotent, by RFC 9110")
	case "DELETE":
		c.say(annotary.ReadOnly, annotary.No, 0.95, "DELETE deletes")
		c.say(annotary.Destructive, annotary.Yes, 0.95, "DELETE deletes")
		c.say(annotary.Idempotent, annotary.Yes, 0.9, "DELETE twice is DELETE once, by RFC 9110")
	default:
		e.judgePost(c, words)
	}
}

// say replaces a claim.
func (c *Claims) say(n annotary.HintName, v annotary.Value, confidence float64, why string) {
	c[n] = annotary.Claim{Hint: n, Value: v, By: annotary.FromDerived, Confidence: confidence, Why: why}
}

// judgePost: POST adds something, unless its action says that it only looks, or
// does worse.
func (e *endpoint) judgePost(c *Claims, words Claims) {
	verb, kind := e.action()
	switch {
	case searchVerbs[verb]:
		why := fmt.Sprintf("POST, but its action is '%s', which reads", verb)
		c.say(annotary.ReadOnly, annotary.Yes, 0.7, why)
		c.say(annotary.Destructive, annotary.No, 0.8, why)
		c.say(annotary.Idempotent, annotary.Yes, 0.7, why)
	case posts[kind] != "":
		why := fmt.Sprintf("POST, and its action is '%s', which %s", verb, posts[kind])
		c.say(annotary.ReadOnly, annotary.No, 0.95, why)
		c.say(annotary.Destructive, annotary.Yes, 0.7, why)
		c.say(annotary.Idempotent, annotary.No, 0.6, "POST need not be idempotent, by RFC 9110")
	case words[annotary.Destructive].Value == annotary.Yes && words[annotary.Destructive].Confidence >= 0.8:
		c.say(annotary.ReadOnly, annotary.No, 0.9, "POST changes something")
		c.say(annotary.Idempotent, annotary.No, 0.6, "POST need not be idempotent, by RFC 9110")
	default:
		c.say(annotary.ReadOnly, annotary.No, 0.9, "POST changes something")
		c.say(annotary.Destructive, annotary.No, 0.7, "POST adds something")
		c.say(annotary.Idempotent, annotary.No, 0.8, "POST twice adds two, by RFC 9110")
	}
}

// judgeSafe: a safe method reads, unless something about the operation says
// that it does more.
func (e *endpoint) judgeSafe(op *Operation) {
	why, kind := e.sideEffect()
	if why == "" {
		reads := e.method + " reads, by RFC 9110"
		op.Claims.say(annotary.ReadOnly, annotary.Yes, 0.9, reads)
		op.Claims.say(annotary.Destructive, annotary.No, 0.9, reads)
		op.Claims.say(annotary.Idempotent, annotary.Yes, 0.9, reads)
		return
	}
	op.flag(FlagSideEffect, e.method+" with side effect: "+why)
	why = e.method + ", but " + why
	op.Claims.say(annotary.ReadOnly, annotary.No, 0.7, why)
	op.Claims.say(annotary.Idempotent, annotary.Unknown, 0, why)
	op.Claims.say(annotary.Destructive, annotary.Unknown, 0, why)
	if kind == destroys {
		op.Claims.say(annotary.Destructive, annotary.Yes, 0.7, why)
	}
}

// An effect is what the word of an action does.
type effect uint8

const (
	noEffect   effect = iota
	acts              // does something
	overwrites        // replaces what was there
	commits           // does what cannot be taken back
	destroys          // takes something away
)

// posts says why a POST with such an action is destructive.
var posts = map[effect]string{
	overwrites: "overwrites what was there",
	commits:    "cannot be taken back",
	destroys:   "takes something away",
}

// effects are the verbs that, as the action of an operation, do more than read.
var effects = makeEffects(map[effect]string{
	destroys: `delete remove destroy purge wipe erase truncate drop clear reset revoke cancel terminate kill logout signout
		unsubscribe uninstall deactivate disable expire`,
	commits:    `send email notify invite remind publish pay charge refund transfer redeem purchase buy`,
	overwrites: `update set edit modify rename replace overwrite move`,
	acts: `create add insert subscribe confirm activate enable approve reject accept decline trigger execute start stop
		restart deploy install sync import upload submit login signin verify impersonate`,
})

func makeEffects(words map[effect]string) map[string]effect {
	m := map[string]effect{}
	for e, list := range words {
		for w := range wordSet(list) {
			m[w] = e
		}
	}
	return m
}

// nouns are verbs that name a thing where they end a path: GET /user/email.
var nouns = wordSet(`email set move invite charge transfer trigger import upload deploy refund drop start stop update add`)

// searchVerbs are the actions of a POST that only reads.
var searchVerbs = wordSet(`search query find list get lookup filter count preview validate estimate calculate simulate`)

// mailing are actions that become sending when they are given an address.
var mailing = wordSet(`export report download share statement invoice receipt transcript summary digest backup archive`)

// telling are parameters by which a GET shows that it does something.
var telling = wordSet(`confirm confirmed notify sendemail sendmail recipient recipients callback callbackurl webhook webhookurl
	dryrun force commit delete mailto sendto notifyemail`)

// action returns the word in action position, of the operationId or of the
// path's end, with its effect.
func (e *endpoint) action() (string, effect) {
	for _, w := range e.actionWords() {
		if f := effects[w]; f != noEffect || searchVerbs[w] {
			return w, f
		}
	}
	return "", noEffect
}

// actionWords are the words where an operation has its action: the first of
// its operationId, the last fixed part of its path, and the first of its
// summary, as it is and without an ending. An operationId that begins with the
// method was made from it and says nothing more.
func (e *endpoint) actionWords() []string {
	var words []string
	if own := splitName(e.tool.Name); len(own) > 0 && own[0] != strings.ToLower(e.method) {
		words = append(words, own[0])
	}
	if end := e.path[strings.LastIndexByte(e.path, '/')+1:]; !strings.Contains(end, "{") {
		split := splitName(end)
		if joined := strings.Join(split, ""); !nouns[joined] {
			words = append(words, joined)
		}
		if len(split) > 1 && !nouns[split[0]] {
			words = append(words, split[0])
		}
	}
	return append(words, summaryWords(e.summary)...)
}

func summaryWords(summary string) []string {
	said := splitName(summary)
	if len(said) == 0 {
		return nil
	}
	words := []string{said[0]}
	if b, ok := base(said[0]); ok {
		words = append(words, b)
	}
	if len(said) > 1 && (said[1] == "out" || said[1] == "in") { // logs out, sign in
		words = append(words, strings.TrimSuffix(said[0], "s")+said[1])
	}
	return words
}

// sideEffect returns what about a safe operation says that it does more than
// read, or "".
func (e *endpoint) sideEffect() (string, effect) {
	if verb, kind := e.action(); kind != noEffect {
		return fmt.Sprintf("its action is '%s'", verb), kind
	}
	for _, p := range e.inputs {
		if p.in != "query" {
			continue
		}
		name := squash(p.name)
		if telling[name] {
			return fmt.Sprintf("it has the parameter '%s'", p.name), acts
		}
		if name == "email" || name == "emailaddress" || name == "to" {
			for _, w := range e.actionWords() {
				if mailing[w] {
					return fmt.Sprintf("'%s' with the parameter '%s' sends something", w, p.name), acts
				}
			}
		}
	}
	return "", noEffect
}
