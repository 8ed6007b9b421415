package audit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary/audit"
)

// TestSummary: calls are counted once, by whom and by which rules; a rule that
// asks once asks once for each user and tool; what is no decision counts nowhere.
func TestSummary(t *testing.T) {
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	once := []audit.Reason{{Code: "class_rule", Rule: "rules/write/ask", Ask: "ask_once"}}
	each := []audit.Reason{{Code: "class_rule", Rule: "rules/write/ask", Ask: "ask_once"}, {Code: "irreversible", Rule: "rules/irreversible/ask", Ask: "ask"}}
	stop := []audit.Reason{{Code: "killed"}}
	entry := func(who, tool, class, effect string, observe bool, reasons []audit.Reason) audit.Entry {
		return audit.Entry{Kind: audit.Decided, Time: noon, Subject: who, Server: "db", Tool: tool, Class: class, Effect: effect, Observe: observe, Reasons: reasons}
	}
	var c audit.Counter
	for _, e := range []audit.Entry{
		entry("ann", "get", "read", "allow", false, nil),
		entry("ann", "put", "write", "ask", true, once),
		entry("ann", "put", "write", "ask", true, once),
		entry("bob", "put", "write", "ask", true, once),
		entry("bob", "drop", "destructive", "ask", true, each),
		entry("bob", "drop", "destructive", "ask", true, each),
		entry("eve", "get", "read", "deny", false, stop),
		{Kind: audit.Outcome, Subject: "mallory", Effect: "deny", Observe: true},
		{Kind: audit.Acted, Subject: "operator"},
	} {
		c.Add(&e)
	}
	want := audit.Summary{
		Calls: 7, Users: 3, ByClass: map[string]int{"read": 2, "write": 3, "destructive": 2}, First: noon, Last: noon,
		WouldBlock: audit.Blocks{
			Calls: 5, Users: 2, Asked: 5, Prompts: 4,
			Rules: []audit.RuleCount{{"rules/write/ask", "ask", 5, 2}, {"rules/irreversible/ask", "ask", 2, 1}},
			Tools: []audit.ToolCount{{"db", "put", 3}, {"db", "drop", 2}},
		},
		Blocked: audit.Blocks{
			Calls: 1, Users: 1,
			Rules: []audit.RuleCount{{"killed", "deny", 1, 1}}, Tools: []audit.ToolCount{{"db", "get", 1}},
		},
	}
	if diff := cmp.Diff(want, c.Summary()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
