package rpc

import "github.com/annotary/annotary/internal/strict"

// The keys of _meta the protocol itself gives a meaning.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// The newest revision of each era.
const (
	Modern = "2026-07-28" // the first without a handshake
	Legacy = "2025-11-25" // the last with one
)

// LegacyVersions are the revisions that begin with initialize, newest first.
var LegacyVersions = []string{Legacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// IsModern reports whether a protocol version has no handshake. Versions are
// dates and compare as text.
func IsModern(version string) bool { return version >= Modern }

// methods are the names we expect, so that reading one allocates nothing.
var methods = internTable(
	"initialize", "ping", "server/discover", "subscriptions/listen",
	"tools/list", "tools/call", "tools/resolve",
	"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
	"tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result",
	"roots/list", "sampling/createMessage", "elicitation/create",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/message",
	"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
	"notifications/resources/updated", "notifications/roots/list_changed", "notifications/subscriptions/acknowledged",
)

func internTable(names ...string) map[string]string {
	table := make(map[string]string, len(names))
	for _, n := range names {
		table[n] = n
	}
	return table
}

// intern returns the text of a JSON string without allocating for known names.
func intern(quoted []byte) string {
	if n := len(quoted); n >= 2 {
		if name, ok := methods[string(quoted[1:n-1])]; ok {
			return name
		}
	}
	text, _ := strict.Text(quoted)
	return text
}
