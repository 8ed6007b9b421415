package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/api"
)

type reportOptions struct {
	streams *Streams
	config  string
	since   string
	file    string
	json    bool
}

func newReportCmd(s *Streams) *cobra.Command {
	o := &reportOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "report [EXPORT]",
		GroupID: groupDecide,
		Short:   "Say what policies would have blocked, and what they did",
		Long: "Report sums up the log of the running gateway, or a file that 'annotary audit\n" +
			"export' wrote: calls by class; what went through only because policies were\n" +
			"observed, by which rules, and how many questions to people it comes to; and what\n" +
			"was refused. Read it before observing ends.",
		Example: "  annotary report --since 168h\n" +
			"  annotary report log.jsonl --json",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = strings.Join(args, "")
			return runReport(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().StringVar(&o.since, "since", "", "only calls since then: 30m, 24h, 2026-11-15 or 2026-11-15T08:00:00Z")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runReport(ctx context.Context, o *reportOptions) error {
	var c audit.Counter
	if err := readEntries(ctx, o.config, o.file, o.since, c.Add); err != nil {
		return err
	}
	sum := c.Summary()
	if o.json {
		return printJSON(o.streams.Out, sum)
	}
	return o.print(&sum)
}

func (o *reportOptions) print(r *audit.Summary) error {
	if r.Calls == 0 {
		_, err := fmt.Fprintln(o.streams.Out, "no calls are recorded")
		return err
	}
	classes := []string{}
	for _, c := range []string{"read", "write", "destructive", "unknown"} {
		if n := r.ByClass[c]; n > 0 {
			classes = append(classes, fmt.Sprintf("%d %s", n, c))
		}
	}
	when, last := "on "+r.First.Format(time.DateOnly), r.Last.Format(time.DateOnly)
	if !strings.HasSuffix(when, last) {
		when = "from " + r.First.Format(time.DateOnly) + " to " + last
	}
	fmt.Fprintf(o.streams.Out, "%s by %s %s\n%s\n", count(r.Calls, "call"), count(r.Users, "user"), when, strings.Join(classes, ", "))
	if err := o.blocks("observed: would have blocked", "WOULD", &r.WouldBlock); err != nil {
		return err
	}
	return o.blocks("enforced: blocked", "DID", &r.Blocked)
}

func (o *reportOptions) blocks(what, column string, b *audit.Blocks) error {
	if b.Calls == 0 {
		_, err := fmt.Fprintf(o.streams.Out, "\n%s nothing\n", what)
		return err
	}
	prompts := ""
	if b.Asked > 0 {
		prompts = fmt.Sprintf("; %s to people for %d of them", count(b.Prompts, "prompt"), b.Asked)
	}
	fmt.Fprintf(o.streams.Out, "\n%s %s by %s, %s%s\n", what,
		count(b.Calls, "call"), count(b.Users, "user"), count(len(b.Rules), "rule"), prompts)
	var rules, tools [][]string
	for _, r := range b.Rules {
		rules = append(rules, []string{r.Rule, r.Effect, strconv.Itoa(r.Calls), strconv.Itoa(r.Users)})
	}
	for _, t := range b.Tools[:min(len(b.Tools), maxTools)] {
		tools = append(tools, []string{t.Server + "/" + t.Tool, strconv.Itoa(t.Calls)})
	}
	if err := writeTable(o.streams.Out, []string{"RULE", column, "CALLS", "USERS"}, rules); err != nil {
		return err
	}
	if err := writeTable(o.streams.Out, []string{"TOOL", "CALLS"}, tools); err != nil {
		return err
	}
	if left := len(b.Tools) - len(tools); left > 0 {
		_, err := fmt.Fprintf(o.streams.Out, "and %s more; --json has all\n", count(left, "tool"))
		return err
	}
	return nil
}

// maxTools is how many tools a report for people names.
const maxTools = 20

// readEntries calls each for the entries of a file that audit export wrote or,
// without one, of the running gateway.
func readEntries(ctx context.Context, config, file, since string, each func(*audit.Entry)) error {
	var from time.Time
	if since != "" {
		var err error
		if from, err = parseSince(since, time.Now()); err != nil {
			return err
		}
	}
	take := func(line []byte) error {
		e, err := audit.Decode(line)
		if err == nil && !e.Time.Before(from) {
			each(&e)
		}
		return err
	}
	if file != "" {
		return readExport(file, take)
	}
	operator, err := operatorOf(config)
	if err != nil {
		return err
	}
	defer operator.Close()
	return operator.Audit(ctx, api.Filter{Since: from}, take)
}

func readExport(file string, take func(line []byte) error) error {
	f, err := os.Open(file)
	if err != nil {
		return cannotRead(file, err).WithHint("give a file that 'annotary audit export' wrote as jsonl")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, audit.MaxBytes+2)
	for n := 1; lines.Scan(); n++ {
		if err := take(lines.Bytes()); err != nil {
			return annotary.E(annotary.CodeInvalid, fmt.Sprintf("%s:%d: %v", file, n, err), err).
				WithHint("give a file that 'annotary audit export' wrote as jsonl")
		}
	}
	if err := lines.Err(); err != nil {
		return annotary.E(annotary.CodeInvalid, "cannot read "+file+" to its end: "+err.Error(), err).
			WithHint("give a file that 'annotary audit export' wrote as jsonl")
	}
	return nil
}
