package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// actions are the methods that can reach into a server, and what policies call
// them. Who may not read a resource is not told when it changes either.
var actions = map[string]policy.Action{
	"tools/call":          policy.Call,
	"resources/read":      policy.Read,
	"resources/subscribe": policy.Read,
	"prompts/get":         policy.Prompt,
	"completion/complete": policy.Complete,
}

// housekeeping are the methods of the protocol itself: they ask what there is,
// or keep a connection.
var housekeeping = []string{
	"initialize", "ping", "server/discover", "tools/list", "prompts/list", "resources/list",
	"resources/templates/list", "resources/unsubscribe", "logging/setLevel", "subscriptions/listen",
}

// notes are the notifications by which a client keeps a connection.
var notes = []string{
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
}

// kinds are what the targets of actions are to policies.
var kinds = map[policy.Action]policy.Kind{
	policy.Read: policy.Resource, policy.Prompt: policy.PromptOf, policy.Complete: policy.PromptOf,
}

// open begins a matter. Messages that reach into nothing are not judged: then it
// returns nil.
func (j *Judge) open(s *upstream.Server, call *Call) *matter {
	msg := &call.Message
	switch {
	case msg.Kind == rpc.Request && slices.Contains(housekeeping, msg.Method) && len(subscribed(msg)) == 0,
		msg.Kind == rpc.Notification && slices.Contains(notes, msg.Method):
		return nil
	}
	action, known := actions[msg.Method]
	switch {
	case msg.Method == "subscriptions/listen":
		action = policy.Read
	case !known || msg.Kind == rpc.Notification:
		action = policy.Other
	}
	m := &matter{judge: j, call: call, server: s, action: action, who: j.subject(&call.Principal), began: j.now()}
	call.matter = m
	return m
}

// ActionOf returns what policies call a method, and what sort of thing it is
// about.
func ActionOf(method string) (policy.Action, policy.Kind) {
	if a, ok := actions[method]; ok {
		return a, cmp.Or(kinds[a], policy.Tool)
	}
	return cmp.Or(asked[method], policy.Other), policy.Method
}

// arguments are what policies see of a message.
func (m *matter) arguments() []byte {
	if m.payload != nil {
		return m.payload
	}
	return m.call.Message.Arguments()
}

// resolveOther prepares what is no tool. The protocol calls resources, prompts
// and completions reads; of a method we do not know nothing is known.
func (m *matter) resolveOther(msg *rpc.Message) error {
	if m.answers != nil {
		m.resolveAnswer(msg)
		return nil
	}
	kind, ok := kinds[m.action]
	name := targetOf(msg)
	m.hints = annotary.Pessimistic()
	if ok {
		m.reads("the protocol calls it a read")
	} else {
		kind, name = policy.Method, msg.Method
		m.mustBeNamed(msg.Method, msg.Kind == rpc.Notification)
	}
	m.aim(kind, name)
	m.wantServerScopes()
	if m.told != "" {
		return nil
	}
	for _, uri := range subscribed(msg) {
		m.extra = append(m.extra, m.targetFor(policy.Resource, uri))
	}
	if len(m.extra) > maxSubscribed {
		m.refuse(annotary.CodeDenied, refusing(annotary.CodeInvalid, "it names too many resources at once"))
	}
	return m.digestArguments(msg.Arguments())
}

// reads says of the target that it changes nothing. What it carries out, and
// what it brings in, is not said.
func (m *matter) reads(why string) {
	for _, n := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.Idempotent} {
		m.hints[n] = annotary.Hint{Value: n.Safe(), From: annotary.FromDeclared, Why: why}
	}
}

// aim sets what the matter is about.
func (m *matter) aim(kind policy.Kind, name string) {
	m.target = m.targetFor(kind, name)
	m.entry.Believed = m.judge.Stances[m.server.Name].Believe
	m.entry.Tool, m.entry.Class = recorded(name), m.hints.Class().String()
}

func (m *matter) targetFor(kind policy.Kind, name string) *policy.Target {
	return policy.NewTarget(policy.About{
		Kind: kind, Server: m.server.Name, Name: name, Hints: m.hints, Believed: m.judge.Stances[m.server.Name].Believe,
	})
}

// mustBeNamed refuses a method that the operator did not name for the server. A
// request of the protocol that came as a notification is refused whatever is
// named: a careless server would carry it out, and nobody judged it.
func (m *matter) mustBeNamed(method string, note bool) {
	_, known := actions[method]
	disguised := note && (known || slices.Contains(housekeeping, method))
	if !disguised && m.judge.passes(m.server.Name, method) {
		return
	}
	text := "the operator did not name this method"
	if disguised {
		text = "a request was sent as a notification"
	}
	m.refuse(annotary.CodeUnknownMethod, refusing(annotary.CodeUnknownMethod, text))
	m.fault = &rpc.Fault{Code: rpc.CodeMethodNotFound, Message: "this method is not let through", Data: reasonData(m.told)}
}

// targetOf is what a request that calls no tool names.
func targetOf(msg *rpc.Message) string {
	if name, ok := msg.Target(); ok {
		return name
	}
	switch msg.Method {
	case "resources/subscribe":
		return textAt(msg.Params(), "uri")
	case "completion/complete":
		return textAt(msg.Params(), "ref", "name") + textAt(msg.Params(), "ref", "uri")
	case "subscriptions/listen":
		return strings.Join(subscribed(msg), " ")
	}
	return ""
}

// maxSubscribed is how many resources one message may name.
const maxSubscribed = 256

// subscribed are the resources whose changes a modern client asks to hear of.
func subscribed(msg *rpc.Message) []string {
	if msg.Method != "subscriptions/listen" {
		return nil
	}
	var uris []string
	for _, filter := range [][]string{{"notifications", "resourceSubscriptions"}, {"resourceSubscriptions"}} {
		for _, raw := range strict.Elements(strict.Get(msg.Params(), filter...)) {
			uri, _ := strict.Text(raw)
			uris = append(uris, uri)
		}
	}
	return uris
}

func textAt(raw []byte, names ...string) string {
	text, _ := strict.Text(strict.Get(raw, names...))
	return text
}

// passes reports whether the operator named the method for this server.
func (j *Judge) passes(server, method string) bool {
	return slices.ContainsFunc(j.Methods[server], func(p string) bool { return catalog.Match(p, method) })
}
