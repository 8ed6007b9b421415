package audit_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// An agent of one's own keeps the same log as a gateway: who, what, by which
// hints, how grave, and what was decided.
func ExampleEntry() {
	tool := annotary.Tool{Server: "shop", Name: "order_cancel"}
	hints := annotary.PresetDestructive.Hints(annotary.FromOperator, "accepted")
	rules, err := annotary.PresetRules("careful")
	if err != nil {
		panic(err)
	}
	decision := rules.Judge(&hints, annotary.CleanLabel()).Decision()

	e := audit.Entry{
		Kind: audit.Decided, Call: "c-1", Method: "tools/call",
		Time:     time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC),
		Severity: audit.SeverityOf(&hints, decision.Effect),
	}
	e.SetPrincipal(&annotary.Principal{Tenant: annotary.DefaultTenant, Subject: "ann"})
	e.SetTool(&tool, &hints)
	e.SetDecision(decision)
	line, err := e.Encode()
	if err != nil {
		panic(err)
	}
	back, err := audit.Decode(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(back.Subject, back.Tool, back.Class, back.Severity, back.Effect, back.Reasons[0].Code)
	// Output: ann order_cancel destructive high ask class_rule
}

// Two entries are sealed by a checkpoint; then somebody edits the first.
func ExampleVerify() {
	secret, err := audit.NewKey("log.example.test")
	if err != nil {
		panic(err)
	}
	key, err := audit.ParseKey(secret)
	if err != nil {
		panic(err)
	}
	var tree audit.Tree
	lines := []string{`{"v":1,"call":"c-1","tool":"order_cancel"}`, `{"v":1,"call":"c-2","tool":"orders_list"}`}
	for _, line := range lines {
		tree.Add(audit.LeafHash([]byte(line)))
	}
	root, err := tree.Root()
	if err != nil {
		panic(err)
	}
	signed, err := audit.Checkpoint{Origin: "log.example.test", Size: tree.Size(), Root: root}.Sign(key)
	if err != nil {
		panic(err)
	}
	for _, log := range []string{lines[0] + "\n" + lines[1] + "\n", `{"v":1,"call":"c-1","tool":"order_get"}` + "\n" + lines[1] + "\n"} {
		report, err := audit.Verify(audit.Sources{
			Entries: bytes.NewBufferString(log), Known: [][]byte{signed}, Keys: []string{key.Public()},
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("whole: %v; %q\n", report.Whole(), report.Why)
	}
	// Output:
	// whole: true; ""
	// whole: false; "entries 0 to 1 are not what was sealed"
}
