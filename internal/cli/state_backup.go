package cli

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/notary"
)

// kept are the buckets that a backup holds. What is sealed must be in the log
// that is copied after it, so checkpoints come before tiles and tiles before the
// log. What people granted and what conversations have seen is left out: a grant
// that was spent since must not come back, nor a conversation have seen less.
var kept = []string{"checkpoints", "tiles", catalogueBucket, "overrides"}

// The entries of a backup besides the store's.
const (
	backupHead   = "annotary.json"
	backupPublic = "audit.pub"
	backupEnd    = "complete"
)

// backupVersion is the form of a backup.
const backupVersion = 1

type backupInfo struct {
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	By      string    `json:"by"` // the version of annotary
}

// Backup writes what the gateway keeps into an archive, while it runs.
func (d *daemon) Backup(ctx context.Context, w io.Writer) error {
	d.mu.Lock()
	l, key := d.ledger, notary.KeyFile(d.cfg.Audit.Key.Value())
	d.mu.Unlock()
	if l == nil {
		return annotary.E(annotary.CodeConfig, "this gateway keeps no state", nil).
			WithHint("write 'preset: careful' into the configuration")
	}
	head, err := json.Marshal(backupInfo{Version: backupVersion, Made: time.Now().UTC(), By: version()})
	if err != nil {
		return err
	}
	public, err := os.ReadFile(key.Public())
	if err != nil {
		return annotary.E(annotary.CodeConfig, "the public keys of the log cannot be read", err).
			WithHint("audit.key names their file")
	}
	to := tar.NewWriter(w)
	err = errors.Join(writeFile(to, backupHead, head), writeFile(to, backupPublic, public))
	if err == nil {
		err = l.engine.Backup(ctx, to, kept...)
	}
	if err == nil {
		err = errors.Join(writeFile(to, backupEnd, nil), to.Close())
	}
	return err
}

func writeFile(to *tar.Writer, name string, data []byte) error {
	if err := to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := to.Write(data)
	return err
}

type stateFileOptions struct {
	streams *Streams
	config  string
	file    string
	json    bool
}

func newStateBackupCmd(s *Streams) *cobra.Command {
	o := &stateFileOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy what the running gateway keeps into a new file",
		Long: "Backup copies the log with its seals, and what was said of tools, while the gateway\n" +
			"runs. No secret is in it: keep a copy of audit.key apart. What people granted and\n" +
			"what conversations have seen is left out, for it must not be put back.",
		Example: "  annotary state backup state.tar\n" +
			"  annotary state backup --json other.tar",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return runStateBackup(cmd.Context(), o)
		},
	}
	gatewayFlags(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runStateBackup(ctx context.Context, o *stateFileOptions) (err error) {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	f, err := os.OpenFile(o.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return annotary.E(annotary.CodeUsage, "cannot make the file "+o.file, err).WithHint("name a file that does not exist yet")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(o.file)) // half a backup is none
		}
	}()
	n, err := operator.Backup(ctx, f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"file": o.file, "bytes": n})
	}
	_, err = fmt.Fprintf(o.streams.Err, "copied %d bytes into %s; the key of the log is not in it\n", n, o.file)
	return err
}

func newStateRestoreCmd(s *Streams) *cobra.Command {
	o := &stateFileOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup back, in an empty place",
		Long: "Restore puts back what 'annotary state backup' copied, where the configuration\n" +
			"keeps its state. Nothing of it may be there yet, and no gateway may run. Grants and\n" +
			"what conversations have seen do not come back: people are asked again, and for a\n" +
			"window of eight hours every conversation counts as having seen everything.",
		Example: "  annotary state restore --config new.yaml state.tar\n" +
			"  annotary state restore --config new.yaml --json state.tar",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return runStateRestore(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "annotary.yaml (default: here or in your configuration folder)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runStateRestore(ctx context.Context, o *stateFileOptions) error {
	_, c, err := loadConfig(o.config)
	if err != nil {
		return err
	}
	if _, err := openHome(c); err != nil {
		return err
	}
	f, err := os.Open(o.file)
	if err != nil {
		return cannotRead(o.file, err).WithHint("name a file that 'annotary state backup' wrote")
	}
	defer f.Close()
	engine, err := jetstream.Open(ctx, engineOptions(c))
	if err != nil {
		return err
	}
	info, err := putBack(ctx, notary.KeyFile(c.Audit.Key.Value()), engine, tar.NewReader(f))
	if err = errors.Join(err, engine.Close()); err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, info)
	}
	_, err = fmt.Fprintf(o.streams.Err, "put back what was kept on %s; start the gateway, then run 'annotary audit verify'\n", info.Made.Format(time.RFC3339))
	return err
}

// errHalf is what is wrong with a file that ends before a backup does.
var errHalf = errors.New("it ends too early")

// A restored backup is what came out of it besides what the store has taken.
type restored struct {
	backupInfo
	public []byte // the keys that signed its log
}

// putBack puts back all of a backup, or nothing of it.
func putBack(ctx context.Context, key notary.KeyFile, engine *jetstream.Engine, from *tar.Reader) (backupInfo, error) {
	var got restored
	restore, err := engine.Restore(ctx)
	if err != nil {
		return got.backupInfo, err
	}
	if err = got.read(ctx, restore, from); err == nil {
		err = trust(key, got.public)
	}
	if err == nil {
		return got.backupInfo, restore.Done(ctx)
	}
	err = errors.Join(err, restore.Undo(context.WithoutCancel(ctx)))
	if _, ours := errors.AsType[*annotary.Error](err); ours {
		return got.backupInfo, err
	}
	return got.backupInfo, annotary.E(annotary.CodeInvalid, "this is not a whole backup: "+err.Error(), err).
		WithHint("nothing of it was kept; name a file that 'annotary state backup' wrote")
}

// read reads a backup to its end. Until then nothing of it may be relied on.
func (r *restored) read(ctx context.Context, restore *jetstream.Restore, from *tar.Reader) error {
	for {
		h, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return errHalf
		case err != nil:
			return err
		case r.Version == 0 && h.Name != backupHead:
			return errors.New("it does not begin like one")
		case h.Name == backupEnd && restore.Whole():
			return nil
		}
		if err := r.entry(ctx, restore, h.Name, from); err != nil {
			return err
		}
	}
}

func (r *restored) entry(ctx context.Context, restore *jetstream.Restore, name string, from io.Reader) error {
	if ours, err := restore.Entry(ctx, name, from); ours || err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(from, 1<<20))
	if err != nil {
		return err
	}
	switch name {
	case backupHead:
		if err := json.Unmarshal(raw, &r.backupInfo); err != nil || r.Version != backupVersion {
			return errors.Join(errors.New("it has another form than this program reads"), err)
		}
	case backupPublic:
		r.public = raw
	}
	return nil
}

// trust has the keys trusted that signed what is put back.
func trust(key notary.KeyFile, public []byte) error {
	f, err := os.OpenFile(key.Public(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // the operator put the keys in place
	}
	if err != nil {
		return annotary.E(annotary.CodeConfig, "the public keys of the log cannot be written", err).WithHint("audit.key names their file")
	}
	_, err = f.Write(public)
	return errors.Join(err, f.Sync(), f.Close())
}
