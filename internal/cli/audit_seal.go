package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/api"
)

// What stands beside an export: the checkpoint that speaks for it, and the
// hashes that name the entry that is bad.
const (
	sealSuffix   = ".seal"
	leavesSuffix = ".leaves"
)

// exportSeal writes what verifies the export.
func (o *auditOptions) exportSeal(ctx context.Context) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	seal, err := operator.Checkpoint(ctx)
	if err != nil || seal.Checkpoint == "" {
		return err
	}
	raw, err := json.MarshalIndent(seal, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.file+sealSuffix, append(raw, '\n'), 0o600); err != nil {
		return cannotWrite(o.file+sealSuffix, err)
	}
	leaves, err := operator.Leaves(ctx, seal.Size)
	if err != nil {
		return err
	}
	defer leaves.Close()
	f, err := os.OpenFile(o.file+leavesSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return cannotWrite(o.file+leavesSuffix, err)
	}
	_, err = io.Copy(f, leaves)
	return errors.Join(err, f.Close())
}

func cannotWrite(path string, err error) error {
	return annotary.E(annotary.CodeInvalid, "cannot write "+path, err).WithHint("is there room, and may this user write there?")
}

func readSeal(export string) (api.Checkpoint, error) {
	var seal api.Checkpoint
	raw, err := os.ReadFile(export + sealSuffix)
	if err != nil {
		return seal, annotary.E(annotary.CodeInvalid, "nothing speaks for "+export, err).
			WithHint("put " + export + sealSuffix + " beside it, or name a file of checkpoints with --checkpoints")
	}
	if err := json.Unmarshal(raw, &seal); err != nil || seal.First < 0 {
		return seal, annotary.E(annotary.CodeInvalid, export+sealSuffix+" cannot be read", err).WithHint("export again")
	}
	return seal, nil
}

// exportedTiles are the tiles of an export's tree, made from its leaves.
func exportedTiles(export string) (audit.TileReader, error) {
	f, err := os.Open(export + leavesSuffix)
	if err != nil {
		return nil, cannotRead(export+leavesSuffix, err)
	}
	defer f.Close()
	tiles := map[[2]int64][]byte{}
	keep := func(t audit.Tile) { tiles[[2]int64{int64(t.Level), t.Index}] = t.Bytes() }
	tree := audit.Tree{OnFull: keep}
	for {
		var h audit.Hash
		if _, err := io.ReadFull(f, h[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, cannotRead(export+leavesSuffix, err)
		}
		tree.Add(h)
	}
	for _, t := range tree.Open() {
		keep(t)
	}
	return func(level int, index int64) ([]byte, error) { return tiles[[2]int64{int64(level), index}], nil }, nil
}
