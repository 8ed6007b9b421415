package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/lint"
)

type lintOptions struct {
	streams *Streams
	target  target
	profile lint.Profile
	failOn  lint.Severity
	format  string
	fix     string
	justify string
}

var lintFormats = []string{"table", "json", "sarif", "junit"}

func newLintCmd(s *Streams) *cobra.Command {
	o := lintOptions{streams: s}
	var profile, failOn string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "lint TARGET | lint -- COMMAND [ARG...]",
		Short:   "Find what is wrong with a server's tool definitions",
		GroupID: groupLook,
		Long: "Lint looks for hints that are missing, unreadable or contradict what a tool does,\n" +
			"for names, titles and texts that will not work, and says what to do.\n\n" + targetHelp + "\n\n" +
			"Exit code: 0 nothing found, 1 findings at or above --fail-on, 2 wrong usage,\n" +
			"3 the target cannot be read, 4 the server could not be reached.",
		Example: "  annotary lint tools.json\n" +
			"  annotary lint --profile openai --format sarif -- node server.js",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.target, err = oneTarget(cmd, args); err != nil {
				return err
			}
			if err := o.profile.UnmarshalText([]byte(profile)); err != nil {
				return usageError(cmd, err)
			}
			if err := o.failOn.UnmarshalText([]byte(failOn)); err != nil {
				return usageError(cmd, err)
			}
			if asJSON {
				o.format = "json"
			}
			return runLint(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&profile, "profile", "spec", "whose book: spec, anthropic, openai or strict")
	f.StringVar(&failOn, "fail-on", "error", "exit 1 from this severity on: note, warning or error")
	f.StringVar(&o.format, "format", "table", "how to print: "+strings.Join(lintFormats, ", "))
	f.BoolVar(&asJSON, "json", false, "the same as --format json")
	f.StringVar(&o.fix, "fix", "", "print a repair: patch (JSON Patch), go, typescript or python")
	f.Lookup("fix").NoOptDefVal = "patch"
	f.StringVar(&o.justify, "justify", "", "print why each hint is as it is, for a directory: openai")
	targetFlags(cmd)
	completeWords(cmd, "profile", "spec", "anthropic", "openai", "strict")
	completeWords(cmd, "fail-on", "note", "warning", "error")
	completeWords(cmd, "format", lintFormats...)
	completeWords(cmd, "fix", append([]string{"patch"}, lint.Languages...)...)
	completeWords(cmd, "justify", "openai")
	return cmd
}

// completeWords lets the shell complete a flag that takes one of some words.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a slip in this package
	}
}

func runLint(ctx context.Context, o lintOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	l, err := o.target.load(ctx, o.streams)
	if err != nil {
		return err
	}
	if o.justify != "" {
		return printJustifications(o.streams.Out, l.tools, o.format)
	}
	options := lint.Options{Profile: o.profile}
	report := lint.Check(l.tools, options)
	if o.fix != "" {
		return o.printFix(l, report, lint.Fix(l.tools, options))
	}
	if err := o.print(l, report); err != nil {
		return err
	}
	return verdict(report, o.failOn)
}

// check refuses words that no flag knows, before any server is started.
func (o *lintOptions) check() error {
	for _, flag := range []struct {
		name, value string
		words       []string
	}{
		{"format", o.format, lintFormats},
		{"fix", o.fix, append([]string{"", "patch"}, lint.Languages...)},
		{"justify", o.justify, []string{"", "openai"}},
	} {
		if !slices.Contains(flag.words, flag.value) {
			return annotary.E(annotary.CodeUsage, fmt.Sprintf("unknown --%s %q", flag.name, flag.value), nil).
				WithHint("one of " + strings.TrimPrefix(strings.Join(flag.words, ", "), ", "))
		}
	}
	return nil
}

func (o *lintOptions) print(l listing, report *lint.Report) error {
	switch o.format {
	case "json":
		return lint.WriteJSON(o.streams.Out, report, l.source, nil)
	case "sarif":
		return lint.WriteSARIF(o.streams.Out, report, l.source)
	case "junit":
		return lint.WriteJUnit(o.streams.Out, report, l.tools, l.source, o.failOn)
	default:
		return lint.WriteTable(o.streams.Out, report, l.source)
	}
}

// printFix prints the repair. The verdict is then about what it leaves.
func (o *lintOptions) printFix(l listing, report *lint.Report, repairs []lint.Repair) error {
	var err error
	switch {
	case o.format == "json":
		err = lint.WriteJSON(o.streams.Out, report, l.source, repairs)
	case o.fix != "patch":
		err = lint.WriteSnippets(o.streams.Out, repairs, o.fix)
	case !l.source.Patchable:
		return annotary.E(annotary.CodeUsage, "no JSON Patch can speak about this file: it is not one document with a list", nil).
			WithHint(`save the tools as {"tools":[...]}, or use --fix=go, typescript or python`)
	default:
		err = printJSON(o.streams.Out, lint.Patch(repairs, l.source.List))
	}
	if err != nil {
		return err
	}
	left := *report
	left.Findings = nil
	for _, f := range report.Findings {
		if !f.Fixable {
			left.Findings = append(left.Findings, f)
		}
	}
	fmt.Fprintf(o.streams.Err, "%d of %d tools repaired; %d findings need a person\n", len(repairs), report.Tools, len(left.Findings))
	return verdict(&left, o.failOn)
}

// verdict turns findings into the exit code.
func verdict(report *lint.Report, failOn lint.Severity) error {
	if report.AtLeast(failOn) {
		return annotary.E(annotary.CodeFindings, "the tools have faults", nil)
	}
	return nil
}

func printJustifications(w io.Writer, tools []annotary.Tool, format string) error {
	all := lint.Justify(tools)
	if format == "json" {
		return printJSON(w, all)
	}
	for i, j := range all {
		if i == 0 || all[i-1].Tool != j.Tool {
			fmt.Fprintf(w, "%s\n", lint.Printable(j.Tool))
		}
		text := j.Text
		if text == "" {
			text = "?? " + j.Missing
		}
		fmt.Fprintf(w, "  %-15s  %-7s  %s\n", j.Hint, j.Value, lint.Printable(text))
	}
	return nil
}
