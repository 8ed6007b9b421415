package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/policy"
)

type policyOptions struct {
	streams *Streams
	config  string
	preset  string
	schema  bool
	json    bool
	files   []string
}

func newPolicyCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "policy",
		GroupID: groupDecide,
		Short:   "Show, check, test and replay the policies that judge calls",
		Long: "Policy works on the policies of a configuration: its preset or rules, compiled to\n" +
			"Cedar, and its policy files. Nothing is started and nothing is called.",
		Example: "  annotary policy show --preset careful\n" +
			"  annotary policy test --config annotary.yaml team.scenario",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyShowCmd(s), newPolicyCheckCmd(s), newPolicyTestCmd(s), newPolicyReplayCmd(s))
	return cmd
}

// policyFlags adds the flags that say which policies are meant.
func policyFlags(cmd *cobra.Command, o *policyOptions) {
	cmd.Flags().StringVar(&o.config, "config", "", "take the policies of this configuration")
	cmd.Flags().StringVar(&o.preset, "preset", "", "take a preset: relaxed, careful or strict (default: careful)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	cmd.MarkFlagsMutuallyExclusive("config", "preset")
}

func newPolicyShowCmd(s *Streams) *cobra.Command {
	o := &policyOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print all policies in force as Cedar text",
		Long:  "Show prints the compiled rules and the policy files as Cedar text, or the schema\nthey are checked against.",
		Example: "  annotary policy show --preset strict\n" +
			"  annotary policy show --schema",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runPolicyShow(o) },
	}
	policyFlags(cmd, o)
	cmd.Flags().BoolVar(&o.schema, "schema", false, "print the schema instead")
	return cmd
}

func runPolicyShow(o *policyOptions) error {
	text := policy.Schema
	if !o.schema {
		set, err := o.set()
		if err != nil {
			return err
		}
		text = set.Text()
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]string{"cedar": text})
	}
	_, err := fmt.Fprint(o.streams.Out, text)
	return err
}

var errTwoSets = errors.New("give files, or a configuration that names its own, not both")

func newPolicyCheckCmd(s *Streams) *cobra.Command {
	o := &policyOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check policy files against the schema",
		Long: "Check reads the policies of a configuration, or the given Cedar files beside a\n" +
			"preset, and says what is wrong with them, with file and line.",
		Example: "  annotary policy check team.cedar\n" +
			"  annotary policy check --config annotary.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.files = args; len(args) > 0 && o.config != "" {
				return usageError(cmd, errTwoSets)
			}
			return runPolicyCheck(o)
		},
	}
	policyFlags(cmd, o)
	return cmd
}

func runPolicyCheck(o *policyOptions) error {
	set, err := o.set()
	if err != nil {
		return err
	}
	if o.json {
		warnings := []map[string]string{}
		for _, w := range set.Warnings() {
			warnings = append(warnings, map[string]string{"at": w.At.String(), "text": w.Text})
		}
		return printJSON(o.streams.Out, map[string]any{"digest": set.Digest().String(), "warnings": warnings})
	}
	for _, w := range set.Warnings() {
		fmt.Fprint(o.streams.Out, fitted(o.streams.Out, fmt.Sprintf("%s: warning: %s", w.At, w.Text)))
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s; the policies are\n%s\n", count(len(set.Warnings()), "warning"), set.Digest())
	return err
}

func newPolicyTestCmd(s *Streams) *cobra.Command {
	o := &policyOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "test SCENARIO...",
		Short: "Run scenarios: calls in, decisions out",
		Long: "Test runs scenario files against the policies. A line says who calls what, and\n" +
			"after -> what must come of it: allow, ask or deny, and words that must occur among\n" +
			"the reasons.\n\n" +
			"  tool mail/send destructive=false openWorld=true\n" +
			"  as ann groups=interns\n" +
			"  call mail/send {\"to\":\"x@y.org\"} -> ask once\n\n" +
			"Exit code: 0 all as written, 1 something came out otherwise, 2 wrong usage, 3 a file\n" +
			"cannot be read.",
		Example: "  annotary policy test team.scenario\n" +
			"  annotary policy test --preset strict team.scenario",
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return runPolicyTest(o, args) },
	}
	policyFlags(cmd, o)
	return cmd
}

func runPolicyTest(o *policyOptions, scenarios []string) error {
	set, err := o.set()
	if err != nil {
		return err
	}
	ran, failed := 0, []policy.Mismatch{}
	for _, name := range scenarios {
		text, err := os.ReadFile(name)
		if err != nil {
			return cannotRead(name, err)
		}
		n, bad, err := set.RunScenario(policy.File{Name: name, Text: string(text)})
		if err != nil {
			return err
		}
		ran, failed = ran+n, append(failed, bad...)
	}
	if err := o.reportTest(ran, failed); err != nil {
		return err
	}
	if len(failed) > 0 {
		return annotary.E(annotary.CodeFindings, fmt.Sprintf("%d of %d came out otherwise", len(failed), ran), nil)
	}
	return nil
}

func (o *policyOptions) reportTest(ran int, failed []policy.Mismatch) error {
	if o.json {
		otherwise := []map[string]string{}
		for _, m := range failed {
			otherwise = append(otherwise, map[string]string{"at": m.At.String(), "line": m.Line, "want": m.Want, "got": m.Got})
		}
		return printJSON(o.streams.Out, map[string]any{"ran": ran, "failed": otherwise})
	}
	for _, m := range failed {
		fmt.Fprintln(o.streams.Out, m)
	}
	_, err := fmt.Fprintf(o.streams.Out, "%d as written, %d otherwise\n", ran-len(failed), len(failed))
	return err
}

// set compiles the policies that are meant.
func (o *policyOptions) set() (*policy.Set, error) {
	if o.config != "" {
		c, err := config.Load(o.config)
		if err != nil {
			return nil, err
		}
		if !c.Judged() {
			return nil, annotary.E(annotary.CodeConfig, "this configuration judges nothing", nil).
				WithHint("write 'preset: careful' into it, or rules, or policies")
		}
		return compilePolicies(c)
	}
	rules, err := annotary.PresetRules(o.preset)
	if err != nil {
		return nil, err
	}
	files, err := readPolicies(o.files)
	if err != nil {
		return nil, err
	}
	return policy.New(policy.Options{Rules: &rules, Files: files})
}
