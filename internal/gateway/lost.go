package gateway

import "github.com/annotary/annotary"

// log is where the entries of this call go: for a call that may happen while the
// store is lost, the spool that stands before the log.
func (m *matter) log() Log {
	if m.judge.Spool != nil && m.told == "" && m.mayOverlap() && m.raisesNothing() {
		return m.judge.Spool
	}
	return m.judge.Log
}

// raisesNothing reports whether the result can bring neither private data nor
// strangers' words into the conversation. What nobody says of a tool counts as
// no private data, and as no strangers' words only if the server is believed.
func (m *matter) raisesNothing() bool {
	untrusted := m.hints[annotary.Untrusted].Value
	return m.hints[annotary.Sensitive].Value != annotary.Yes &&
		(untrusted == annotary.No || untrusted == annotary.Unknown && m.judge.Stances[m.server.Name].Believe)
}
