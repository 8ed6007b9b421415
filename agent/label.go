package agent

import (
	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// metaTrust is the _meta key under which a server labels a result.
const metaTrust = "io.modelcontextprotocol/trust-annotations"

// LabelOf returns the label a server put on a result, the raw CallToolResult: on
// the whole of it, or on one of its blocks, which may only strengthen it. No label
// is no claim. A result that cannot be read gets the worst label.
func LabelOf(result []byte) annotary.Label {
	if err := strict.Check(result, strict.Limits{}); err != nil || strict.KindOf(result) != strict.Object {
		return annotary.Label{}
	}
	l := labelAt(result)
	for _, block := range strict.Elements(strict.Get(result, "content")) {
		l = l.Join(labelAt(block))
	}
	return l
}

// labelAt reads the trust annotations of one object. Whatever is said there but
// not false counts as yes: a label of the wrong type is no reason to trust.
func labelAt(raw strict.Raw) annotary.Label {
	trust := strict.Get(raw, "_meta", metaTrust)
	said := func(name string) bool {
		kind := strict.KindOf(strict.Get(trust, name))
		return kind != strict.Absent && kind != strict.False
	}
	l := annotary.CleanLabel()
	if said("sensitive") {
		l.Public, l.Sensitivity = false, annotary.SensitivityUnknown
	}
	l.Trusted = !said("untrusted")
	return l
}

// After returns what a conversation has seen once a tool's result was delivered:
// what it had seen, what the tool's hints imply and what the result's label says.
// Silence about strangers' words counts as yes, silence about private data as no,
// as it does at the gateway for servers that are not believed.
func After(seen annotary.Label, tool *annotary.Entry, result annotary.Label) annotary.Label {
	implied := annotary.CleanLabel()
	implied.Trusted = tool.Hints[annotary.Untrusted].Value == annotary.No
	if tool.Hints.Is(annotary.Sensitive) {
		implied.Public, implied.Sensitivity = false, annotary.SensitivityUnknown
	}
	added := implied.Join(result)
	if !added.Public || !added.Trusted {
		added.Attribution = []string{tool.Server + "/" + tool.Name}
	}
	return seen.Join(added)
}
