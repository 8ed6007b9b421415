package config

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
)

// A Profile is a named set of callers, the servers that are theirs alone, and
// the rules that hold for them.
type Profile struct {
	// Users are the subjects that are in the profile, as their issuer names
	// them. The local user is called local.
	Users []string `yaml:"users"`
	// Groups are those whose members are in the profile.
	Groups []string `yaml:"groups"`
	// Servers are for this profile. A server that profiles name is not there
	// for callers who are in none of them; one that no profile names is there
	// for everybody.
	Servers []string `yaml:"servers"`
	// Preset names the rules that hold for the callers of this profile,
	// instead of those for everybody. Whoever is in several profiles with
	// rules may do what one of them permits, unless another refuses or asks.
	Preset Preset `yaml:"preset"`
	// Rules are your own, in place of a preset.
	Rules *Rules `yaml:"rules"`
}

// An OpenRule speaks of tools not known to stay in a closed world. A verdict
// alone is Else.
type OpenRule struct {
	// Allow names the profiles whose callers may use them, each written
	// profile:NAME.
	Allow []string `yaml:"allow"`
	// Else is what holds for all others. If left out, deny.
	Else annotary.Verdict `yaml:"else"`
}

// Observe has policies decide and record, and block nothing.
type Observe struct {
	// Until is the last day on which nothing is blocked, written 2027-01-31.
	// Then policies are enforced, without a restart. It may be at most 92 days
	// ahead.
	Until Day `yaml:"until"`
}

// maxObserve is how far ahead the end of observing may be.
const maxObserve = 92 * 24 * time.Hour

func (d *decoder) checkModes(c *Config, root *yaml.Node) {
	for name, p := range c.Profiles {
		d.checkProfile(c, root, name, p)
	}
	d.checkAllowed(c, root, c.Rules, "rules")
	if len(c.Profiles) > 0 && !c.Judged() {
		d.at(root, []string{"profiles"}, "write 'preset: careful'", "profiles mean something only where calls are judged")
	}
	if c.Observe == nil {
		return
	}
	end := c.Observe.Until.End()
	switch {
	case end.IsZero():
		d.at(root, []string{"observe"}, "write observe: {until: 2027-01-31}", "observe must say until when")
	case end.After(time.Now().Add(maxObserve)):
		d.at(root, []string{"observe", "until"}, "choose a day within 92 days; it can be moved later", "observe.until is too far ahead: nothing would be enforced for too long")
	case !c.Judged():
		d.at(root, []string{"observe"}, "write 'preset: careful'", "observe means something only where calls are judged")
	}
}

func (d *decoder) checkProfile(c *Config, root *yaml.Node, name string, p Profile) {
	path := func(rest ...string) []string { return append([]string{"profiles", name}, rest...) }
	if why := badName(name); why != "" {
		d.at(root, path(), "", "a profile cannot be called %q: %s", name, why)
	}
	if len(p.Users) == 0 && len(p.Groups) == 0 {
		d.at(root, path(), "name users or groups", "nobody is in the profile %s", name)
	}
	for _, s := range p.Servers {
		if _, ok := c.Servers[s]; !ok {
			d.at(root, path("servers"), "", "the profile %s names a server %q, and there is none", name, s)
		}
	}
	if p.Preset == PresetOff {
		d.at(root, path("preset"), "remove it, or write rules", "a profile has a preset or rules, or those of everybody")
	}
	if p.Preset != "" && p.Rules != nil {
		d.at(root, path("rules"), "remove one of them", "the profile %s has both a preset and rules", name)
	}
	d.checkAllowed(c, root, p.Rules, path("rules")...)
}

// checkAllowed finds profiles that a rule names and nobody wrote.
func (d *decoder) checkAllowed(c *Config, root *yaml.Node, r *Rules, path ...string) {
	if r == nil {
		return
	}
	for _, a := range r.Open.Allow {
		name, ok := strings.CutPrefix(a, annotary.ProfilePrefix)
		if _, known := c.Profiles[name]; !ok || !known {
			d.at(root, append(slices.Clone(path), "open", "allow"), "write profile:NAME with a name below profiles", "there is no profile %q", a)
		}
	}
}

// rules returns what is written as the rules of package annotary, nil if nothing
// is.
func (p Preset) rules(own *Rules) *annotary.Rules {
	switch {
	case own != nil:
		return &annotary.Rules{
			Read: own.Read, Write: own.Write, Destructive: own.Destructive, Irreversible: own.Irreversible,
			Open: annotary.OpenRule{Allow: own.Open.Allow, Else: own.Open.Else},
		}
	case p != "" && p != PresetOff:
		r, err := annotary.PresetRules(string(p))
		if err != nil { // UnmarshalText let no other name in
			return &annotary.Rules{}
		}
		return &r
	}
	return nil
}

// ProfileRules returns the rules of the profiles that have their own.
func (c *Config) ProfileRules() map[string]annotary.Rules {
	rules := map[string]annotary.Rules{}
	for name, p := range c.Profiles {
		if r := p.Preset.rules(p.Rules); r != nil {
			rules[name] = *r
		}
	}
	return rules
}
