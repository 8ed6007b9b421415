package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/policy"
)

type replayOptions struct {
	policyOptions
	from  string
	since string
	file  string
}

func newPolicyReplayCmd(s *Streams) *cobra.Command {
	o := &replayOptions{policyOptions: policyOptions{streams: s}}
	cmd := &cobra.Command{
		Use:   "replay [EXPORT]",
		Short: "Judge recorded calls again, and say what would change",
		Long: "Replay takes the calls in the log of the running gateway, or in a file that\n" +
			"'annotary audit export' wrote, judges them by other policies, and prints what\n" +
			"would have come out otherwise. Callers, tools and hints are taken as they were\n" +
			"recorded. Where the policies look at what is not in the records, above all the\n" +
			"arguments of calls, and it matters, the call is counted under 'cannot tell'.\n\n" +
			"Exit code: 0 nothing would change, 1 something would, or cannot be told, 2 wrong\n" +
			"usage, 3 a file cannot be read, 4 no gateway is running.",
		Example: "  annotary policy replay --config next.yaml\n" +
			"  annotary policy replay --preset strict --policy team.cedar log.jsonl",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = strings.Join(args, "")
			return runPolicyReplay(cmd.Context(), o)
		},
	}
	policyFlags(cmd, &o.policyOptions)
	cmd.Flags().StringArrayVar(&o.files, "policy", nil, "a Cedar file, beside the preset; may be repeated")
	cmd.Flags().StringVar(&o.from, "from", "", "the configuration of the gateway whose log is read (default: annotary.yaml here or in your configuration folder)")
	cmd.Flags().StringVar(&o.since, "since", "", "only calls since then: 30m, 24h, 2026-11-15 or 2026-11-15T08:00:00Z")
	cmd.MarkFlagsMutuallyExclusive("config", "policy")
	return cmd
}

func runPolicyReplay(ctx context.Context, o *replayOptions) error {
	set, err := o.set()
	if err != nil {
		return err
	}
	r := &replay{set: set, byChange: map[change]*Changed{}}
	if o.config != "" {
		c, err := config.Load(o.config)
		if err != nil {
			return err
		}
		r.profiles = profilesOf(c)
	}
	if err := readEntries(ctx, o.from, o.file, o.since, r.take); err != nil {
		return err
	}
	out := r.outcome()
	if o.json {
		err = printJSON(o.streams.Out, out)
	} else {
		err = o.print(out)
	}
	if err == nil && len(out.Changed)+out.Unclear > 0 {
		return annotary.E(annotary.CodeFindings, "something would change", nil)
	}
	return err
}

// Replayed is what other policies would have made of recorded calls.
type Replayed struct {
	Calls   int        `json:"calls"`   // that policies decided
	Skipped int        `json:"skipped"` // refused before policies were asked
	Same    int        `json:"same"`
	Unclear int        `json:"unclear"` // it cannot be told from the records
	Changed []*Changed `json:"changed"` // the most frequent first
}

// Changed are calls of one tool that one rule would decide otherwise.
type Changed struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Was    string `json:"was"`
	Would  string `json:"would"` // or "unclear"
	Rule   string `json:"rule"`  // that would decide, or the code of what is no rule
	Calls  int    `json:"calls"`
	// Example is the id of one of the calls, and Who made it.
	Example string `json:"example"`
	Who     string `json:"who"`
}

// unclear stands where an effect would, if it cannot be told.
const unclear = "unclear"

type change struct{ server, tool, was, would, rule string }

// A replay judges entries again.
type replay struct {
	set      *policy.Set
	profiles []gateway.Profile
	sum      Replayed
	byChange map[change]*Changed
}

func (r *replay) take(e *audit.Entry) {
	was, judged := judgedEffect(e)
	switch {
	case e.Kind != audit.Decided:
		return
	case !judged:
		r.sum.Skipped++
		return
	}
	r.sum.Calls++
	low, high := r.set.Bounds(requestOf(e, r.profiles))
	if hasReason(e, annotary.CodeUnchecked) {
		low.Effect, high.Effect = min(low.Effect, annotary.Ask), min(high.Effect, annotary.Ask)
	}
	would := low.Effect.String()
	switch {
	case low.Effect == high.Effect:
	case e.Policy == r.set.Digest().String(): // the same policies knew what they looked at
		would = was
	default:
		would = unclear
	}
	if would == was {
		r.sum.Same++
		return
	}
	rule := string(annotary.CodeNoPermit)
	if len(low.Reasons) > 0 {
		rule = cmp.Or(low.Reasons[0].Rule, string(low.Reasons[0].Code))
	}
	if would == unclear {
		r.sum.Unclear++
	}
	r.note(e, change{e.Server, cmp.Or(e.Tool, e.Method), was, would, rule})
}

