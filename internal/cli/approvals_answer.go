package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/approval"
)

type answerOptions struct {
	streams      *Streams
	config       string
	id           string
	lasts        time.Duration
	once         bool
	conversation bool
	unchanged    bool
	patterns     []string
	free         []string
	note         string
	yes          bool
	json         bool
}

var errScopes = errors.New("say one of --once, --for, --conversation and --until-changed")

func newApprovalsApproveCmd(s *Streams) *cobra.Command {
	o := &answerOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Say yes to a question",
		Long: "Approve shows the question in your terminal and asks whether you mean it. Without a\n" +
			"flag the yes goes as far as the rules ask for: this call, one time, or, where\n" +
			"every rule asks only once, this tool for this conversation.\n\n" +
			"With --for and --until-changed the yes is for these arguments. --pattern lets one\n" +
			"of them differ, and can be repeated: /path=prefix:docs/, /branch=one-of:main,next,\n" +
			"/repo=exact:acme/site. --any lets one be whatever it is. What is not named stays\n" +
			"as it was shown.\n\n" +
			"It needs a terminal of its own: what a program types into a pipe is no yes.",
		Example: "  annotary approvals approve k7m2q4xw5zta\n" +
			"  annotary approvals approve k7m2q4xw5zta --for 8h --any /pull_number",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.id = args[0]
			if err := o.check(); err != nil {
				return usageError(cmd, err)
			}
			return runApprovalsApprove(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	f := cmd.Flags()
	f.BoolVar(&o.once, "once", false, "for this call, one time")
	f.DurationVar(&o.lasts, "for", 0, "for these arguments, this long (8h)")
	f.BoolVar(&o.conversation, "conversation", false, "for this tool, while the conversation lasts")
	f.BoolVar(&o.unchanged, "until-changed", false, "for these arguments, until the tool's definition changes")
	f.StringArrayVar(&o.patterns, "pattern", nil, "let an argument differ, POINTER=KIND:VALUE; may be repeated")
	f.StringArrayVar(&o.free, "any", nil, "let the argument at this POINTER be anything; may be repeated")
	f.BoolVar(&o.yes, "yes", false, "do not ask whether you mean it")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func (o *answerOptions) check() error {
	said := 0
	for _, has := range []bool{o.once, o.lasts != 0, o.conversation, o.unchanged} {
		if has {
			said++
		}
	}
	switch {
	case said > 1:
		return errScopes
	case len(o.patterns)+len(o.free) > 0 && o.lasts == 0 && !o.unchanged:
		return errors.New("a pattern needs --for or --until-changed")
	case o.lasts < 0:
		return errors.New("--for looks ahead")
	}
	return nil
}

// scope is what the flags say.
func (o *answerOptions) scope(now time.Time) (approval.Scope, error) {
	var s approval.Scope
	switch {
	case o.once:
		s.Kind = approval.Once
	case o.conversation:
		s.Kind = approval.Conversation
	case o.unchanged:
		s.Kind = approval.Unchanged
	case o.lasts != 0:
		s.Kind, s.Until = approval.Until, now.Add(o.lasts).UTC()
	}
	said := o.patterns
	for _, pointer := range o.free {
		said = append(said, pointer+"=prefix:")
	}
	var err error
	s.Pattern, err = approval.ParsePattern(said)
	return s, err
}

func runApprovalsApprove(ctx context.Context, o *answerOptions) error {
	scope, err := o.scope(time.Now())
	if err != nil {
		return err
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return annotary.E(annotary.CodeUsage, "a yes needs a terminal, and there is none", err).
			WithHint("run it in a terminal, or answer on the approval page")
	}
	defer tty.Close()
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	a, err := operator.Approval(ctx, o.id)
	if err != nil {
		return err
	}
	if !o.yes && a.State == approval.Open {
		sure, err := confirm(tty, &a, scope)
		if err != nil || !sure {
			return errors.Join(err, notSure(sure))
		}
	}
	return o.answer(ctx, operator, api.AnswerRequest{Yes: true, Scope: scope})
}

func notSure(sure bool) error {
	if sure {
		return nil
	}
	return annotary.E(annotary.CodeUsage, "nothing was answered", nil).WithHint("the question stays open")
}

// confirm shows the question in the terminal and asks for a yes.
func confirm(tty io.ReadWriter, a *api.Approval, s approval.Scope) (bool, error) {
	s.Kind = cmp.Or(s.Kind, a.Usual)
	fmt.Fprintf(tty, "%s\n%s [y/N] ", folded(a.Prompt.Text()), strings.TrimSuffix(folded("Approve "+scopeText(s)+"?"), "\n"))
	return saidYes(tty)
}

// scopeText says how far a yes goes.
func scopeText(s approval.Scope) string {
	text := ""
	switch s.Kind {
	case approval.Once:
		text = "this call, one time"
	case approval.Conversation:
		text = "this tool, whatever the arguments, while the conversation lasts"
	case approval.Until:
		text = "these arguments, until " + clock(s.Until)
	case approval.Unchanged:
		text = "these arguments, until the tool's definition changes"
	}
	if len(s.Pattern) > 0 {
		text += ", with " + patternText(s.Pattern)
	}
	return text
}

// answer sends the answer and says what came of it.
func (o *answerOptions) answer(ctx context.Context, operator *api.Client, q api.AnswerRequest) error {
	a, err := operator.Answer(ctx, o.id, q)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, a)
	}
	text := "denied"
	if q.Yes {
		text = "approved for " + scopeText(a.Answer.Scope)
	}
	line := fmt.Sprintf("%s %s/%s: %s", a.ID, a.Server, cut(a.Tool, maxCell), text)
	_, err = fmt.Fprint(o.streams.Out, fitted(o.streams.Out, line))
	return err
}

func newApprovalsDenyCmd(s *Streams) *cobra.Command {
	o := &answerOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Say no to a question",
		Long:  "Deny refuses exactly this call for an hour. The caller hears your note.",
		Example: "  annotary approvals deny k7m2q4xw5zta\n" +
			"  annotary approvals deny k7m2q4xw5zta --note 'not on a Friday'",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.id = args[0]
			return runApprovalsDeny(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().StringVar(&o.note, "note", "", "why; the caller reads it")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runApprovalsDeny(ctx context.Context, o *answerOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	return o.answer(ctx, operator, api.AnswerRequest{Note: o.note})
}
