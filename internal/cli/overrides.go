package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/override"
	"github.com/annotary/annotary/lint"
)

func newOverridesCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "overrides",
		GroupID: groupDecide,
		Short:   "Show your word on tools, and where it is kept",
		Long: "Overrides are your word on what tools do. They stand in the configuration; where\n" +
			"several gateways share a store, those given while they run are kept there. The\n" +
			"configuration wins over the store.",
		Example: "  annotary overrides list\n" +
			"  annotary overrides export",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newOverridesListCmd(s), newOverridesExportCmd(s), newOverridesWithdrawCmd(s))
	return cmd
}

type overridesOptions struct {
	streams *Streams
	config  string
	what    string // SERVER or SERVER/TOOL
	json    bool
}

func newOverridesListCmd(s *Streams) *cobra.Command {
	o := &overridesOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List every override in force with its home",
		Long:  "List asks the running gateway for every override in force and says where each is\nkept: file and line, or who said it and when.",
		Example: "  annotary overrides list\n" +
			"  annotary overrides list --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runOverridesList(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func newOverridesExportCmd(s *Streams) *cobra.Command {
	o := &overridesOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print what is kept in the store as it would stand in the file",
		Long:  "Export prints the overrides that are kept in the store as a part of annotary.yaml\nthat says the same, to be put under version control.",
		Example: "  annotary overrides export\n" +
			"  annotary overrides export --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runOverridesExport(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func newOverridesWithdrawCmd(s *Streams) *cobra.Command {
	o := &overridesOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "withdraw SERVER[/TOOL]",
		Short: "Take back what is kept in the store of a tool or server",
		Long:  "Withdraw takes back an override that is kept in the store. What stands in the\nconfiguration is changed there.",
		Example: "  annotary overrides withdraw notes/list_notes\n" +
			"  annotary overrides withdraw notes",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.what = args[0]
			return runOverridesWithdraw(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

// overridesOf asks the running gateway.
func (o *overridesOptions) overridesOf(ctx context.Context) (api.Overrides, error) {
	operator, err := operatorOf(o.config)
	if err != nil {
		return api.Overrides{}, err
	}
	defer operator.Close()
	return operator.Overrides(ctx)
}

func runOverridesList(ctx context.Context, o *overridesOptions) error {
	all, err := o.overridesOf(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, all)
	}
	if len(all.Overrides) == 0 {
		_, err := fmt.Fprintln(o.streams.Out, "nobody has said anything of any tool")
		return err
	}
	for _, w := range all.Overrides {
		line := strings.TrimSuffix(w.Server+"/"+w.Tools, "/") + ": " + saidText(&w)
		if w.Reason != "" {
			line += "; " + w.Reason
		}
		line = lint.Printable(line + " (" + w.Home + ")")
		if _, err := fmt.Fprint(o.streams.Out, fitted(o.streams.Out, line)); err != nil {
			return err
		}
	}
	return nil
}

// saidText writes what an override says: readOnly, not destructive.
func saidText(w *api.Override) string {
	if w.Believe != nil {
		return map[bool]string{true: "believed", false: "not believed"}[*w.Believe]
	}
	return hintsText(w.Hints)
}

// hintsText writes hints on a line: not openWorld, readOnly.
func hintsText(hints map[string]bool) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		said = append(said, map[bool]string{true: "", false: "not "}[hints[name]]+name)
	}
	return strings.Join(said, ", ")
}

func runOverridesExport(ctx context.Context, o *overridesOptions) error {
	all, err := o.overridesOf(ctx)
	if err != nil {
		return err
	}
	stored := slices.DeleteFunc(all.Overrides, func(w api.Override) bool { return !w.Stored })
	if o.json {
		return printJSON(o.streams.Out, api.Overrides{Shared: all.Shared, Overrides: stored})
	}
	if len(stored) == 0 {
		_, err := fmt.Fprintln(o.streams.Err, "nothing is kept in the store")
		return err
	}
	words := make([]config.Word, len(stored))
	for i, w := range stored {
		words[i] = config.Word{Server: w.Server, Tools: w.Tools, Hints: w.Hints, Believe: w.Believe != nil && *w.Believe, Reason: w.Reason}
	}
	text, err := config.Words(words)
	if err != nil {
		return err
	}
	_, err = o.streams.Out.Write(text)
	return err
}

func runOverridesWithdraw(ctx context.Context, o *overridesOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	server, tool, _ := strings.Cut(o.what, "/")
	all, err := operator.Overrides(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all.Overrides, func(w api.Override) bool { return w.Stored && w.Server == server && w.Tools == tool }) {
		return annotary.E(annotary.CodeInvalid, "nothing is kept in the store of "+o.what, nil).
			WithHint("see 'annotary overrides list'")
	}
	if err := operator.Say(ctx, []override.Word{{Server: server, Tool: tool, Withdrawn: true}}); err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]string{"withdrawn": o.what})
	}
	_, err = fmt.Fprintln(o.streams.Err, "withdrawn, on every gateway that shares the store")
	return err
}
