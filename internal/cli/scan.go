package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/clients"
	"github.com/annotary/annotary/internal/scan"
	"github.com/annotary/annotary/lint"
)

type scanOptions struct {
	streams *Streams
	project bool
	timeout time.Duration
	jobs    int
	json    bool
}

func newScanCmd(s *Streams) *cobra.Command {
	o := scanOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "scan",
		Short:   "See what the MCP servers you already run can do",
		GroupID: groupLook,
		Long: "Scan finds the MCP servers in your configurations of Claude Code, Claude Desktop,\n" +
			"Cursor, VS Code and Codex, asks each for its tools, and says what they state about\n" +
			"themselves, where that is contradicted, what they cost a model, and what each\n" +
			"client does with them today.\n\n" +
			"It changes nothing and calls no tool. Servers of your own configurations are\n" +
			"started. Servers that a project's files bring along are shown, and started only\n" +
			"with --project or after your yes. Nothing leaves the machine but the question to a\n" +
			"remote server that you configured yourself.",
		Example: "  annotary scan\n" +
			"  annotary scan --project --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runScan(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.project, "project", false, "start the servers of this project's files too")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 20*time.Second, "how long each server may take")
	cmd.Flags().IntVar(&o.jobs, "jobs", 4, "how many servers to ask at once")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the report as JSON")
	return cmd
}

func runScan(ctx context.Context, o scanOptions) error {
	if o.timeout <= 0 || o.jobs < 1 {
		return annotary.E(annotary.CodeUsage, "--timeout and --jobs want more than nothing", nil).
			WithHint("see 'annotary scan --help'")
	}
	place, err := thisPlace()
	if err != nil {
		return err
	}
	found := clients.Find(place)
	if !o.project {
		o.project = askProject(o.streams, found)
	}
	done := progress(o.streams.Err, fmt.Sprintf("asking %d servers for their tools …", len(clients.Distinct(found.Servers))))
	report := scan.Run(ctx, found, scan.Options{
		StartProject: o.project, Timeout: o.timeout, Jobs: o.jobs, Home: place.Home, Environ: os.Environ(),
	})
	done()
	if o.json {
		err = printJSON(o.streams.Out, report)
	} else {
		err = printScan(o.streams.Out, &report, place)
	}
	if err == nil && ctx.Err() != nil {
		err = errors.New("the scan was interrupted")
	}
	return err
}

// thisPlace is the home, project and environment of whoever runs us.
func thisPlace() (clients.Place, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return clients.Place{}, annotary.E(annotary.CodeConfig, "there is no home folder to look in", err).WithHint("set HOME")
	}
	folder, err := os.Getwd()
	if err != nil {
		return clients.Place{}, annotary.E(annotary.CodeConfig, "the working folder cannot be read", err).WithHint("change to a folder that exists")
	}
	return clients.Place{
		Home: home, Project: clients.ProjectAt(folder, home), OS: runtime.GOOS, Getenv: os.LookupEnv,
	}, nil
}

// askProject asks, on a terminal, whether to start what a project brings along.
// Without a terminal the answer is no.
func askProject(s *Streams, found clients.Found) bool {
	question := projectQuestion(found)
	if question == "" || !isTerminal(s.In) || !isTerminal(s.Err) {
		return false
	}
	fmt.Fprint(s.Err, question)
	yes, _ := saidYes(s.In) // no answer is a no
	fmt.Fprintln(s.Err)
	return yes
}

// projectQuestion shows in full what a yes would start; empty if there is
// nothing to ask about.
func projectQuestion(found clients.Found) string {
	var p page
	for _, group := range clients.Distinct(found.Servers) {
		mine := slices.ContainsFunc(group, func(e clients.Server) bool { return e.Scope == clients.User || e.Disabled })
		if e := group[0]; !mine {
			p.printf("  %s: %s\n", lint.Printable(e.Name), lint.Printable(e.Whole()))
		}
	}
	if p.out.Len() == 0 {
		return ""
	}
	return "This project brings servers along. To list their tools they must be started:\n" +
		p.out.String() + "Start them? [y/N] "
}
