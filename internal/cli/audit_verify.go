package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/notary"
)

type verifyOptions struct {
	streams     *Streams
	config      string
	keys        []string
	known       []string
	checkpoints string
	export      string
	alarm       string // what the gateway itself has found
	json        bool
}

func newAuditVerifyCmd(s *Streams) *cobra.Command {
	o := &verifyOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "verify [EXPORT]",
		Short: "Check that no entry was removed, edited or reordered",
		Long: "Verify holds the log of the running gateway, or a file that 'annotary audit\n" +
			"export' wrote, against its signed checkpoints, and names the first entry that is\n" +
			"not what was sealed. It needs the public key and trusts nothing else. Whether the\n" +
			"newest entries were cut off together with their checkpoints shows only beside a\n" +
			"checkpoint that was kept elsewhere: give it with --known.\n\n" +
			"It ends with 0 if the log is whole and with 1 if it is not.",
		Example: "  annotary audit verify --known checkpoints.txt\n" +
			"  annotary audit verify --key audit.pub log.jsonl",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.export = strings.Join(args, "")
			return runAuditVerify(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	keyFlag(cmd, &o.keys)
	cmd.Flags().StringArrayVar(&o.known, "known", nil, "a file of checkpoints that you kept; may be repeated")
	cmd.Flags().StringVar(&o.checkpoints, "checkpoints", "", "a file of checkpoints in place of those beside the export")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func keyFlag(cmd *cobra.Command, keys *[]string) {
	cmd.Flags().StringArrayVar(keys, "key", nil, "a public key, or a file of them; may be repeated (default: the .pub file of the configuration)")
}

// A verification is what verify says.
type verification struct {
	audit.Report
	// Code says what is wrong beside an entry: a forged checkpoint, or two
	// histories.
	Code annotary.Code `json:"code,omitempty"`
}

func runAuditVerify(ctx context.Context, o *verifyOptions) error {
	keys, err := publicKeys(o.config, o.keys)
	if err != nil {
		return err
	}
	known, err := readNotes(o.known...)
	if err != nil {
		return err
	}
	open := o.live
	if o.export != "" {
		open = o.exported
	}
	src, done, err := open(ctx)
	if annotary.CodeOf(err) == annotary.CodeForked { // not even the tree of the log can be read
		return o.print(verification{audit.Report{Bad: -1, Why: err.Error()}, annotary.CodeForked})
	}
	if err != nil {
		return err
	}
	defer done()
	src.Keys, src.Known = keys, known
	v := verification{}
	v.Report, err = audit.Verify(src)
	switch code := annotary.CodeOf(err); code {
	case "":
		if o.alarm != "" && v.Whole() {
			v.Code, v.Why = annotary.CodeForked, o.alarm
		}
	case annotary.CodeForged, annotary.CodeForked:
		v.Code, v.Why = code, err.Error()
	default:
		return err
	}
	return o.print(v)
}

func (o *verifyOptions) print(v verification) error {
	var err error
	if o.json {
		err = printJSON(o.streams.Out, v)
	} else {
		_, err = fmt.Fprintln(o.streams.Out, v.text())
	}
	if err == nil && (v.Code != "" || !v.Whole()) {
		return annotary.E(annotary.CodeFindings, cmp.Or(v.Why, "the log is not whole"), nil)
	}
	return err
}

// text says it for people.
func (v *verification) text() string {
	var lines []string
	switch {
	case v.Code != "":
		return fmt.Sprintf("NOT WHOLE: %s (%s)", v.Why, v.Code)
	case !v.Whole():
		lines = append(lines, "NOT WHOLE: "+v.Why)
		if v.BadBefore > v.Bad+1 {
			lines = append(lines, fmt.Sprintf("first bad entry: one of %d to %d", v.Bad, v.BadBefore-1))
		} else {
			lines = append(lines, fmt.Sprintf("first bad entry: %d", v.Bad))
		}
		lines = append(lines, fmt.Sprintf("good before: the first %d", v.Bad))
		return strings.Join(lines, "\n")
	}
	lines = append(lines, fmt.Sprintf("whole: %d entries, sealed to %d", v.Entries, v.Sealed))
	if v.First > 0 {
		lines = append(lines, fmt.Sprintf("no longer there: the first %d, only their hashes. That their time was over is what\nthe log itself says; nothing proves it", v.First))
	}
	if v.Unsealed > 0 {
		lines = append(lines, fmt.Sprintf("not sealed yet, so nothing speaks for them: the last %d", v.Unsealed))
	}
	if !v.TailKnown {
		lines = append(lines, "whether newer entries were cut off cannot be told without a checkpoint kept\nelsewhere (--known)")
	}
	return strings.Join(lines, "\n")
}

// live reads the log of the running gateway.
func (o *verifyOptions) live(ctx context.Context) (audit.Sources, func(), error) {
	operator, err := operatorOf(o.config)
	if err != nil {
		return audit.Sources{}, nil, err
	}
	for {
		src, again, done, err := o.liveOnce(ctx, operator)
		if !again {
			return src, func() { done(); operator.Close() }, err
		}
		done()
	}
}

// liveOnce reads it unless it is shortened meanwhile: then again is true.
func (o *verifyOptions) liveOnce(ctx context.Context, operator *api.Client) (src audit.Sources, again bool, done func(), err error) {
	var open []io.Closer
	done = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	before, err := operator.Checkpoint(ctx)
	if err != nil {
		return src, false, done, err
	}
	o.alarm = before.Alarm
	switch {
	case before.Checkpoint != "":
	case o.alarm != "":
		return src, false, done, annotary.E(annotary.CodeForked, o.alarm, nil).WithHint("docs/audit.md says what the alarm means")
	case len(o.known) > 0: // which speak of entries that are not there
		src.Entries = strings.NewReader("")
		return src, false, done, nil
	default:
		return src, false, done, annotary.E(annotary.CodeInvalid, "nothing is recorded yet", nil).WithHint("call a tool through the gateway first")
	}
	leaves, err := operator.Leaves(ctx, before.Size)
	if err != nil {
		return src, false, done, err
	}
	open = append(open, leaves)
	lines, err := operator.Lines(ctx)
	if err != nil {
		return src, false, done, err
	}
	open = append(open, lines)
	after, err := operator.Checkpoint(ctx)
	src = audit.Sources{Entries: lines, Leaves: leaves, First: before.First, Checkpoints: [][]byte{[]byte(before.Checkpoint)}}
	return src, err == nil && after.First != before.First, done, err
}

// exported reads a file that was exported.
func (o *verifyOptions) exported(context.Context) (audit.Sources, func(), error) {
	var src audit.Sources
	entries, err := os.Open(o.export)
	if err != nil {
		return src, nil, cannotRead(o.export, err)
	}
	src.Entries = entries
	done := func() { _ = entries.Close() }
	if o.checkpoints != "" {
		src.Checkpoints, err = readNotes(o.checkpoints)
		return src, done, err
	}
	seal, err := readSeal(o.export)
	if err != nil {
		return src, done, err
	}
	src.First, src.Checkpoints = seal.First, [][]byte{[]byte(seal.Checkpoint)}
	if leaves, err := os.Open(o.export + leavesSuffix); err == nil {
		src.Leaves = leaves
		done = func() { _ = errors.Join(entries.Close(), leaves.Close()) }
	}
	return src, done, nil
}

// readNotes reads files of checkpoints.
func readNotes(paths ...string) ([][]byte, error) {
	var notes [][]byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, cannotRead(path, err)
		}
		these := audit.SplitNotes(text)
		if n := len(these); n > 1 && !bytes.HasSuffix(text, []byte("\n")) {
			these = these[:n-1] // it was being written
		}
		if len(these) == 0 {
			return nil, annotary.E(annotary.CodeInvalid, "there is no checkpoint in "+path, nil).
				WithHint("checkpoints are what audit.checkpoints names, checkpoints.txt in the data folder")
		}
		notes = append(notes, these...)
	}
	return notes, nil
}

// publicKeys are the keys that were given, each itself or the file it is in, or
// those of the configuration.
func publicKeys(configPath string, given []string) ([]string, error) {
	if len(given) == 0 {
		cfg, err := loadData(configPath)
		if configPath == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, annotary.E(annotary.CodeConfig, "the public key of the log is not known", err).
				WithHint("give it with --key, or name the configuration of the gateway with --config")
		}
		if err != nil {
			return nil, err
		}
		given = []string{notary.KeyFile(cfg.Audit.Key.Value()).Public()}
	}
	var keys []string
	for _, k := range given {
		if strings.Contains(k, "+") && !strings.ContainsAny(k, " \n") {
			if _, err := os.Stat(k); err != nil {
				keys = append(keys, k)
				continue
			}
		}
		text, err := os.ReadFile(k)
		if err != nil {
			return nil, cannotRead(k, err)
		}
		keys = append(keys, strings.Fields(string(text))...)
	}
	return keys, nil
}
