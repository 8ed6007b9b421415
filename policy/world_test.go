package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

// TestTags: policies see every leaf of the arguments, what is empty too, up to
// bounds beyond which they are told that there is more.
func TestTags(t *testing.T) {
	target := policy.NewTarget(policy.About{Server: "s", Name: "t", Hints: reader()})
	holds := func(condition, args string) bool {
		s := mustNew(t, policy.Options{Files: []policy.File{{Name: "f", Text: `
			permit(principal, action in [Action::"call", Action::"unattended"], resource) when { ` + condition + ` };`}}})
		return s.Decide(&policy.Request{Who: who("ann"), Target: target, Arguments: []byte(args), Seen: annotary.CleanLabel(), Now: noon}).Effect == annotary.Allow
	}
	has := func(key, value string) string {
		return fmt.Sprintf(`context.args.hasTag(%q) && context.args.getTag(%q) == %q`, key, key, value)
	}
	list := func(n int, leaf string) string {
		return `{"a":[` + strings.TrimSuffix(strings.Repeat(leaf+",", n), ",") + `]}`
	}
	deep := func(n int, leaf string) string { return strings.Repeat(`{"a":`, n) + leaf + strings.Repeat("}", n) }
	const more = `context.truncated && context.args.hasTag("truncated")`
	for _, tt := range []struct {
		condition, args string
		want            bool
	}{
		{has("/a", "x"), `{"a":"x"}`, true},
		{has("/a", "null"), `{"a":null}`, true},
		{has("/a", "15e-1"), `{"a":1.50}`, true},
		{has("/a/0/b~1c", "true"), `{"a":[{"b/c":true}]}`, true},
		{`context.ints.hasTag("/n") && context.ints.getTag("/n") == 7`, `{"n":7}`, true},
		{has("/a", "[]"), `{"a":[ ]}`, true},
		{has("/a", "{}"), `{"a":{}}`, true},
		{has("/a/1", "[]"), `{"a":["x",[]]}`, true},
		{`context.args.hasTag("/a")`, `{}`, false},
		{`context.args.hasTag("/a")`, `{"a":["x"]}`, false},
		{`context.args.hasTag("")`, `{}`, false},
		{more, list(64, `1`), false},
		{more, list(65, `1`), true},
		{more, list(64, `[]`), false},
		{more, list(65, `{}`), true},
		{more, `{"a":"` + strings.Repeat("x", 4094) + `"}`, false},
		{more, `{"a":"` + strings.Repeat("x", 4095) + `"}`, true},
		{more, deep(8, `1`), false},
		{more, deep(8, `[]`), true},
		{more, deep(9, `1`), true},
	} {
		if got := holds(tt.condition, tt.args); got != tt.want {
			t.Errorf("%s of %.80s: %v, want %v", tt.condition, tt.args, got, tt.want)
		}
		if got := policy.Truncated([]byte(tt.args)); tt.condition == more && got != tt.want {
			t.Errorf("%.80s is truncated: %v, want %v", tt.args, got, tt.want)
		}
	}
}
