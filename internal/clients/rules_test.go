package clients

import (
	"path/filepath"
	"testing"

	"github.com/annotary/annotary"
)

func TestRules_For(t *testing.T) {
	h := home(t, map[string]string{
		".claude/settings.json": `{"permissions": {
		  "allow": ["Bash(git:*)", "mcp__files", "mcp__git__*", "mcp__mail__read_*", "mcp__*", "mcp__my_server__go"],
		  "ask": ["mcp__git__push"], "deny": ["mcp__*__delete_*"]}}`,
		"work/.claude/settings.local.json": `{"permissions": {"allow": ["mcp__shop__list"]}}`,
		"work/.claude/settings.json":       `{"permissions": `,
	})
	found := Find(Place{Home: h, Project: filepath.Join(h, "work")})
	tests := []struct {
		client       ID
		server, tool string
		want         Rule
	}{
		{ClaudeCode, "files", "write_file", RuleAllow},
		{ClaudeCode, "files", "delete_file", RuleDeny},
		{ClaudeCode, "files2", "write_file", NoRule},
		{ClaudeCode, "git", "status", RuleAllow},
		{ClaudeCode, "git", "push", RuleAsk},
		{ClaudeCode, "mail", "read_inbox", RuleAllow},
		{ClaudeCode, "mail", "send", NoRule},
		{ClaudeCode, "my server", "go", RuleAllow},
		{ClaudeCode, "shop", "list", RuleAllow},
		{Cursor, "files", "write_file", NoRule},
	}
	for _, tt := range tests {
		if got := found.Rules.For(tt.client, tt.server, tt.tool); got != tt.want {
			t.Errorf("%s %s/%s: got rule %d, want %d", tt.client, tt.server, tt.tool, got, tt.want)
		}
	}
	if len(found.Files) != 1 || found.Files[0].Problem == "" {
		t.Errorf("got files %v, want the torn one with its problem", found.Files)
	}
}

func TestHost_Judge_Rules(t *testing.T) {
	tests := []struct {
		mode, hints string
		rule        Rule
		want        annotary.Effect
	}{
		{"normal", "", RuleAllow, annotary.Allow},
		{"normal", "r=true", RuleAsk, annotary.Ask},
		{"normal", "r=true", RuleDeny, annotary.Deny},
		{"plan mode", "", RuleAllow, annotary.Ask}, // the rule does not help
		{"plan mode", "r=true", RuleAllow, annotary.Allow},
		{"plan mode", "r=true", RuleAsk, annotary.Ask},
		{"plan mode", "r=true", RuleDeny, annotary.Deny},
	}
	for _, tt := range tests {
		for _, h := range HostsOf(ClaudeCode) {
			if h.Mode != tt.mode {
				continue
			}
			if got := h.Judge(hints(t, tt.hints), tt.rule).Effect; got != tt.want {
				t.Errorf("%s, %q, rule %d: got %s, want %s", tt.mode, tt.hints, tt.rule, got, tt.want)
			}
		}
	}
}

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*", "", true}, {"*b", "ab", true},
		{"a*b*c", "axbxc", true}, {"a*b*c", "axc", false}, {"a*a", "a", false}, {"", "a", false},
	}
	for _, tt := range tests {
		if got := glob(tt.pattern, tt.name); got != tt.want {
			t.Errorf("glob(%q, %q) = %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}