func (r *replay) note(e *audit.Entry, c change) {
	if r.byChange[c] == nil {
		r.byChange[c] = &Changed{Server: c.server, Tool: c.tool, Was: c.was, Would: c.would, Rule: c.rule, Example: e.Call, Who: e.Subject}
	}
	r.byChange[c].Calls++
}

func (r *replay) outcome() *Replayed {
	r.sum.Changed = []*Changed{}
	for _, c := range r.byChange {
		r.sum.Changed = append(r.sum.Changed, c)
	}
	slices.SortFunc(r.sum.Changed, func(a, b *Changed) int {
		return cmp.Or(-cmp.Compare(a.Calls, b.Calls), strings.Compare(a.Server+"/"+a.Tool, b.Server+"/"+b.Tool),
			strings.Compare(a.Would, b.Would), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Was, b.Was))
	})
	return &r.sum
}

func hasReason(e *audit.Entry, code annotary.Code) bool {
	return slices.ContainsFunc(e.Reasons, func(r audit.Reason) bool { return r.Code == code })
}

// judgedEffect is what policies said of a call, and whether they were asked. A
// call that a person let through was one they wanted a person for. A reason of
// theirs has a rule, or says that there is none.
func judgedEffect(e *audit.Entry) (string, bool) {
	for _, r := range e.Reasons {
		if r.Rule == "" && r.Code != annotary.CodeNoPermit && r.Code != annotary.CodeUnchecked {
			return "", false
		}
	}
	if e.Effect == annotary.Allow.String() && e.Approval+e.Grant != "" {
		return annotary.Ask.String(), true
	}
	return e.Effect, len(e.Reasons) > 0
}

// requestOf makes a request of an entry, and says what the entry does not hold.
func requestOf(e *audit.Entry, profiles []gateway.Profile) (*policy.Request, policy.Unknown) {
	who := annotary.Principal{Tenant: e.Tenant, Issuer: e.Issuer, Subject: e.Subject, Client: e.Client, Groups: e.Groups}
	for _, p := range profiles {
		if p.Has(&who) {
			who.Profiles = append(who.Profiles, p.Name)
		}
	}
	action, kind := gateway.ActionOf(e.Method)
	about := policy.About{
		Kind: kind, Server: e.Server, Name: e.Tool, Believed: e.Believed, Hints: hintsOf(e, func(audit.Effective) bool { return true }),
	}
	if !e.Believed && e.Effective != nil {
		bare := hintsOf(e, func(v audit.Effective) bool { return v.From != annotary.FromDeclared && v.From != annotary.FromDerived })
		about.Unclaimed = &bare
	}
	denied := e.Effect == annotary.Deny.String()
	unknown := policy.Unknown{
		Arguments: len(e.Arguments) == 0 && (e.ArgumentsDigest != "" || denied) || len(e.Hidden) > 0,
		Scopes:    true, Standing: true,
	}
	unknown.Truncated = unknown.Arguments && (e.Truncated || hasReason(e, "truncated_arguments"))
	return &policy.Request{
		Action: action, Who: policy.NewSubject(&who), Target: policy.NewTarget(about),
		Arguments: e.Arguments, Seen: annotary.CleanLabel(), Now: e.Time,
	}, unknown
}

// hintsOf are the hints of an entry that count, pessimistic for the rest. What is
// no tool has none; that it reads, the protocol says.
func hintsOf(e *audit.Entry, counts func(audit.Effective) bool) annotary.Hints {
	h := annotary.Pessimistic()
	if e.Effective == nil && e.Class == annotary.Read.String() {
		h = annotary.PresetReadOnly.Hints(annotary.FromDeclared, "")
		h[annotary.OpenWorld] = annotary.Pessimistic()[annotary.OpenWorld]
	}
	for n := range annotary.HintName(annotary.NumHints) {
		if v, ok := e.Effective[n.String()]; ok && counts(v) {
			h[n] = annotary.Hint{Value: v.Value, From: v.From}
		}
	}
	return h
}

func (o *replayOptions) print(r *Replayed) error {
	changed := r.Calls - r.Same - r.Unclear
	fmt.Fprintf(o.streams.Out, "%s judged again: %d as before, %d otherwise, %d cannot be told\n", count(r.Calls, "call"), r.Same, changed, r.Unclear)
	if r.Skipped > 0 {
		fmt.Fprintf(o.streams.Out, "%s refused before policies were asked\n", count(r.Skipped, "call"))
	}
	if len(r.Changed) == 0 {
		return nil
	}
	var rows [][]string
	for _, c := range r.Changed {
		rows = append(rows, []string{c.Server + "/" + c.Tool, c.Was, c.Would, strconv.Itoa(c.Calls), c.Rule})
	}
	return writeTable(o.streams.Out, []string{"TOOL", "WAS", "WOULD", "CALLS", "RULE"}, rows)
}
