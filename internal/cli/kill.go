package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/lint"
)

type killOptions struct {
	streams *Streams
	config  string
	kill    api.Kill
	lift    bool
	json    bool
}

var (
	errManyTargets = errors.New("name one of SERVER, SERVER/TOOL, --user and --all")
	errNoNote      = errors.New("say why with --note: it is what callers hear")
	errNoTarget    = errors.New("name what is meant: SERVER, SERVER/TOOL, --user or --all")
)

func newKillCmd(s *Streams) *cobra.Command {
	o := &killOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "kill [SERVER[/TOOL]]",
		GroupID: groupDecide,
		Short:   "Stop calls at once: a tool, a server, a user, or all",
		Long: "Kill stops calls on the running gateway, and on all others that share its store.\n" +
			"Calls under way are cancelled and their results withheld; the next are refused as\n" +
			"killed, with your note. In TOOL, * stands for anything. It holds until it is\n" +
			"lifted, also over a restart. Tools stay listed. Without a target, kill prints\n" +
			"what is stopped.",
		Example: "  annotary kill notes/delete_note --note 'see incident 12'\n" +
			"  annotary kill --lift notes/delete_note",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				var tool bool
				if o.kill.Server, o.kill.Tool, tool = strings.Cut(args[0], "/"); tool && o.kill.Tool == "" {
					return usageError(cmd, errNoTool)
				}
			}
			if err := o.check(); err != nil {
				return usageError(cmd, err)
			}
			return runKill(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().StringVar(&o.kill.User, "user", "", "stop the calls of this user")
	cmd.Flags().BoolVar(&o.kill.All, "all", false, "stop every call")
	cmd.Flags().StringVar(&o.kill.Note, "note", "", "why; callers read it")
	cmd.Flags().BoolVar(&o.lift, "lift", false, "let calls go on instead")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

// targets counts what is named.
func (o *killOptions) targets() (n int) {
	for _, named := range []bool{o.kill.Server != "", o.kill.User != "", o.kill.All} {
		if named {
			n++
		}
	}
	return n
}

func (o *killOptions) check() error {
	switch n := o.targets(); {
	case n > 1:
		return errManyTargets
	case n == 0 && (o.lift || o.kill.Note != "" || o.kill.Tool != ""):
		return errNoTarget
	case n == 1 && !o.lift && strings.TrimSpace(o.kill.Note) == "":
		return errNoNote
	}
	return nil
}

func runKill(ctx context.Context, o *killOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	switch {
	case o.targets() == 0:
		return o.list(ctx, operator)
	case o.lift:
		err = operator.Lift(ctx, o.kill)
	default:
		var a api.KillAnswer
		if a, err = operator.Kill(ctx, o.kill); a.Warning != "" {
			fmt.Fprintln(o.streams.Err, "warning: "+a.Warning)
		}
	}
	if annotary.CodeOf(err) == gateway.CodeUnknownServer {
		return annotary.E(annotary.CodeInvalid, "the gateway has no server "+o.kill.Server, err).
			WithHint("write SERVER or SERVER/TOOL with a server of the configuration")
	}
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"target": o.kill.Target, "killed": !o.lift})
	}
	_, err = fmt.Fprintf(o.streams.Err, "%s: %s\n", targetText(&o.kill.Target), map[bool]string{true: "let go on", false: "stopped"}[o.lift])
	return err
}

// list prints what is stopped.
func (o *killOptions) list(ctx context.Context, operator *api.Client) error {
	kills, err := operator.Kills(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"kills": kills})
	}
	if len(kills) == 0 {
		_, err = fmt.Fprintln(o.streams.Err, "nothing is stopped")
		return err
	}
	var rows [][]string
	for _, k := range kills {
		since := "unknown" // of one that cannot be read
		if !k.Since.IsZero() {
			since = k.Since.Format(time.RFC3339)
		}
		rows = append(rows, []string{targetText(&k.Target), since, k.By, k.Note})
	}
	fmt.Fprintf(o.streams.Err, "let calls go on, for example: annotary kill --lift %s\n", rows[0][0])
	return writeTable(o.streams.Out, []string{"STOPPED", "SINCE", "BY", "NOTE"}, rows)
}

// targetText writes a target as it is given on the command line.
func targetText(t *api.Target) string {
	switch {
	case t.All:
		return "--all"
	case t.User != "":
		return "--user " + lint.Printable(t.User)
	case t.Tool != "":
		return t.Server + "/" + lint.Printable(t.Tool)
	}
	return t.Server
}
