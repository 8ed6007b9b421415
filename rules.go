package annotary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/annotary/annotary/internal/strict"
)

// A Verdict is the word a short rule says. The zero Verdict is no rule; where
// nothing else is said, it denies.
type Verdict uint8

// The verdicts, strictest first after the zero value.
const (
	NoRule            Verdict = iota // nothing is said
	VerdictDeny                      // it does not happen
	VerdictAskOutside                // a person decides, outside the client
	VerdictAsk                       // a person decides, each time
	VerdictAskOnce                   // a person decides once for this tool and conversation
	VerdictAllow                     // it happens
)

var verdictNames = [...]string{"", "deny", "ask_outside", "ask", "ask_once", "allow"}

// String returns the word used in configuration, or "" for no rule.
func (v Verdict) String() string { return verdictNames[v] }

// Effect returns what the verdict does to a call.
func (v Verdict) Effect() Effect {
	switch v {
	case VerdictAllow:
		return Allow
	case VerdictAsk, VerdictAskOnce, VerdictAskOutside:
		return Ask
	default:
		return Deny
	}
}

// MarshalText writes the verdict as its word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's word. An empty one is an error: who writes a
// rule says something.
func (v *Verdict) UnmarshalText(b []byte) error {
	i := slices.Index(verdictNames[:], string(b))
	if i < int(VerdictDeny) {
		return fmt.Errorf("a rule is allow, ask_once, ask, ask_outside or deny, not %q", b)
	}
	*v = Verdict(i)
	return nil
}

// Rules are the short rules: one verdict per class of tool, and three that only
// tighten. The zero Rules deny everything.
//
// Exactly one of Read, Write and Destructive speaks of a call; if that one is
// not set, nothing permits the call. Irreversible, EgressAfterBoth and Open add
// their verdict where they match. The strictest verdict wins, so that a worse
// label or a hint turned dangerous within its class never loosens a decision.
type Rules struct {
	Read        Verdict `json:"read,omitempty" yaml:"read,omitempty"`
	Write       Verdict `json:"write,omitempty" yaml:"write,omitempty"`
	Destructive Verdict `json:"destructive,omitempty" yaml:"destructive,omitempty"`
	// Irreversible speaks of destructive tools not known to have a way back.
	Irreversible Verdict `json:"irreversible,omitempty" yaml:"irreversible,omitempty"`
	// EgressAfterBoth speaks of calls that may carry something out after the
	// conversation has seen both private data and strangers' words.
	EgressAfterBoth Verdict `json:"egress_after_private_and_untrusted,omitempty" yaml:"egress_after_private_and_untrusted,omitempty"`
	// Open speaks of tools not known to stay in a closed world.
	Open OpenRule `json:"open,omitzero" yaml:"open,omitempty"`
}

// An OpenRule lets callers of some profiles reach the open world and says what
// holds for everybody else. The zero OpenRule is no rule.
type OpenRule struct {
	// Allow names the profiles, each written "profile:name".
	Allow []string `json:"allow,omitempty" yaml:"allow,omitempty"`
	// Else holds for callers in none of them. If zero while Allow is not
	// empty, they are denied.
	Else Verdict `json:"else,omitempty" yaml:"else,omitempty"`
}

// ProfilePrefix starts the name of a profile in a rule.
const ProfilePrefix = "profile:"

// IsZero reports whether there is no rule.
func (o OpenRule) IsZero() bool { return o.Else == NoRule && len(o.Allow) == 0 }

