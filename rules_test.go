package annotary_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/annotary/annotary"
)

// hintsOf returns the pessimistic hints with some values set.
func hintsOf(set map[annotary.HintName]annotary.Value) annotary.Hints {
	h := annotary.Pessimistic()
	for n, v := range set {
		h[n] = annotary.Hint{Value: v, From: annotary.FromOperator}
	}
	return h
}

// allHints yields every combination of the hints that rules look at.
func allHints(yield func(annotary.Hints) bool) {
	values := []annotary.Value{annotary.Unknown, annotary.No, annotary.Yes}
	var h annotary.Hints
	var set func(i int) bool
	looked := []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.OpenWorld, annotary.Egress, annotary.Reversible}
	set = func(i int) bool {
		if i == len(looked) {
			return yield(h)
		}
		for _, v := range values {
			h[looked[i]].Value = v
			if !set(i + 1) {
				return false
			}
		}
		return true
	}
	set(0)
}

var (
	readClosed  = map[annotary.HintName]annotary.Value{annotary.ReadOnly: annotary.Yes, annotary.Destructive: annotary.No, annotary.OpenWorld: annotary.No}
	readOpen    = map[annotary.HintName]annotary.Value{annotary.ReadOnly: annotary.Yes, annotary.Destructive: annotary.No}
	readNoLeave = map[annotary.HintName]annotary.Value{annotary.ReadOnly: annotary.Yes, annotary.Destructive: annotary.No, annotary.Egress: annotary.No}
	writeClosed = map[annotary.HintName]annotary.Value{annotary.Destructive: annotary.No, annotary.OpenWorld: annotary.No}
	trash       = map[annotary.HintName]annotary.Value{annotary.Reversible: annotary.Yes, annotary.OpenWorld: annotary.No}
	drop        = map[annotary.HintName]annotary.Value{annotary.OpenWorld: annotary.No}
)

func TestRules_Judge(t *testing.T) {
	clean, worst := annotary.CleanLabel(), annotary.Label{}
	oneLeg := annotary.Label{Public: true}
	tests := []struct {
		name   string
		hints  map[annotary.HintName]annotary.Value
		seen   annotary.Label
		preset string
		want   annotary.Verdict
		rules  []string
	}{
		{"read", readClosed, clean, "careful", annotary.VerdictAllow, []string{"read"}},
		{"write", writeClosed, clean, "careful", annotary.VerdictAskOnce, []string{"write"}},
		{"write-relaxed", writeClosed, clean, "relaxed", annotary.VerdictAllow, []string{"write"}},
		{"trash-relaxed", trash, clean, "relaxed", annotary.VerdictAskOnce, []string{"destructive"}},
		{"drop-relaxed", drop, clean, "relaxed", annotary.VerdictAsk, []string{"destructive", "irreversible"}},
		{"drop-strict", drop, clean, "strict", annotary.VerdictAskOutside, []string{"destructive", "irreversible"}},
		{"nothing-known", nil, clean, "careful", annotary.VerdictAsk, []string{"destructive", "irreversible"}},
		{"one-leg", readOpen, oneLeg, "careful", annotary.VerdictAllow, []string{"read"}},
		{"both-legs-open-read", readOpen, worst, "careful", annotary.VerdictAskOutside, []string{"egress_after_private_and_untrusted"}},
		{"both-legs-closed-read", readClosed, worst, "strict", annotary.VerdictAllow, []string{"read"}},
		{"both-legs-no-egress", readNoLeave, worst, "careful", annotary.VerdictAllow, []string{"read"}},
		{"both-legs-strict", readOpen, worst, "strict", annotary.VerdictDeny, []string{"egress_after_private_and_untrusted", "open"}},
		{"open-strict", readOpen, clean, "strict", annotary.VerdictAsk, []string{"open"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, err := annotary.PresetRules(tt.preset)
			if err != nil {
				t.Fatal(err)
			}
			h := hintsOf(tt.hints)
			got := rules.Judge(&h, tt.seen)
			var names []string
			for _, r := range got.Reasons {
				names = append(names, r.Rule)
			}
			if got.Verdict != tt.want || !slices.Equal(names, tt.rules) {
				t.Errorf("Judge = %v by %q, want %v by %q", got.Verdict, names, tt.want, tt.rules)
			}
			if d := got.Decision(); d.Effect != tt.want.Effect() {
				t.Errorf("effect = %v, want %v", d.Effect, tt.want.Effect())
			}
		})
	}
}

