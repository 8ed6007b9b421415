package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
)

func newStateCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "state",
		GroupID: groupRun,
		Short:   "Look after what the gateway keeps",
		Long: "State is what must survive the gateway: its log, and what was decided about tools.\n" +
			"It is kept in the data folder, or in a NATS cluster if the configuration names one.",
		Example: "  annotary state status\n" +
			"  annotary state backup state.tar",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStateStatusCmd(s), newStateBackupCmd(s), newStateRestoreCmd(s))
	return cmd
}

type stateStatusOptions struct {
	streams *Streams
	config  string
	json    bool
}

func newStateStatusCmd(s *Streams) *cobra.Command {
	o := &stateStatusOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where state is kept and whether the store answers",
		Long: "Status asks the running gateway where it keeps its state and whether the store\n" +
			"answers and takes writes. It ends with exit code 1 if it does not.",
		Example: "  annotary state status\n" +
			"  annotary state status --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runStateStatus(cmd.Context(), o) },
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runStateStatus(ctx context.Context, o *stateStatusOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	status, err := operator.Status(ctx)
	if err != nil {
		return err
	}
	if status.State == nil {
		return annotary.E(annotary.CodeConfig, "this gateway keeps no state", nil).
			WithHint("write 'preset: careful' into the configuration")
	}
	if o.json {
		err = printJSON(o.streams.Out, status.State)
	} else {
		_, err = fmt.Fprint(o.streams.Out, healthText(status.State))
	}
	if err == nil && (status.State.Lost || status.State.Unwritten != "") {
		return annotary.E(annotary.CodeFindings, "the store is lost or takes no writes", nil)
	}
	return err
}

// healthText says in words how the store is doing.
func healthText(h *api.StateHealth) string {
	text := fmt.Sprintf("State is kept in %s,\nby the engine inside the gateway (NATS %s).\n", h.Where, h.Version)
	if !h.Embedded {
		text = fmt.Sprintf("State is kept in a NATS cluster, replicas: %d.\n", h.Replicas)
		if h.Where != "" {
			text += fmt.Sprintf("This gateway is connected to %s (NATS %s).\n", h.Where, h.Version)
		}
	}
	switch {
	case h.Deaf:
		text += "The store answers, but this gateway does not hear what others write. What needs\nthe store is refused.\n"
	case h.Lost:
		text += fmt.Sprintf("The store is LOST: it last answered %s ago. What needs it is refused.\n", time.Since(h.Heard).Round(time.Second))
	case h.Unwritten != "":
		text += "The store answers, but does NOT take writes. What needs it is refused.\n" +
			"What was not written: " + h.Unwritten + "\n"
		if h.Embedded {
			text += "If its disk is full, make room: then it is written to again by itself.\n"
		}
	default:
		text += "The store answers.\n"
	}
	if h.Problem != "" {
		text += "The last question failed: " + h.Problem + "\n"
	}
	if h.Forgot != nil {
		text += "What conversations have seen was forgotten.\nUntil " + h.Forgot.Format(time.RFC3339) + " each starts as if it had seen everything.\n"
	}
	return text
}
