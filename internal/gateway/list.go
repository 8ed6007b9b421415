package gateway

import (
	"bytes"
	"strconv"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/policy"
)

// maxTTL is how long, in milliseconds, a client may keep a list: hints change
// when the operator changes them.
const maxTTL = 5000

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
	known, err := j.learn(call.Server, defs)
	if err != nil {
		return nil, err
	}
	apps, who := call.rendersApps(), policy.NewSubject(&call.Principal)
	shown := []byte{'['}
	for _, d := range defs {
		t := known.Tool(d.Name)
		if t == nil || (!t.ModelVisible && !apps) || j.see(&call.Principal, who, t).Effect != annotary.Allow {
			continue
		}
		if len(shown) > 1 {
			shown = append(shown, ',')
		}
		shown = append(shown, t.Shown...)
	}
	out := strict.Set(answer, append(shown, ']'), "result", "tools")
	return private(out, result), nil
}

// private says that the list is for this caller only and not for long, where the
// server said anything about keeping it.
func private(answer, result []byte) []byte {
	if strict.Get(result, "cacheScope") != nil {
		answer = strict.Set(answer, []byte(`"private"`), "result", "cacheScope")
	}
	if ttl := strict.Get(result, "ttlMs"); ttl != nil {
		if n, err := strconv.Atoi(string(ttl)); err != nil || n > maxTTL {
			answer = strict.Set(answer, strconv.AppendInt(nil, maxTTL, 10), "result", "ttlMs")
		}
	}
	return answer
}

// extensionUI is what a host declares that renders MCP Apps.
const extensionUI = "io.modelcontextprotocol/ui"

// rendersApps reports whether the caller's host declared that it renders apps.
func (c *Call) rendersApps() bool {
	caps := strict.Get(c.Message.Meta(), "io.modelcontextprotocol/clientCapabilities")
	if c.Session != nil {
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
