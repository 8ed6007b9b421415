package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/prompt"
)

// Find is the name of the gateway's own endpoint, where the tools of all servers
// are found and called through a few of ours. No server can have it.
const Find = "/find"

// find answers a message to the endpoint. It exists where calls are judged.
func (g *Gateway) find(ctx context.Context, call *Call) (*upstream.Answer, error) {
	judge := g.judge.Load()
	if judge == nil {
		return nil, annotary.E(CodeUnjudged, "tools are found across servers where calls are judged", nil)
	}
	if call.Message.Kind != rpc.Request {
		return &upstream.Answer{Status: http.StatusAccepted}, nil
	}
	d := &dispatcher{g, judge, call}
	switch call.Message.Method {
	case "initialize":
		a := d.result(d.welcome())
		a.Session = true
		return a, nil
	case "server/discover":
		return d.result(d.discovered()), nil
	case "ping":
		return d.result([]byte(`{}`)), nil
	case "tools/list":
		return d.result(ownList(call.Era, "tools", doorList)), nil
	case "prompts/list":
		return d.result(onlyPrompt(call.Era)), nil
	case "prompts/get":
		return d.prompt(ctx), nil
	case "tools/call":
		return d.call(ctx)
	}
	a := d.fault(rpc.CodeMethodNotFound, "unknown method")
	if d.msg.Era == upstream.EraModern {
		a.Status = http.StatusNotFound
	}
	return a, nil
}

// A dispatcher answers one message to the gateway's own endpoint.
type dispatcher struct {
	gateway *Gateway
	judge   *Judge
	msg     *Call
}

func (d *dispatcher) result(result []byte) *upstream.Answer {
	return &upstream.Answer{Status: http.StatusOK, Body: rpc.NewResult(d.msg.Message.ID(), result)}
}

func (d *dispatcher) fault(code int, text string) *upstream.Answer {
	f := &rpc.Fault{Code: code, Message: text}
	return &upstream.Answer{Status: http.StatusOK, Body: f.Answer(d.msg.Message.ID())}
}

const findInfo = `{"name":"annotary","title":"Annotary: all tools","version":"1"}`

// welcome answers initialize in the version that was asked for, if it is one.
func (d *dispatcher) welcome() []byte {
	version := textAt(d.msg.Message.Params(), "protocolVersion")
	if !slices.Contains(rpc.LegacyVersions, version) {
		version = rpc.Legacy
	}
	out := []byte(`{"capabilities":{"tools":{},"prompts":{}},"serverInfo":` + findInfo + `}`)
	out = strict.Set(out, strict.Quote(version), "protocolVersion")
	return strict.Set(out, strict.Quote(d.instructions()), "instructions")
}

func (d *dispatcher) discovered() []byte {
	out := []byte(`{"resultType":"complete","supportedVersions":["` + rpc.Modern + `"],"capabilities":{"tools":{},"prompts":{}},"ttlMs":5000,"cacheScope":"private"}`)
	out = strict.Set(out, []byte(findInfo), "_meta", rpc.MetaServer)
	return strict.Set(out, strict.Quote(d.instructions()), "instructions")
}

// instructions say how the endpoint is used, and the rules.
func (d *dispatcher) instructions() string {
	const use = "Tools of many servers are behind these. Search with find_tools, read a definition with describe_tool, call with the call_ tool it names.\n"
	rules, o := d.judge.advice(&d.msg.Principal)
	o.Budget = prompt.BriefBudget - annotary.Tokens(len(use))
	section, err := prompt.Brief(nil, rules, o)
	if err != nil { // the rules are longer than ever: how it is used must be said
		return use
	}
	return use + section.Text
}

// prompt answers with the safety rules for all that the caller may see.
func (d *dispatcher) prompt(ctx context.Context) *upstream.Answer {
	if name, _ := d.msg.Message.Target(); name != SafetyPrompt {
		return d.fault(rpc.CodeInvalidParams, "unknown prompt")
	}
	return d.judge.safetyAnswer(d.msg, d.gateway.indexFor(ctx, d.judge, d.msg).tools)
}

// call carries out one of the endpoint's tools.
func (d *dispatcher) call(ctx context.Context) (*upstream.Answer, error) {
	name, _ := d.msg.Message.Target()
	switch name {
	case toolFind:
		return d.search(ctx), nil
	case toolDescribe:
		return d.describe(ctx)
	}
	for _, door := range doors {
		if door.name == name {
			return d.forward(ctx, door.class)
		}
	}
	a := d.fault(rpc.CodeInvalidParams, "unknown tool: "+name)
	a.Body = strict.Set(a.Body, reasonData(annotary.CodeUnknownTool), "error", "data")
	return a, nil
}

// target is the tool that a call names as SERVER/TOOL.
func (d *dispatcher) target() (*upstream.Server, string) {
	server, name, _ := strings.Cut(textAt(d.msg.Message.Arguments(), "tool"), "/")
	return d.gateway.Servers()[server], name
}

// forward takes the call down the line as if the client had made it itself, with
// the door it came by.
func (d *dispatcher) forward(ctx context.Context, door annotary.Class) (*upstream.Answer, error) {
	server, name := d.target()
	if server == nil {
		return unknownTarget(d.msg), nil
	}
	args := strict.Get(d.msg.Message.Arguments(), "arguments")
	if args == nil {
		args = []byte("{}")
	}
	params := strict.Set(d.msg.Message.Params(), strict.Quote(name), "name")
	inner := *d.msg
	inner.Server, inner.Header, inner.Session, inner.door = server.Name, nil, nil, &door
	answer, err := d.bridge(ctx, server, &inner, strict.Set(params, args, "arguments"))
	if annotary.CodeOf(err) == CodeUnknownServer { // it is for others
		return unknownTarget(d.msg), nil
	}
	return answer, err
}

// passDoor refuses a call that does more than its door may.
func (m *matter) passDoor() {
	door := m.call.door
	if door == nil || m.hints.Class() >= *door {
		return
	}
	d := refusing(annotary.CodeDoor, "it is "+m.hints.Class().String()+", and "+doorFor(*door)+" is for what is no worse than "+door.String())
	d.Reasons[0].Hint = "if it is what the user wants, call it by " + doorFor(m.hints.Class())
	m.refuse(annotary.CodeDoor, d)
}

// unknownTarget answers who named a tool that is not there, or not for them.
func unknownTarget(call *Call) *upstream.Answer {
	result := failure(call.Era, annotary.CodeUnknownTool, "there is no tool of this name; find_tools knows those there are")
	return &upstream.Answer{Status: http.StatusOK, Body: rpc.NewResult(call.Message.ID(), result)}
}
