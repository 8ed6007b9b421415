package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/lint"
)

type auditOptions struct {
	streams *Streams
	config  string
	filter  api.Filter
	since   string
	format  string
	file    string
	json    bool
}

var errNoEntries = errors.New("-n is how many of the latest entries are wanted, one or more")

func newAuditCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "audit",
		GroupID: groupProve,
		Short:   "Read what the running gateway recorded",
		Long: "Audit reads the log of the running gateway: who called what, what was held to be\n" +
			"true of it, what was decided and why, and how it ended. Arguments are in it as\n" +
			"digests, unless the configuration says otherwise. It is sealed twice a second,\n" +
			"so that rewriting it shows.",
		Example: "  annotary audit tail\n" +
			"  annotary audit query --effect deny --since 1h",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditTailCmd(s), newAuditQueryCmd(s), newAuditExportCmd(s), newAuditVerifyCmd(s), newAuditProveCmd(s), newAuditKeyCmd(s))
	return cmd
}

// auditFlags adds the flags that say which entries are meant.
func auditFlags(cmd *cobra.Command, o *auditOptions) {
	gatewayFlags(cmd, &o.config)
	f := cmd.Flags()
	f.StringVar(&o.filter.Server, "server", "", "only calls to this server; * stands for anything")
	f.StringVar(&o.filter.Tool, "tool", "", "only calls of this tool; * stands for anything")
	f.StringVar(&o.filter.Who, "who", "", "only calls of this subject")
	f.StringVar(&o.filter.Effect, "effect", "", "only calls decided so: allow, ask or deny")
	f.StringVar(&o.filter.Class, "class", "", "only tools of this class: read, write or destructive")
	f.StringVar(&o.since, "since", "", "only entries since then: 30m, 24h, 2026-11-15 or 2026-11-15T08:00:00Z")
	f.BoolVar(&o.json, "json", false, "print as JSON")
}

func newAuditTailCmd(s *Streams) *cobra.Command {
	o := &auditOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the latest entries, and go on with -f",
		Long:  "Tail prints the latest entries of the log, one on a line; with -f it goes on with\nentries as they are written, until it is interrupted.",
		Example: "  annotary audit tail -n 5\n" +
			"  annotary audit tail -f --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.filter.Last < 1 {
				return usageError(cmd, errNoEntries)
			}
			return runAuditLines(cmd.Context(), o)
		},
	}
	auditFlags(cmd, o)
	cmd.Flags().IntVarP(&o.filter.Last, "last", "n", 20, "how many of the latest entries")
	cmd.Flags().BoolVarP(&o.filter.Follow, "follow", "f", false, "go on with new entries")
	return cmd
}

func newAuditQueryCmd(s *Streams) *cobra.Command {
	o := &auditOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Print the entries that match, from the first on",
		Long:  "Query prints every entry that matches all the given flags, one on a line.",
		Example: "  annotary audit query --tool 'delete_*' --effect ask\n" +
			"  annotary audit query --who local --class read --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAuditLines(cmd.Context(), o) },
	}
	auditFlags(cmd, o)
	return cmd
}

// runAuditLines prints entries; as JSON exactly as they stand in the log.
func runAuditLines(ctx context.Context, o *auditOptions) error {
	matched := false
	err := o.read(ctx, func(line []byte) error {
		matched = true
		if o.json {
			_, err := fmt.Fprintf(o.streams.Out, "%s\n", line)
			return err
		}
		text, err := entryText(line)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(o.streams.Out, fitted(o.streams.Out, text))
		return err
	})
	if o.filter.Follow && ctx.Err() != nil {
		return nil // it goes on until it is interrupted
	}
	if err == nil && !matched {
		_, err = fmt.Fprintln(o.streams.Err, "no entry matches")
	}
	return err
}

