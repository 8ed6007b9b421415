package clients

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/annotary/annotary/internal/strict"
)

// A Rule is what a permission rule of the user's says about a tool.
type Rule uint8

// The rules, weakest first.
const (
	NoRule Rule = iota
	RuleAllow
	RuleAsk
	RuleDeny
)

// Rules are the permission rules of Claude Code, the one client whose rules are
// read. The zero value has none.
type Rules struct{ allow, ask, deny []string }

// ruleFiles are merged: a rule counts whichever file it stands in.
func ruleFiles(p *Place) []File {
	files := []File{{Client: ClaudeCode, Scope: User, Path: filepath.Join(p.folder("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")}}
	if p.Project != "" {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			files = append(files, File{Client: ClaudeCode, Scope: Project, Path: filepath.Join(p.Project, ".claude", name)})
		}
	}
	return files
}

// readRules reads the rules about MCP tools, and returns the files that cannot
// be read.
func readRules(p *Place) (Rules, []File) {
	var rules Rules
	var bad []File
	seen := map[string]bool{}
	for _, file := range ruleFiles(p) {
		if seen[file.Path] {
			continue
		}
		seen[file.Path] = true
		raw, err := readFile(file.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var doc strict.Raw
		if err == nil {
			doc, err = readJSON(raw)
		}
		if err != nil {
			file.Problem = problem(err)
			bad = append(bad, file)
			continue
		}
		rules.add(strict.Get(doc, "permissions"))
	}
	return rules, bad
}

func (r *Rules) add(permissions strict.Raw) {
	for key, list := range map[string]*[]string{"allow": &r.allow, "ask": &r.ask, "deny": &r.deny} {
		for _, raw := range strict.Elements(strict.Get(permissions, key)) {
			if rule, ok := strict.Text(raw); ok {
				*list = append(*list, rule)
			}
		}
	}
}

// For returns the rule for a tool of a server, by the server's name in the
// client. Deny counts before ask, and ask before allow.
func (r *Rules) For(id ID, server, tool string) Rule {
	if id != ClaudeCode {
		return NoRule
	}
	server = "mcp__" + notInNames.ReplaceAllString(server, "_")
	name := server + "__" + tool
	match := func(rule string) bool { return rule == server || glob(rule, name) }
	switch {
	case slices.ContainsFunc(r.deny, match):
		return RuleDeny
	case slices.ContainsFunc(r.ask, match):
		return RuleAsk
	case slices.ContainsFunc(r.allow, func(rule string) bool {
		// A rule that allows must name its server: Claude Code skips others.
		return (rule == server || strings.HasPrefix(rule, server+"__")) && match(rule)
	}):
		return RuleAllow
	}
	return NoRule
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// glob reports whether a pattern, in which * stands for anything, is the name.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	last := len(parts) - 1
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[last])
}
