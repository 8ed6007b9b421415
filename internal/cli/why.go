package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/lint"
)

type whyOptions struct {
	streams *Streams
	config  string
	ask     api.WhyRequest
	json    bool
}

var (
	errNoTool      = errors.New("name the tool as SERVER/TOOL")
	errNoArguments = errors.New("the arguments of a call are a JSON object, like '{\"id\": 7}'")
)

func newWhyCmd(s *Streams) *cobra.Command {
	o := &whyOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "why SERVER/TOOL [ARGUMENTS]",
		GroupID: groupDecide,
		Short:   "Say what would become of a call, and which rule says so",
		Long: "Why asks the running gateway what it would do with a call, and prints every rule\n" +
			"that has a part in it: whether the caller sees the tool at all, and whether the\n" +
			"call would be let through. Nothing is called and nothing is recorded. It says\n" +
			"what a caller must not learn: a hidden tool answers callers like an absent one.",
		Example: "  annotary why notes/delete_note\n" +
			"  annotary why --as ann --group interns notes/add_note '{\"text\":\"hi\"}'",
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ok bool
			if o.ask.Server, o.ask.Tool, ok = strings.Cut(args[0], "/"); !ok {
				return usageError(cmd, errNoTool)
			}
			if len(args) == 2 {
				if o.ask.Arguments = json.RawMessage(args[1]); !json.Valid(o.ask.Arguments) {
					return usageError(cmd, errNoArguments)
				}
			}
			return runWhy(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().StringVar(&o.ask.As.Subject, "as", "", "who calls (default: the local user)")
	cmd.Flags().StringSliceVar(&o.ask.As.Groups, "group", nil, "a group the caller is in; may be repeated")
	cmd.Flags().StringSliceVar(&o.ask.As.Scopes, "scope", nil, "a scope the caller has; may be repeated")
	cmd.Flags().BoolVar(&o.ask.ReadOnly, "read-only", false, "called where only reads are served")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runWhy(ctx context.Context, o *whyOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	a, err := operator.Why(ctx, o.ask)
	if annotary.CodeOf(err) == gateway.CodeUnknownServer {
		return annotary.E(annotary.CodeInvalid, "the gateway has no server "+o.ask.Server, err).
			WithHint("write SERVER/TOOL with a server of the configuration")
	}
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, a)
	}
	for _, line := range whyLines(&a) {
		if _, err := fmt.Fprint(o.streams.Out, fitted(o.streams.Out, lint.Printable(line))); err != nil {
			return err
		}
	}
	return nil
}

// whyLines say first what the caller hears, then what only the operator may know.
func whyLines(a *api.WhyAnswer) []string {
	lines := []string{fmt.Sprintf("%s/%s, called by %s: %s", a.Server, a.Tool, a.Subject, outcomeOf(a))}
	for _, r := range a.Call.Reasons {
		lines = append(lines, "- "+reasonText(r))
		if r.Hint != "" {
			lines = append(lines, "  what would help: "+r.Hint)
		}
	}
	if a.Class != "" {
		lines = append(lines, "The call counts as "+a.Class+", "+vouchers(a))
	}
	if a.Narrowed != "" {
		lines = append(lines, "With these arguments it only reads: "+a.Narrowed)
	}
	if a.Told != "" && a.See.Effect == annotary.Allow.String() && len(a.Proposals) > 0 {
		lines = append(lines, fmt.Sprintf("More is suggested of it than anybody vouches for; see 'annotary accept --dry-run %s/%s'", a.Server, a.Tool))
	}
	return lines
}

// outcomeOf says what becomes of the call, and what the caller takes it for.
func outcomeOf(a *api.WhyAnswer) string {
	switch {
	case a.Observed != "":
		return fmt.Sprintf("goes through, because policies are only observed until %s; then refused as %s",
			a.ObservedUntil.Format(time.RFC3339), a.Observed)
	case a.Approval != "":
		return "goes through: approval " + a.Approval + " covers it"
	case a.Told == "":
		return "goes through"
	case a.Told == annotary.CodeApproval:
		return "waits for a person's yes, as " + string(a.Told)
	case a.Class == "" && slices.ContainsFunc(a.Call.Reasons, func(r api.Reason) bool { return r.Code == a.Told }):
		return "refused as " + string(a.Told) + ", which it is"
	case a.See.Effect != annotary.Allow.String():
		return "hidden, so refused as " + string(a.Told)
	default:
		return "refused as " + string(a.Told)
	}
}

// reasonText writes a reason as "code, rule RULE (FILE:LINE): text". The short
// rules are in no file of their own: their names say all.
func reasonText(r api.Reason) string {
	text := string(r.Code)
	if r.Rule != "" {
		text += ", rule " + r.Rule
	}
	if file, _, _ := strings.Cut(r.At, ":"); r.At != "" && !strings.HasPrefix(r.Rule, file+"/") {
		text += " (" + r.At + ")"
	}
	return text + ": " + r.Text
}

// vouchers says who stands behind the class.
func vouchers(a *api.WhyAnswer) string {
	h := a.Hints[annotary.ReadOnly.String()]
	if h.Value != annotary.Yes {
		h = a.Hints[annotary.Destructive.String()]
	}
	if h.From == annotary.FromDefault {
		return "because nobody vouches for better"
	}
	if h.From == annotary.FromDeclared {
		return "by the word of the server"
	}
	return "by the word of " + sources[h.From] + ": " + h.Why
}

// sources are what stands behind a hint, in words.
var sources = map[annotary.Source]string{
	annotary.FromDerived:  "its definition",
	annotary.FromVerified: "a watched run",
	annotary.FromConfined: "the kernel",
	annotary.FromOperator: "the operator",
	annotary.FromObserved: "what it was seen to do",
}
