package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary/internal/approval"
)

type approvalsStatsOptions struct {
	streams *Streams
	config  string
	since   time.Duration
	json    bool
}

func newApprovalsStatsCmd(s *Streams) *cobra.Command {
	o := &approvalsStatsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how often people are asked, and what they say",
		Long: "Count the questions of the last days: how many came on a hundred calls, which\n" +
			"part was answered yes, how long an answer took, and how many had been answered\n" +
			"before. Rules that were always answered yes are proposed to be relaxed: a question\n" +
			"nobody says no to teaches people not to read.",
		Example: "  annotary approvals stats\n" +
			"  annotary approvals stats --since 24h --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runApprovalsStats(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().DurationVar(&o.since, "since", 7*24*time.Hour, "how far back to count; questions are kept for 30 days")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runApprovalsStats(ctx context.Context, o *approvalsStatsOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	s, err := operator.ApprovalStats(ctx, time.Now().Add(-o.since))
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, s)
	}
	return o.print(&s)
}

func (o *approvalsStatsOptions) print(s *approval.Stats) error {
	w := o.streams.Out
	fmt.Fprintf(w, "%s on %s (%.1f in a hundred), %d of them asked again\n\n",
		count(s.All.Asked, "question"), count(s.All.Calls, "call"), s.All.PerHundred(), s.All.Again)
	if s.All.Asked == 0 {
		return nil
	}
	header := func(of string) []string { return []string{of, "ASKED", "AGAIN", "YES", "NO", "NOBODY", "HALF WITHIN"} }
	if err := writeTable(w, header("RULE"), statRows(s.Rules, func(t *approval.Tally) string { return t.Rule })); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeTable(w, header("TOOL"), statRows(s.Tools, func(t *approval.Tally) string { return t.Server + "/" + t.Tool })); err != nil {
		return err
	}
	for _, p := range s.Proposals {
		if _, err := fmt.Fprintf(w, "\n%s\n", p.Text); err != nil {
			return err
		}
	}
	return nil
}

func statRows(tallies []approval.Tally, name func(*approval.Tally) string) [][]string {
	rows := make([][]string, len(tallies))
	for i := range tallies {
		t := &tallies[i]
		half := "-"
		if t.Approved+t.Denied > 0 {
			half = t.Median.Round(time.Second).String()
		}
		rows[i] = []string{name(t), strconv.Itoa(t.Asked), strconv.Itoa(t.Again), strconv.Itoa(t.Approved), strconv.Itoa(t.Denied), strconv.Itoa(t.Unanswered), half}
	}
	return rows
}
