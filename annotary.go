// Package annotary holds the words the project is written in: what a tool does
// to the world and who vouches for it, what a conversation has seen, what was
// decided about a call and why.
//
// # The eight hints
//
// MCP gives a tool four behavioural hints; Annotary adds four. A decoded hint
// ([Stated]) is one of five things: absent, null, false, true, or of the wrong
// type. It becomes a [Claim], and [Resolve] makes of all claims one effective
// [Hint] with its value, who it is from, and why:
//
//	definition bytes ─ ParseTool ─▶ Tool{Stated[8]} ─▶ []Claim ─┐
//	derive.Tool ───────────────────────────────────▶ []Claim ─┼─ Resolve ─▶ Hints
//	operator, verify, confinement ─────────────────▶ []Claim ─┘
//
// A hint's zero value is unknown and counts as the dangerous one wherever it
// matters. An effective safe value is always vouched for: by the operator, by
// the kernel, by verified evidence, or by a server the operator believes.
//
// The package imports the standard library and internal/strict, nothing else,
// and reads no clock, file or network.
package annotary