// UnmarshalJSON reads {"allow": [...], "else": "ask"}, or the verdict alone,
// which then holds for everybody.
func (o *OpenRule) UnmarshalJSON(b []byte) error {
	*o = OpenRule{}
	if s, ok := strict.Text(b); ok {
		return o.Else.UnmarshalText([]byte(s))
	}
	if strict.KindOf(b) != strict.Object {
		return fmt.Errorf("open is a verdict or {allow: [profile:...], else: verdict}")
	}
	for name, value := range strict.Members(b) {
		switch name {
		case "allow":
			if strict.KindOf(value) != strict.Array {
				return fmt.Errorf("open.allow is a list of profiles")
			}
			for _, v := range strict.Elements(value) {
				s, _ := strict.Text(v)
				o.Allow = append(o.Allow, s)
			}
		case "else":
			s, _ := strict.Text(value)
			if err := o.Else.UnmarshalText([]byte(s)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("open has no member %q, only allow and else", name)
		}
	}
	return o.validate()
}

func (o OpenRule) validate() error {
	for _, a := range o.Allow {
		if name, ok := strings.CutPrefix(a, ProfilePrefix); !ok || name == "" {
			return fmt.Errorf("open allows profiles, written %sname, not %q", ProfilePrefix, a)
		}
	}
	return nil
}

// For returns what the rule says to a caller of the given profiles.
func (o OpenRule) For(profiles ...string) Verdict {
	for _, p := range profiles {
		if slices.Contains(o.Allow, ProfilePrefix+p) {
			return VerdictAllow
		}
	}
	if len(o.Allow) > 0 && o.Else == NoRule {
		return VerdictDeny
	}
	return o.Else
}

// DefaultPreset is the preset that holds where nobody chose one.
const DefaultPreset = "careful"

// A RulePreset is a named set of rules.
type RulePreset struct {
	Name  string
	Rules Rules
}

// RulePresets returns the shipped presets, loosest first.
func RulePresets() []RulePreset {
	return []RulePreset{
		{"relaxed", Rules{
			Read: VerdictAllow, Write: VerdictAllow, Destructive: VerdictAskOnce,
			Irreversible: VerdictAsk, EgressAfterBoth: VerdictAskOutside,
		}},
		{DefaultPreset, Rules{
			Read: VerdictAllow, Write: VerdictAskOnce, Destructive: VerdictAsk,
			Irreversible: VerdictAsk, EgressAfterBoth: VerdictAskOutside,
		}},
		{"strict", Rules{
			Read: VerdictAllow, Write: VerdictAsk, Destructive: VerdictAskOutside,
			Irreversible: VerdictAskOutside, EgressAfterBoth: VerdictDeny,
			Open: OpenRule{Else: VerdictAsk},
		}},
	}
}

// PresetRules returns the rules of a preset. An empty name means
// [DefaultPreset].
func PresetRules(name string) (Rules, error) {
	if name == "" {
		name = DefaultPreset
	}
	names := make([]string, 0, 3)
	for _, p := range RulePresets() {
		if p.Name == name {
			return p.Rules, nil
		}
		names = append(names, p.Name)
	}
	return Rules{}, E(CodeConfig, fmt.Sprintf("there is no preset %q", name), nil).
		WithHint("presets are " + strings.Join(names, ", "))
}

// A Judgement is what the rules say of one call.
type Judgement struct {
	Verdict Verdict // never NoRule
	// Reasons are all rules that stand in the way of a plain yes; of a plain
	// yes, the rule that gives it.
	Reasons []Reason
}

// Decision returns the judgement as a decision, which knows three effects.
func (j Judgement) Decision() Decision {
	return Decision{Effect: j.Verdict.Effect(), Reasons: j.Reasons}
}

// Judge says what the rules make of a call: of a tool with the given effective
// hints, in a conversation that has seen what the label says, by a caller who is
// in the given profiles.
func (r Rules) Judge(h *Hints, seen Label, profiles ...string) Judgement {
	class, permit := h.Class(), r.ofClass(h.Class())
	if permit == NoRule {
		text := fmt.Sprintf("no rule permits %s tools", class)
		return Judgement{VerdictDeny, []Reason{{Code: CodeNoPermit, Rule: class.String(), Text: text}}}
	}
	j := Judgement{Verdict: VerdictAllow}
	j.add(CodeClass, class.String(), permit)
	if h.Irreversible() {
		j.add(CodeIrreversible, "irreversible", r.Irreversible)
	}
	if seen.Both() && h.MayLeave() {
		j.add(CodeTrifecta, "egress_after_private_and_untrusted", r.EgressAfterBoth)
	}
	if h.Open() {
		j.add(CodeOpenWorld, "open", r.Open.For(profiles...))
	}
	if len(j.Reasons) == 0 {
		j.Reasons = []Reason{reasonOf(CodeClass, class.String(), permit)}
	}
	return j
}

// ofClass returns the rule that can permit tools of a class.
func (r Rules) ofClass(c Class) Verdict {
	switch c {
	case Read:
		return r.Read
	case Write:
		return r.Write
	default:
		return r.Destructive
	}
}

// add joins the verdict of a rule that matched.
func (j *Judgement) add(code Code, rule string, v Verdict) {
	if v == NoRule || v == VerdictAllow {
		return
	}
	j.Verdict = min(j.Verdict, v)
	j.Reasons = append(j.Reasons, reasonOf(code, rule, v))
}

func reasonOf(code Code, rule string, v Verdict) Reason {
	return Reason{Code: code, Rule: rule, Text: ruleTexts[code] + ": " + v.String()}
}

// ruleTexts say to a person why a rule matched.
var ruleTexts = map[Code]string{
	CodeClass:        "the rule for tools of this class",
	CodeIrreversible: "it may destroy, and no way back is known",
	CodeTrifecta:     "the conversation has seen private data and strangers' words, and this call may carry them out",
	CodeOpenWorld:    "it reaches the open world",
}
