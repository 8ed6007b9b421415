package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/policy"
)

// buildJudge makes what judges calls by this configuration.
func buildJudge(c *config.Config, path string, l *ledger) (*gateway.Judge, error) {
	set, err := compilePolicies(c)
	if err != nil {
		return nil, err
	}
	j := &gateway.Judge{
		Policies: set, Rules: c.ShortRules(), Log: l.log, Content: c.Audit.Arguments, Kills: l.kills,
		Stances: map[string]catalog.Stance{}, Methods: map[string][]string{},
		StepUp: c.OnMissingScope == config.Challenge, Profiles: profilesOf(c),
	}
	if c.Observe != nil {
		j.Observe = c.Observe.Until.End()
	}
	for name, s := range c.Servers {
		stance := stanceOf(s)
		stance.Scopes = scopeRules(c, name, path)
		j.Stances[name], j.Methods[name] = stance, s.Methods
	}
	if c.OnStoreLoss == config.AllowReads {
		j.Spool = l.spool
	}
	return j, nil
}

// compilePolicies makes the policies of a configuration.
func compilePolicies(c *config.Config) (*policy.Set, error) {
	files, err := readPolicies(policyPaths(c))
	if err != nil {
		return nil, err
	}
	return policy.New(policy.Options{
		Rules: c.ShortRules(), Profiles: c.ProfileRules(), Files: files, Fleet: c.Identity.Asks(),
	})
}

// profilesOf are the profiles of a configuration, by name.
func profilesOf(c *config.Config) []gateway.Profile {
	var out []gateway.Profile
	rules := c.ProfileRules()
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		profile := gateway.Profile{Name: name, Users: p.Users, Groups: p.Groups, Servers: p.Servers}
		if own, ok := rules[name]; ok {
			profile.Rules = &own
		}
		out = append(out, profile)
	}
	return out
}

func policyPaths(c *config.Config) []string {
	paths := make([]string, len(c.Policies))
	for i, p := range c.Policies {
		paths[i] = p.Value()
	}
	return paths
}

func readPolicies(paths []string) ([]policy.File, error) {
	files := make([]policy.File, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, cannotRead(path, err)
		}
		files[i] = policy.File{Name: path, Text: string(text)}
	}
	return files, nil
}

// originOf digests how a server is started or reached: another package, another
// version or another address is another server, whatever its tools say.
func originOf(s config.Server) string {
	h := sha256.New()
	for _, part := range append([]config.Text{s.Command, s.URL}, s.Args...) {
		fmt.Fprintf(h, "%d:%s", len(part.Value()), part.Value())
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// stanceOf is what the configuration says of a server's tools.
func stanceOf(s config.Server) catalog.Stance {
	stance := catalog.Stance{Believe: s.Believed(), Identity: originOf(s), Unvalidated: s.Validate == config.Off, Unordered: s.Lanes == config.Off}
	for pattern, o := range s.Overrides {
		stance.Overrides = append(stance.Overrides, catalog.Override{
			Tools: pattern, Hints: o.Hints(), Reason: o.Reason, Expires: o.Until.End(), At: o.Position(),
		})
	}
	for pattern, n := range s.Narrow {
		stance.Narrow = append(stance.Narrow, catalog.Narrow{Tools: pattern, Rule: n.Rule(), At: n.Position()})
	}
	return stance
}
