package lint

import "slices"

// A Rule is one thing the linter looks at. Its ID is stable.
type Rule struct {
	ID string
	// Severity under each profile; Off where the profile does not ask.
	Severity [NumProfiles]Severity
	// Fixable rules leave no finding once the patch of [Fix] is applied.
	Fixable bool
	// Demand says in one sentence what a definition should be like.
	Demand string
	// Vendor says what the one for whom a profile speaks demands, in our
	// words, and where it says so.
	Vendor map[Profile]string

	tool func(*pass) []Finding
	list func(*list) []Finding
}

// DemandOf returns the demand as the profile has it.
func (r *Rule) DemandOf(p Profile) string {
	if s := r.Vendor[p]; s != "" {
		return s
	}
	return r.Demand
}

// Rules returns every rule, in the order in which they are judged.
func Rules() []Rule { return slices.Clone(rules) }

// at names a rule's severities in the order of the profiles: spec, anthropic,
// openai, strict.
func at(spec, anthropic, openai, strict Severity) [NumProfiles]Severity {
	return [NumProfiles]Severity{spec, anthropic, openai, strict}
}

// always is one severity under every profile.
func always(s Severity) [NumProfiles]Severity { return at(s, s, s, s) }

var rules = slices.Concat(
	contradictionRules, hintRules, actionRules, nameRules, titleRules, textRules, headerRules, sizeRules,
)
