// Package cli is the command line: one file per command, all of one shape.
//
// A command is a newXCmd that turns flags into an xOptions, and a runX that
// does the work and returns an error. What was asked for goes to standard
// output; everything else goes to standard error. An error is one line,
// "annotary: what went wrong", lower case without a full stop, followed by
// "hint: what would help" where we know. Colour never carries meaning.
//
// Exit codes: 0 done, 1 the check found something, 2 wrong usage, 3 it could
// not be done, 4 a server or gateway could not be reached.
package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
)

// Streams are what a command reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command line and returns the exit code. An interrupt ends what
// is under way in good order: servers that were started are ended too.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	return Run(ctx, s, os.Args[1:])
}

// Run runs one command line on the given streams and returns the exit code.
func Run(ctx context.Context, s *Streams, args []string) int {
	root := newRootCmd(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	report(s.Err, err)
	return exitCode(err)
}

// The groups of commands, by what a person wants.
const (
	groupLook   = "look"
	groupRun    = "run"
	groupDecide = "decide"
	groupProve  = "prove"
)

var groups = []*cobra.Group{
	{ID: groupLook, Title: "Look:"},
	{ID: groupRun, Title: "Run:"},
	{ID: groupDecide, Title: "Decide:"},
	{ID: groupProve, Title: "Prove:"},
}

func newRootCmd(s *Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "annotary",
		Short: "The notary between AI agents and MCP servers",
		Long: "Annotary knows what every MCP tool does to the world, says who vouches for it,\n" +
			"and, where you configure it, lets a call through only on those terms.\n\n" +
			"Begin with 'annotary scan': it looks at what you have and changes nothing.",
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return checkTogether(cmd) },
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetIn(s.In)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(cmd, err)
	})
	root.AddCommand(newDeriveCmd(s))
	root.AddCommand(newScanCmd(s))
	root.AddCommand(newClientsCmd(s))
	root.AddCommand(newCompletionCmd(s))
	root.AddCommand(newLintCmd(s))
	root.AddCommand(newToolsCmd(s))
	root.AddCommand(newFindCmd(s))
	root.AddCommand(newPromptCmd(s))
	root.AddCommand(newServeCmd(s))
	root.AddCommand(newAcceptCmd(s))
	root.AddCommand(newPolicyCmd(s))
	root.AddCommand(newWhyCmd(s))
	root.AddCommand(newApprovalsCmd(s))
	root.AddCommand(newGrantsCmd(s))
	root.AddCommand(newAuditCmd(s))
	root.AddCommand(newKillCmd(s))
	root.AddCommand(newReportCmd(s))
	root.AddCommand(newStateCmd(s))
	root.AddCommand(newOverridesCmd(s))
	root.AddCommand(newKeysCmd(s))
	root.AddCommand(newStdioCmd(s))
	root.AddCommand(newVersionCmd(s))
	root.SetHelpCommand(newHelpCmd())
	addGroups(root)
	fitHelp(root)
	return root
}

// addGroups gives the help its headings, those with commands below them only.
func addGroups(root *cobra.Command) {
	for _, g := range groups {
		if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.GroupID == g.ID }) {
			root.AddGroup(g)
		}
	}
}

// knownCommand refuses what is not a command, and guesses what was meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := annotary.E(annotary.CodeUsage, fmt.Sprintf("unknown command %q", args[0]), nil)
	cmd.SuggestionsMinimumDistance = 2
	if guess := cmd.SuggestionsFor(args[0]); len(guess) > 0 {
		return e.WithHint("did you mean '" + cmd.CommandPath() + " " + guess[0] + "'?")
	}
	return e.WithHint("see '" + cmd.CommandPath() + " --help'")
}

// usageArgs refuses arguments that a check does not like, and says what the
// command takes.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		if cmd.HasSubCommands() {
			return knownCommand(cmd, args)
		}
		_, takes, _ := strings.Cut(cmd.Use, " ")
		return usageError(cmd, fmt.Errorf("'%s' takes %s", cmd.CommandPath(), cmp.Or(takes, "no arguments")))
	}
}

// checkTogether refuses flags that exclude each other.
func checkTogether(cmd *cobra.Command) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	text := err.Error() // ends in "; [a b] were all set"
	if i := strings.LastIndexByte(text, '['); i >= 0 {
		flags, _, _ := strings.Cut(text[i+1:], "]")
		err = errors.New("--" + strings.Join(strings.Fields(flags), " and --") + " exclude each other")
	}
	return usageError(cmd, err)
}

// usageError turns a complaint of the flag parser into one of ours.
func usageError(cmd *cobra.Command, err error) error {
	return annotary.E(annotary.CodeUsage, err.Error(), err).WithHint("see '" + cmd.CommandPath() + " --help'")
}

// cannotRead is the error of a file that cannot be read, with what is in the way.
func cannotRead(path string, err error) *annotary.Error {
	why := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = e.Err // the path is said already
	}
	return annotary.E(annotary.CodeInvalid, fmt.Sprintf("cannot read %s: %v", path, why), err).
		WithHint("name a file that is there and that this user may read")
}

// report prints an error the way every command does. Findings were the answer
// and are printed already.
func report(w io.Writer, err error) {
	if err == nil || annotary.CodeOf(err) == annotary.CodeFindings {
		return
	}
	text := err.Error()
	if !strings.HasSuffix(text, "...") {
		text = strings.TrimSuffix(text, ".")
	}
	fmt.Fprint(w, fitted(w, "annotary: "+text))
	if e, ok := errors.AsType[*annotary.Error](err); ok && e.Hint != "" {
		fmt.Fprint(w, fitted(w, "hint: "+e.Hint))
	}
}

// printJSON writes v the way every command does: indented, nothing escaped that
// JSON does not want escaped.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printJSONLine writes v on one line.
func printJSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// exitCode is the one place where codes become exit codes.
func exitCode(err error) int {
	switch annotary.CodeOf(err) {
	case "":
		return 0
	case annotary.CodeFindings:
		return 1
	case annotary.CodeUsage:
		return 2
	case annotary.CodeConnect:
		return 4
	default:
		return 3
	}
}
