package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/notary"
)

type keyOptions struct {
	streams *Streams
	config  string
	rotate  bool
	forget  bool
	json    bool
}

func newAuditKeyCmd(s *Streams) *cobra.Command {
	o := &keyOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public keys that verify the log, or change them",
		Long: "Key prints the public keys of the log's checkpoints, newest first. Give them to\n" +
			"whoever verifies the log. With --rotate a new key signs from the next checkpoint\n" +
			"on; the last one signs beside it until the next change, so that who knows only\n" +
			"that one can still verify. With --forget it does not: for a key that was stolen.",
		Example: "  annotary audit key\n" +
			"  annotary audit key --rotate",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runAuditKey(o) },
	}
	configFlag(cmd, &o.config)
	cmd.Flags().BoolVar(&o.rotate, "rotate", false, "make a new key")
	cmd.Flags().BoolVar(&o.forget, "forget", false, "with --rotate: the old key signs no more")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runAuditKey(o *keyOptions) error {
	if o.forget && !o.rotate {
		return annotary.E(annotary.CodeUsage, "--forget alone changes nothing", nil).
			WithHint("--rotate --forget puts a new key in place of the old one")
	}
	cfg, err := loadData(o.config)
	if err != nil {
		return err
	}
	file := notary.KeyFile(cfg.Audit.Key.Value())
	if o.rotate {
		if err := file.Rotate(o.forget); err != nil {
			return err
		}
	}
	keys, err := publicKeys(o.config, nil)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"keys": keys, "file": file.Public()})
	}
	_, err = fmt.Fprintln(o.streams.Out, strings.Join(keys, "\n"))
	return err
}
