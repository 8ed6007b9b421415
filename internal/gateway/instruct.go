package gateway

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/prompt"
)

// SafetyPrompt is the name of the prompt that the gateway adds to every server's.
const SafetyPrompt = "annotary_safety"

const (
	// safetyBudget is how many tokens the prompt takes at most.
	safetyBudget = 4000
	// maxInstructions is how many characters of a believed server's own
	// instructions are passed on.
	maxInstructions = 1000
	// listWithin is how long a greeting waits for the server's tools, if they are
	// not known yet.
	listWithin = 10 * time.Second
)

// present turns a server's words about itself into ours: what it instructs
// clients to do is dropped, or quoted where the operator believes it, and what
// holds for this caller is said. The prompt we add needs the capability.
func (j *Judge) present(ctx context.Context, s *upstream.Server, call *Call, answer []byte) []byte {
	result := strict.Get(answer, "result")
	if strict.KindOf(result) != strict.Object {
		return answer
	}
	text := j.instructions(ctx, s, call)
	if own := textAt(result, "instructions"); own != "" && j.Stances[s.Name].Believe {
		text = strings.TrimSpace(text+"\nThe server says of itself: "+prompt.Quote(own, maxInstructions)) + "\n"
	}
	answer = strict.Set(answer, strict.Quote(text), "result", "instructions")
	if strict.KindOf(strict.Get(result, "capabilities", "prompts")) != strict.Object {
		answer = strict.Set(answer, []byte("{}"), "result", "capabilities", "prompts")
		call.Session.lacks("prompts")
	}
	return private(call.Era, answer)
}

// instructions are the rules for this caller, short.
func (j *Judge) instructions(ctx context.Context, s *upstream.Server, call *Call) string {
	rules, o := j.advice(&call.Principal)
	section, err := prompt.Brief(j.visible(ctx, s, call), rules, o)
	if err != nil { // the budget holds the rules of every preset
		return ""
	}
	return section.Text
}

// advice is what the model of a caller is told to go by. Where rules ask, we do, and
// the model need not; while policies are only observed, nobody else would. Where
// only policies judge, nobody can say in a sentence what they will decide: then to
// be careful, and to ask, is good advice.
func (j *Judge) advice(who *annotary.Principal) (annotary.Rules, prompt.Options) {
	o := prompt.Options{Profiles: j.profiles(who)}
	if rules := j.rulesFor(who); rules != nil {
		o.Asked = j.Ladder != nil && !j.observing(j.now())
		return *rules, o
	}
	rules, err := annotary.PresetRules("careful")
	if err != nil { // it is one of ours
		return annotary.Rules{}, o
	}
	return rules, o
}

// rulesFor are the short rules that hold for a caller: those of its profile, where
// it has some, else those for everybody. Nil is none, or those of several at once,
// of which the strictest counts each time.
func (j *Judge) rulesFor(who *annotary.Principal) *annotary.Rules {
	rules, own := j.Rules, false
	for _, p := range j.Profiles {
		if p.Rules == nil || !p.Has(who) {
			continue
		}
		if own {
			return nil
		}
		rules, own = p.Rules, true
	}
	return rules
}

// visible are the tools of a server that the caller's model may know of. A
// server that cannot be asked now has none.
func (j *Judge) visible(ctx context.Context, s *upstream.Server, call *Call) []annotary.Entry {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	tools, err := j.tools(ctx, s)
	if err != nil {
		return nil
	}
	return j.entriesFor(call, tools)
}

// entriesFor are those of the tools that are offered to the caller's model.
func (j *Judge) entriesFor(call *Call, tools []*catalog.Tool) []annotary.Entry {
	subject := j.subject(&call.Principal)
	var offered []annotary.Entry
	for _, t := range tools {
		if t.ModelVisible && j.offers(call, subject, t) {
			offered = append(offered, t.Entry)
		}
	}
	return offered
}

// safetyDefinition is our prompt as prompts/list shows it.
var safetyDefinition = []byte(`{"name":"` + SafetyPrompt + `","title":"Safety rules for these tools","description":"What each of the tools does to the world, and what to ask before calling one."}`)

// addPrompt puts our prompt on the first page of a server's. A server that knows
// no prompts has a page with ours.
func addPrompt(call *Call, answer []byte) []byte {
	if cursor := strict.Get(call.Message.Params(), "cursor"); strict.KindOf(cursor) == strict.String {
		return private(call.Era, answer)
	}
	if string(strict.Get(answer, "error", "code")) == "-32601" {
		return rpc.NewResult(call.Message.ID(), onlyPrompt(call.Era))
	}
	list := strict.Get(answer, "result", "prompts")
	if strict.KindOf(list) != strict.Array {
		return answer
	}
	shown := append([]byte{'['}, safetyDefinition...)
	for _, p := range strict.Elements(list) {
		if textAt(p, "name") != SafetyPrompt { // ours is the one that is answered
			shown = append(append(shown, ','), p...)
		}
	}
	return private(call.Era, strict.Set(answer, append(shown, ']'), "result", "prompts"))
}

// onlyPrompt is the list of prompts of who has none but ours.
func onlyPrompt(era upstream.Era) []byte {
	return ownList(era, "prompts", slices.Concat([]byte{'['}, safetyDefinition, []byte{']'}))
}

// ownList is a list that we make ourselves.
func ownList(era upstream.Era, name string, list []byte) []byte {
	out := strict.Set([]byte(`{}`), list, name)
	if era == upstream.EraModern {
		out = strict.Set(out, []byte(`"complete"`), "resultType")
		out = strict.Get(private(era, strict.Set([]byte(`{}`), out, "result")), "result")
	}
	return out
}

// safetyAnswer answers prompts/get for our prompt.
func (j *Judge) safetyAnswer(call *Call, tools []annotary.Entry) *upstream.Answer {
	rules, o := j.advice(&call.Principal)
	o.Budget = safetyBudget
	section, err := prompt.Safety(tools, rules, o)
	if err != nil {
		fault := &rpc.Fault{Code: rpc.CodeInternal, Message: err.Error()}
		return &upstream.Answer{Status: http.StatusOK, Body: fault.Answer(call.Message.ID())}
	}
	result := []byte(`{"description":"Safety rules for these tools","messages":[{"role":"user","content":{"type":"text","text":""}}]}`)
	result = bytes.Replace(result, []byte(`"text":""`), append([]byte(`"text":`), strict.Quote(section.Text)...), 1)
	if call.Era == upstream.EraModern {
		result = strict.Set(result, []byte(`"complete"`), "resultType")
	}
	return &upstream.Answer{Status: http.StatusOK, Body: rpc.NewResult(call.Message.ID(), result)}
}

// lacks remembers that the server does not have a capability.
func (s *Session) lacks(capability string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.without = append(s.without, capability)
}

// hasNo reports whether the server is known not to have a capability.
func (s *Session) hasNo(capability string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.without, capability)
}