// TestRules_Zero: I1, the zero value refuses.
func TestRules_Zero(t *testing.T) {
	for h := range allHints {
		for _, seen := range []annotary.Label{{}, annotary.CleanLabel()} {
			j := annotary.Rules{}.Judge(&h, seen)
			if j.Verdict != annotary.VerdictDeny || len(j.Reasons) != 1 || j.Reasons[0].Code != annotary.CodeNoPermit {
				t.Fatalf("zero rules on %v: %v", h, j)
			}
		}
	}
}

// TestRules_NeverLoosen: a worse label, or an added tightening rule, never
// loosens a verdict, whatever the rules.
func TestRules_NeverLoosen(t *testing.T) {
	words := []annotary.Verdict{annotary.NoRule, annotary.VerdictDeny, annotary.VerdictAskOutside, annotary.VerdictAsk, annotary.VerdictAskOnce, annotary.VerdictAllow}
	checked := 0
	for _, class := range words {
		for _, tight := range words {
			rules := annotary.Rules{Read: class, Write: class, Destructive: class}
			with := rules
			with.Irreversible, with.EgressAfterBoth, with.Open.Else = tight, tight, tight
			for h := range allHints {
				loose := rules.Judge(&h, annotary.CleanLabel()).Verdict
				clean := with.Judge(&h, annotary.CleanLabel()).Verdict
				worst := with.Judge(&h, annotary.Label{}).Verdict
				if clean > loose || worst > clean {
					t.Fatalf("class %v, tightening %v, %v: %v, then %v, then %v", class, tight, h, loose, clean, worst)
				}
				checked++
			}
		}
	}
	if checked == 0 {
		t.Fatal("nothing checked")
	}
}

func TestRules_OpenProfiles(t *testing.T) {
	rules := annotary.Rules{Read: annotary.VerdictAllow, Open: annotary.OpenRule{Allow: []string{"profile:research"}, Else: annotary.VerdictAsk}}
	h := hintsOf(readOpen)
	clean := annotary.CleanLabel()
	if got := rules.Judge(&h, clean, "office", "research").Verdict; got != annotary.VerdictAllow {
		t.Errorf("research: %v, want allow", got)
	}
	if got := rules.Judge(&h, clean, "office").Verdict; got != annotary.VerdictAsk {
		t.Errorf("office: %v, want ask", got)
	}
	rules.Open.Else = annotary.NoRule
	if got := rules.Judge(&h, clean, "office").Verdict; got != annotary.VerdictDeny {
		t.Errorf("without else: %v, want deny", got)
	}
}

func TestRules_JSON(t *testing.T) {
	for _, p := range annotary.RulePresets() {
		b, err := json.Marshal(p.Rules)
		if err != nil {
			t.Fatal(err)
		}
		var back annotary.Rules
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if fmt.Sprint(back) != fmt.Sprint(p.Rules) {
			t.Errorf("%s: %s came back as %v", p.Name, b, back)
		}
	}
	for _, bad := range []string{
		`{"read":"maybe"}`, `{"read":""}`, `{"open":{"else":"ask","more":1}}`, `{"open":{"allow":["research"]}}`,
		`{"open":{"allow":"profile:research"}}`, `{"open":7}`, `{"open":{"allow":[7],"else":"ask"}}`,
	} {
		var r annotary.Rules
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s was read as %v", bad, r)
		}
	}
}

func TestPresetRules(t *testing.T) {
	careful, err := annotary.PresetRules("")
	if err != nil || careful.Write != annotary.VerdictAskOnce {
		t.Errorf("the default preset: %v, %v", careful, err)
	}
	if _, err := annotary.PresetRules("lax"); annotary.CodeOf(err) != annotary.CodeConfig {
		t.Errorf("an unknown preset: %v", err)
	}
}

func ExampleRules_Judge() {
	rules, _ := annotary.PresetRules("careful")
	unknown := annotary.Pessimistic()
	j := rules.Judge(&unknown, annotary.CleanLabel())
	fmt.Println(j.Verdict)
	for _, r := range j.Reasons {
		fmt.Println(r.Rule+":", r.Text)
	}
	// Output:
	// ask
	// destructive: the rule for tools of this class: ask
	// irreversible: it may destroy, and no way back is known: ask
}
