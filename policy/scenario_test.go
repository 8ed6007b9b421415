package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

func TestCarefulScenario(t *testing.T) {
	careful, err := annotary.PresetRules("careful")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/careful.scenario")
	if err != nil {
		t.Fatal(err)
	}
	set := mustNew(t, policy.Options{Rules: &careful})
	ran, failed, err := set.RunScenario(policy.File{Name: "careful.scenario", Text: string(text)})
	if err != nil || ran < 12 {
		t.Fatalf("ran %d: %v", ran, err)
	}
	for _, m := range failed {
		t.Error(m)
	}
}

func TestScenarioSaysWhatIsWrong(t *testing.T) {
	set := mustNew(t, policy.Options{Rules: &annotary.Rules{Read: annotary.VerdictAllow}})
	for text, want := range map[string]string{
		"call a/b -> allow":                 `s:1: the tool "a/b" was not declared`,
		"tool a/b readOnly=maybe":           `s:1: unknown word "readOnly=maybe"`,
		"tool ab":                           `s:1: a tool is named server/tool`,
		"\ntool a/b\ncall a/b":              `s:3: no '->'`,
		"tool a/b\ncall a/b {\"x\" -> deny": `s:2: not valid JSON`,
		"as":                                `s:1: as needs a name`,
		"seen ghosts":                       `s:1: unknown word "ghosts"`,
		"jump":                              `s:1: unknown word "jump"`,
		"# nothing":                         `s: the scenario expects nothing`,
	} {
		_, _, err := set.RunScenario(policy.File{Name: "s", Text: text})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, failed, err := set.RunScenario(policy.File{Name: "s", Text: "tool a/b readOnly=true\ncall a/b -> deny"})
	if err != nil || len(failed) != 1 || !strings.Contains(failed[0].String(), "got  allow class_rule (rules/read)") {
		t.Errorf("a wrong expectation gave %v, %v", failed, err)
	}
}

func FuzzScenario(f *testing.F) {
	text, err := os.ReadFile("testdata/careful.scenario")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("tool a/b from=derived destructive=true\ncall a/b {} -> ask each\n")
	careful, _ := annotary.PresetRules("careful")
	set := mustNew(f, policy.Options{Rules: &careful})
	f.Fuzz(func(t *testing.T, text string) {
		ran, failed, err := set.RunScenario(policy.File{Name: "s", Text: text})
		if err == nil && ran == 0 {
			t.Fatal("a scenario that expects nothing passed")
		}
		if len(failed) > ran {
			t.Fatalf("%d of %d failed", len(failed), ran)
		}
	})
}
