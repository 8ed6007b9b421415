package derive

import (
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Rules returns the narrowing rules that a tool's input schema suggests, in
// the order of its properties. They are proposals: the names of parameters say
// what they are for, not that the server obeys them.
func Rules(t annotary.Tool) []Rule {
	var rules []Rule
	for name, schema := range strict.Members(strict.Get(t.Input, "properties")) {
		at := "/" + strict.EscapePointer(name)
		switch kind := suggests(&t, squash(name), schema); kind {
		case "":
		case KindSQL:
			rules = append(rules, Rule{Kind: kind, At: at, Dialect: dialectOf(&t)})
		default:
			rules = append(rules, Rule{Kind: kind, At: at})
		}
	}
	return rules
}

// suggests returns the kind of rule a parameter suggests, or "".
func suggests(t *annotary.Tool, param string, schema strict.Raw) Kind {
	kind, _ := strict.Text(strict.Get(schema, "type"))
	values := enumOf(schema)
	switch {
	case kind == "boolean" && slices.Contains([]string{"dryrun", "previewonly", "validateonly", "simulate"}, param):
		return KindDryRun
	case kind != "string":
		return ""
	case slices.Contains([]string{"sql", "sqlquery", "sqltext", "sqlstatement"}, param),
		slices.Contains([]string{"query", "statement"}, param) && mentions(t, "sql", "postgres", "postgresql", "mysql", "mariadb", "sqlite"):
		return KindSQL
	case slices.Contains([]string{"method", "httpmethod", "verb"}, param) && slices.Contains(values, "GET"):
		return KindHTTP
	case slices.Contains([]string{"action", "operation", "op", "command", "subcommand"}, param) && mixes(values):
		return KindAction
	}
	return ""
}

// mixes reports whether some of the actions only read and others do not.
func mixes(actions []string) bool {
	return slices.ContainsFunc(actions, readsOnly) &&
		slices.ContainsFunc(actions, func(a string) bool { return !readsOnly(a) })
}

// enumOf returns the texts a schema lists.
func enumOf(schema strict.Raw) []string {
	var values []string
	for _, v := range strict.Elements(strict.Get(schema, "enum")) {
		if s, ok := strict.Text(v); ok {
			values = append(values, s)
		}
	}
	return values
}

// mentions reports whether the tool's name, server or description has one of
// the words.
func mentions(t *annotary.Tool, words ...string) bool {
	for _, text := range []string{t.Name, t.Server, t.Title, t.Description} {
		for _, w := range splitName(text) {
			if slices.Contains(words, w) {
				return true
			}
		}
	}
	return false
}

// dialectOf returns the one dialect a tool speaks of, or "".
func dialectOf(t *annotary.Tool) string {
	found := ""
	for dialect, words := range map[string][]string{
		"postgres": {"postgres", "postgresql", "pg"}, "mysql": {"mysql", "mariadb"}, "sqlite": {"sqlite"},
	} {
		if !mentions(t, words...) {
			continue
		}
		if found != "" {
			return ""
		}
		found = dialect
	}
	return found
}
