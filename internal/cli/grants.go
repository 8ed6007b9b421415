package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/approval"
)

func newGrantsCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "grants",
		GroupID: groupDecide,
		Short:   "See and take back what was approved for more than once",
		Long: "A yes that covers more than one call is a grant. It ends with its time or its\n" +
			"conversation, when the tool's definition changes, and when you revoke it.",
		Example: "  annotary grants list\n" +
			"  annotary grants revoke k7m2q4xw5zta",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGrantsListCmd(s), newGrantsRevokeCmd(s))
	return cmd
}

type grantsOptions struct {
	streams *Streams
	config  string
	all     bool
	id      string
	json    bool
}

func newGrantsListCmd(s *Streams) *cobra.Command {
	o := &grantsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the grants that hold",
		Example: "  annotary grants list\n" +
			"  annotary grants list --all --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runGrantsList(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.all, "all", false, "also those that have ended")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runGrantsList(ctx context.Context, o *grantsOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	list, err := operator.Grants(ctx, o.all)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"grants": list})
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(o.streams.Err, "nothing is granted")
		return err
	}
	rows := make([][]string, len(list))
	for i := range list {
		g := &list[i]
		rows[i] = []string{g.ID, g.Server + "/" + g.Tool, grantArguments(g), grantEnd(g)}
	}
	return writeTable(o.streams.Out, []string{"ID", "TOOL", "ARGUMENTS", "HOLDS"}, rows)
}

func grantArguments(g *api.Grant) string {
	switch {
	case g.Destination != "":
		return "to " + g.Destination
	case g.AnyArguments:
		return "any"
	case len(g.Pattern) == 0:
		return "those shown"
	default:
		return patternText(g.Pattern)
	}
}

// patternText says which arguments may differ, in the words of approve's flags.
func patternText(p approval.Pattern) string {
	var leaves []string
	for _, pointer := range slices.Sorted(maps.Keys(p)) {
		if m := p[pointer]; m.Prefix != nil && *m.Prefix == "" {
			leaves = append(leaves, "any "+pointer)
		} else {
			leaves = append(leaves, pointer+"="+m.String())
		}
	}
	return strings.Join(leaves, ", ")
}

func grantEnd(g *api.Grant) string {
	switch {
	case !g.Revoked.IsZero():
		return "revoked"
	case !g.Live:
		return "ended"
	case g.Conversation:
		return "this conversation"
	case g.Expires.IsZero():
		return "until changed"
	default:
		return "until " + clock(g.Expires)
	}
}

func newGrantsRevokeCmd(s *Streams) *cobra.Command {
	o := &grantsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a grant back; the next call asks again",
		Example: "  annotary grants revoke k7m2q4xw5zta\n" +
			"  annotary grants revoke k7m2q4xw5zta --json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.id = args[0]
			return runGrantsRevoke(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runGrantsRevoke(ctx context.Context, o *grantsOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	if err := operator.Revoke(ctx, o.id); err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"id": o.id, "revoked": true})
	}
	_, err = fmt.Fprintln(o.streams.Out, "revoked "+o.id)
	return err
}