// entryText writes an entry for people, what strangers named made harmless.
func entryText(line []byte) (string, error) {
	e, err := audit.Decode(line)
	if err != nil {
		return "", err
	}
	if e.Kind == audit.Acted {
		return lint.Printable(strings.TrimRight(fmt.Sprintf("%s  %-7s  %s  %s %s  %s",
			e.Time.Format(time.RFC3339), e.Kind, e.Subject, e.Method, e.Target, e.Note), " ")), nil
	}
	how := e.Effect
	if e.Observe && e.Kind == audit.Decided {
		how = "observed " + how
	}
	if e.Kind == audit.Outcome {
		how = fmt.Sprintf("%s %.1f ms", e.Result, e.Millis)
	}
	var rules []string
	for _, r := range e.Reasons {
		if e.Effect != annotary.Allow.String() && e.Kind == audit.Decided {
			rules = append(rules, cmp.Or(r.Rule, string(r.Code)))
		}
	}
	return lint.Printable(strings.TrimRight(fmt.Sprintf("%s  %-7s  %s  %s/%s  %s  %s  %s",
		e.Time.Format(time.RFC3339), e.Kind, e.Subject, e.Server, cmp.Or(e.Tool, e.Method), cmp.Or(e.Class, "-"),
		how, strings.Join(rules, ", ")), " ")), nil
}

func newAuditExportCmd(s *Streams) *cobra.Command {
	o := &auditOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write the entries that match to a new file",
		Long: "Export writes entries to a file that does not exist yet, one on a line: as they\n" +
			"stand in the log (jsonl), or as events of the Open Cybersecurity Schema Framework\n" +
			"(ocsf), class API Activity. Beside a whole log as jsonl it writes FILE.seal and\n" +
			"FILE.leaves, which 'annotary audit verify' reads.",
		Example: "  annotary audit export log.jsonl\n" +
			"  annotary audit export --format ocsf --since 24h events.jsonl",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return runAuditExport(cmd.Context(), o)
		},
	}
	auditFlags(cmd, o)
	cmd.Flags().StringVar(&o.format, "format", "jsonl", "jsonl or ocsf")
	return cmd
}

func runAuditExport(ctx context.Context, o *auditOptions) error {
	if !slices.Contains([]string{"jsonl", "ocsf"}, o.format) {
		return annotary.E(annotary.CodeUsage, fmt.Sprintf("there is no format %q", o.format), nil).WithHint("formats are jsonl and ocsf")
	}
	f, err := os.OpenFile(o.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return annotary.E(annotary.CodeInvalid, "cannot make the file "+o.file, err).
			WithHint("it must not exist yet, and its folder must")
	}
	n, err := o.export(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(o.file)) // half a log is worse than none
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"file": o.file, "format": o.format, "entries": n})
	}
	_, err = fmt.Fprintf(o.streams.Err, "%d entries written to %s\n", n, o.file)
	return err
}

// export writes the entries that match and counts them. The seal of a whole log
// comes first: so all that it speaks of is written after it.
func (o *auditOptions) export(ctx context.Context, f *os.File) (n int, err error) {
	if o.filter == (api.Filter{}) && o.since == "" && o.format == "jsonl" {
		if err := o.exportSeal(ctx); err != nil {
			return 0, err
		}
	}
	out := bufio.NewWriter(f)
	err = o.read(ctx, func(line []byte) error {
		if o.format == "ocsf" {
			if line, err = audit.OCSF(line); err != nil {
				return err
			}
		}
		n++
		_, err := fmt.Fprintf(out, "%s\n", line)
		return err
	})
	return n, errors.Join(err, out.Flush())
}

// read asks the running gateway for the entries that match.
func (o *auditOptions) read(ctx context.Context, each func(line []byte) error) error {
	if err := o.check(); err != nil {
		return err
	}
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	return operator.Audit(ctx, o.filter, each)
}

// check refuses filters that can match nothing.
func (o *auditOptions) check() (err error) {
	if o.since != "" {
		if o.filter.Since, err = parseSince(o.since, time.Now()); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"", "allow", "ask", "deny"}, o.filter.Effect) {
		return annotary.E(annotary.CodeUsage, fmt.Sprintf("there is no effect %q", o.filter.Effect), nil).WithHint("effects are allow, ask and deny")
	}
	return checkClass(o.filter.Class)
}

// parseSince reads a time, or how long ago it was.
func parseSince(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, annotary.E(annotary.CodeUsage, fmt.Sprintf("%q is no time", text), nil).
		WithHint("write 30m, 24h, 2026-11-15 or 2026-11-15T08:00:00Z")
}
