package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/approval"
)

func newApprovalsCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "approvals",
		GroupID: groupDecide,
		Short:   "See what people are asked, and answer",
		Long: "Where a rule asks for a person, the call waits for a yes. Approvals shows what is\n" +
			"waited for, and takes the answer. A yes is bound to who asked, the tool as it is,\n" +
			"the arguments and the reasons that were shown.",
		Example: "  annotary approvals watch\n" +
			"  annotary approvals approve k7m2q4xw5zta --for 8h",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApprovalsListCmd(s), newApprovalsWatchCmd(s), newApprovalsShowCmd(s), newApprovalsOpenCmd(s), newApprovalsStatsCmd(s),
		newApprovalsApproveCmd(s), newApprovalsDenyCmd(s))
	return cmd
}

type approvalsOptions struct {
	streams *Streams
	config  string
	all     bool
	id      string
	json    bool
}

func newApprovalsListCmd(s *Streams) *cobra.Command {
	o := &approvalsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the questions that wait for an answer",
		Example: "  annotary approvals list\n" +
			"  annotary approvals list --all --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runApprovalsList(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.all, "all", false, "also what was answered or expired in the last 30 days")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runApprovalsList(ctx context.Context, o *approvalsOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	list, err := operator.Approvals(ctx, o.all)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"approvals": list})
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(o.streams.Err, "nobody waits for an answer")
		return err
	}
	rows := make([][]string, len(list))
	for i, a := range list {
		rows[i] = []string{a.ID, string(a.State), a.Prompt.Who, a.Server + "/" + a.Tool, a.Prompt.Title}
	}
	return writeTable(o.streams.Out, []string{"ID", "STATE", "FOR", "TOOL", "TITLE"}, rows)
}

func newApprovalsShowCmd(s *Streams) *cobra.Command {
	o := &approvalsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show everything there is to know for an answer",
		Example: "  annotary approvals show k7m2q4xw5zta\n" +
			"  annotary approvals show k7m2q4xw5zta --json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.id = args[0]
			return runApprovalsShow(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runApprovalsShow(ctx context.Context, o *approvalsOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	a, err := operator.Approval(ctx, o.id)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, a)
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s\n%s\n", folded(a.Prompt.Text()), standingText(&a))
	return err
}

// standingText says what became of a question.
func standingText(a *api.Approval) string {
	switch {
	case a.State == approval.Open:
		return "It waits for an answer until " + clock(a.Expires) + "."
	case a.Answer == nil:
		return "It is " + string(a.State) + "."
	default:
		return fmt.Sprintf("It is %s: %s answered at %s through %s.", a.State, subjectOf(a.Answer.By), clock(a.Answer.At), a.Answer.Channel)
	}
}

// subjectOf is the last part of who somebody is: the name people know. Another
// program may have said it.
func subjectOf(id string) string {
	name := id[strings.LastIndexByte(id, '/')+1:]
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return approval.Line(name)
}

func clock(t time.Time) string { return t.Local().Format("15:04 on 2 January") }

func newApprovalsWatchCmd(s *Streams) *cobra.Command {
	o := &approvalsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print questions as they come up, until you stop it",
		Long: "Watch prints what waits for an answer, and then each question when it comes up and\n" +
			"when it is answered. It fits a terminal of 80 columns.",
		Example: "  annotary approvals watch\n" +
			"  annotary approvals watch --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runApprovalsWatch(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print each as JSON on a line")
	return cmd
}

func runApprovalsWatch(ctx context.Context, o *approvalsOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	err = operator.WatchApprovals(ctx, func(a api.Approval) error {
		if o.json {
			return printJSONLine(o.streams.Out, a)
		}
		return printWatched(o.streams.Out, &a)
	})
	if ctx.Err() != nil {
		return nil // stopped by the person who watches
	}
	return err
}

// printWatched writes one question for a terminal: what it is, with what, whether
// it can be undone, why, and how to answer; or, in one line, what became of it.
func printWatched(w io.Writer, a *api.Approval) error {
	p := &a.Prompt
	lines := []string{fmt.Sprintf("%s  %s  %s", a.Asked.Local().Format(time.TimeOnly), a.ID, a.State)}
	if a.State != approval.Open {
		lines[0] += "  " + a.Server + "/" + a.Tool
	} else {
		lines = append(lines, fmt.Sprintf("  %q", p.Title), "  "+a.Server+"/"+a.Tool+" for "+p.Who)
		for _, arg := range p.Arguments {
			lines = append(lines, fmt.Sprintf("    %s: %q", arg.Pointer, arg.Value))
		}
		if p.More > 0 {
			lines = append(lines, fmt.Sprintf("    and %d more arguments that are not shown", p.More))
		}
		lines = append(lines, "  "+p.Undo)
		for _, c := range p.Changed {
			lines = append(lines, "  Changed since the last yes: "+c)
		}
		for _, r := range p.Why {
			lines = append(lines, "  Asks: "+r.Text)
		}
		lines = append(lines, "  annotary approvals approve "+a.ID+", or deny")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, cut(line, tableWidth)); err != nil {
			return err
		}
	}
	return nil
}
