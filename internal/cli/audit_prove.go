package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/api"
)

type proveOptions struct {
	streams *Streams
	config  string
	keys    []string
	index   int64
	export  string
	json    bool
}

func newAuditProveCmd(s *Streams) *cobra.Command {
	o := &proveOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "prove INDEX [EXPORT]",
		Short: "Prove that one entry is in the log",
		Long: "Prove takes one entry, by its index from 0, from the log of the running gateway or\n" +
			"from a file that 'annotary audit export' wrote, and checks with the public key that\n" +
			"it is in the log that was sealed. With --json it prints what anybody needs to check\n" +
			"the same without the rest of the log: the entry, the audit path of RFC 6962 and the\n" +
			"signed checkpoint.",
		Example: "  annotary audit prove 0\n" +
			"  annotary audit prove --key audit.pub --json 0 log.jsonl",
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.index, err = strconv.ParseInt(args[0], 10, 64); err != nil || o.index < 0 {
				return annotary.E(annotary.CodeUsage, fmt.Sprintf("%q is no index", args[0]), err).WithHint("entries count from 0")
			}
			if len(args) > 1 {
				o.export = args[1]
			}
			return runAuditProve(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	keyFlag(cmd, &o.keys)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runAuditProve(ctx context.Context, o *proveOptions) error {
	keys, err := publicKeys(o.config, o.keys)
	if err != nil {
		return err
	}
	prove := o.live
	if o.export != "" {
		prove = o.exported
	}
	p, err := prove(ctx, keys)
	if err != nil {
		return err
	}
	c, err := audit.OpenCheckpoint([]byte(p.Checkpoint), keys...)
	if err != nil {
		return err
	}
	if err := p.Check(c, []byte(p.Entry)); err != nil || p.Index != o.index {
		return o.unproven(err)
	}
	if o.json {
		return printJSON(o.streams.Out, p)
	}
	text, err := entryText([]byte(p.Entry))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s\nproven: entry %d of the %d that checkpoint %s covers\n", text, p.Index, c.Size, c.Origin)
	return err
}

// unproven says that the entry is another, or not there at all.
func (o *proveOptions) unproven(cause error) error {
	const why = "the entry is not the one that was sealed"
	var err error
	if o.json {
		err = printJSON(o.streams.Out, map[string]any{"index": o.index, "proven": false, "why": why})
	} else {
		_, err = fmt.Fprintf(o.streams.Out, "NOT PROVEN: entry %d is not the one that was sealed\n", o.index)
	}
	if err != nil {
		return err
	}
	return annotary.E(annotary.CodeFindings, why, cause)
}

// dropped is the error of an entry that was there and need not be any more.
func (o *proveOptions) dropped() error {
	return annotary.E(annotary.CodeInvalid, fmt.Sprintf("entry %d is no longer in the log", o.index), nil).
		WithHint("it was dropped when its time was over; an older export may have it")
}

// live asks the running gateway.
func (o *proveOptions) live(ctx context.Context, _ []string) (api.Proof, error) {
	operator, err := operatorOf(o.config)
	if err != nil {
		return api.Proof{}, err
	}
	defer operator.Close()
	p, err := operator.Proof(ctx, o.index)
	if err == nil && p.Entry == "" {
		err = o.dropped()
	}
	return p, err
}

// exported makes the proof from the leaves of an export.
func (o *proveOptions) exported(_ context.Context, keys []string) (api.Proof, error) {
	seal, err := readSeal(o.export)
	if err != nil {
		return api.Proof{}, err
	}
	p := api.Proof{Checkpoint: seal.Checkpoint}
	c, err := audit.OpenCheckpoint([]byte(seal.Checkpoint), keys...)
	if err != nil {
		return p, err
	}
	if o.index >= c.Size {
		return p, annotary.E(annotary.CodeInvalid, fmt.Sprintf("entry %d is not among the %d that are sealed", o.index, c.Size), nil).
			WithHint("entries count from 0")
	}
	if o.index < seal.First {
		return p, o.dropped()
	}
	tiles, err := exportedTiles(o.export)
	if err != nil {
		return p, err
	}
	if p.Proof, err = tiles.Prove(c, o.index); err != nil {
		return p, annotary.E(annotary.CodeInvalid, o.export+leavesSuffix+" is not what was sealed", err).
			WithHint("export again; the log itself is checked by 'annotary audit verify'")
	}
	p.Entry, err = lineOf(o.export, o.index-seal.First)
	return p, err
}

// lineOf reads the line of a file with that number, from 0; empty if it has none.
func lineOf(path string, n int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", cannotRead(path, err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for ; ; n-- {
		switch line, err := lines.ReadString('\n'); {
		case err != nil && !errors.Is(err, io.EOF):
			return "", cannotRead(path, err)
		case n == 0:
			return strings.TrimSuffix(line, "\n"), nil
		case err != nil:
			return "", nil
		}
	}
}
