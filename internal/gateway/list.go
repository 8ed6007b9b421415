package gateway

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// maxTTL is how long, in milliseconds, a client may keep a list: hints change
// when the operator changes them.
const maxTTL = 5000

// shows returns what turns a server's answer about itself, or about what it has,
// into what this caller is to see; nil for every other message.
func (j *Judge) shows(ctx context.Context, s *upstream.Server, call *Call) func([]byte) ([]byte, error) {
	if call.Message.Kind != rpc.Request {
		return nil
	}
	switch call.Message.Method {
	case "tools/list":
		return func(msg []byte) ([]byte, error) { return j.showList(call, msg) }
	case "prompts/list":
		return func(msg []byte) ([]byte, error) { return addPrompt(call, msg), nil }
	case "resources/list", "resources/templates/list":
		return func(msg []byte) ([]byte, error) { return private(call.Era, msg), nil }
	case "initialize", "server/discover":
		return func(msg []byte) ([]byte, error) { return j.present(ctx, s, call, msg), nil }
	}
	return nil
}

// own answers what is ours to answer; nil for everything else.
func (j *Judge) own(ctx context.Context, s *upstream.Server, call *Call) *upstream.Answer {
	name, _ := call.Message.Target()
	switch {
	case call.Message.Kind != rpc.Request:
	case call.Message.Method == "prompts/get" && name == SafetyPrompt:
		return j.safetyAnswer(call, j.visible(ctx, s, call))
	case call.Message.Method == "prompts/list" && call.Session.hasNo("prompts"):
		return &upstream.Answer{Status: http.StatusOK, Body: rpc.NewResult(call.Message.ID(), onlyPrompt(call.Era))}
	}
	return nil
}

// showList turns a server's answer to tools/list into what this caller may see:
// hidden tools are not there, the others say what holds. Every byte we do not
// own is as it was.
func (j *Judge) showList(call *Call, answer []byte) ([]byte, error) {
	result := strict.Get(answer, "result")
	tools := strict.Get(result, "tools")
	if strict.KindOf(tools) != strict.Array {
		return answer, nil // an error, or nothing we know how to show
	}
	var defs []annotary.Tool
	for _, raw := range strict.Elements(tools) {
		// A definition that cannot be read cannot be judged, so it is not there.
		if t, err := annotary.ParseTool(bytes.Clone(raw)); err == nil {
			defs = append(defs, t)
		}
	}
	defs = catalog.Firsts(defs)
	known, err := j.learn(call.Server, defs)
	if err != nil {
		return nil, err
	}
	who := j.subject(&call.Principal)
	shown := []byte{'['}
	for _, d := range defs {
		t := known.Tool(d.Name)
		if t == nil || !j.offers(call, who, t) {
			continue
		}
		if len(shown) > 1 {
			shown = append(shown, ',')
		}
		shown = append(shown, t.Shown...)
	}
	out := strict.Set(answer, append(shown, ']'), "result", "tools")
	return private(call.Era, out), nil
}

// private says that the list is for this caller only and not for long. In the
// legacy era nobody speaks of keeping lists.
func private(era upstream.Era, answer []byte) []byte {
	result := strict.Get(answer, "result")
	if strict.KindOf(result) != strict.Object {
		return answer
	}
	ttl := strict.Get(result, "ttlMs")
	if era == upstream.EraModern || strict.Get(result, "cacheScope") != nil {
		answer = strict.Set(answer, []byte(`"private"`), "result", "cacheScope")
	}
	if n, err := strconv.Atoi(string(ttl)); (era == upstream.EraModern || ttl != nil) && (err != nil || n > maxTTL || n < 0) {
		answer = strict.Set(answer, strconv.AppendInt(nil, maxTTL, 10), "result", "ttlMs")
	}
	return answer
}

// extensionUI is what a host declares that renders MCP Apps.
const extensionUI = "io.modelcontextprotocol/ui"

// seeThrough says whether the caller may know of the tool by this call: what
// belongs to an app is there for hosts that render apps, and for nobody who
// searches.
func (j *Judge) seeThrough(call *Call, who *policy.Subject, t *catalog.Tool) annotary.Decision {
	d := j.see(&call.Principal, who, t)
	if d.Effect == annotary.Allow && !t.ModelVisible && (call.Server == Find || call.door != nil || !call.rendersApps()) {
		d = refusing(annotary.CodeAppOnly, "only the app of its server may use it")
		d.Reasons[0].Hint = "use a host that renders apps (" + extensionUI + ")"
	}
	return d
}

// rendersApps reports whether the caller's host declared that it renders apps.
func (c *Call) rendersApps() bool {
	caps := strict.Get(c.Message.Meta(), rpc.MetaCapabilities)
	if c.Era == upstream.EraLegacy && c.Session != nil {
		caps = c.Session.capabilities()
	}
	return strict.Get(caps, "extensions", extensionUI) != nil
}

// capabilities are what the client declared when it opened the session.
func (s *Session) capabilities() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strict.Get(s.hello, "params", "capabilities")
}
