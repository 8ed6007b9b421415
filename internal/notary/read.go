package notary

import (
	"context"
	"errors"
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// A Seal is what speaks for a log at one moment.
type Seal struct {
	Checkpoint []byte // signed; nil before the first
	Size       int64  // of the tree
	Pack       uint64 // the last one sealed
	// First is the index of the first entry that is still there, and FirstPack
	// its pack.
	First     int64
	FirstPack uint64
}

// Newest returns the newest checkpoint and where the log begins.
func (s *Sealer) Newest(ctx context.Context) (Seal, error) {
	var out Seal
	var err error
	if out.FirstPack, out.First, err = s.First(ctx); err != nil {
		return out, err
	}
	latest, _, err := s.latest(ctx)
	if err != nil || latest == nil {
		return out, err
	}
	keys, err := s.o.Keys()
	if err != nil {
		return out, err
	}
	c, err := audit.OpenCheckpoint([]byte(latest.Checkpoint), keys.Trusted...)
	if err != nil {
		return out, err
	}
	out.Checkpoint, out.Size, out.Pack = []byte(latest.Checkpoint), c.Size, latest.Pack
	return out, nil
}

// First returns the first pack that is still there, and the index of its first
// entry.
func (s *Sealer) First(ctx context.Context) (pack uint64, index int64, err error) {
	k, _, err := s.kept(ctx)
	return k.Pack + 1, k.Index, err
}

// Leaves calls each with the leaves from the first on, up to size.
func (s *Sealer) Leaves(ctx context.Context, size int64, each func(audit.Hash) error) error {
	if err := s.tiles.reader(ctx).Leaves(0, size, each); err != nil {
		return s.apart(err, "the stored tree cannot be read")
	}
	return nil
}

// A Proven entry comes with everything that shows it is in the log.
type Proven struct {
	audit.Proof
	Checkpoint []byte // signed
	Line       []byte // nil if the log no longer has it
}

// Prove returns an entry with its proof under the newest checkpoint.
func (s *Sealer) Prove(ctx context.Context, index int64) (Proven, error) {
	newest, err := s.Newest(ctx)
	if err != nil {
		return Proven{}, err
	}
	if index < 0 || index >= newest.Size {
		return Proven{}, annotary.E(annotary.CodeInvalid, fmt.Sprintf("entry %d is not among the %d that are sealed", index, newest.Size), nil).
			WithHint("entries count from 0; the newest are sealed within a second")
	}
	keys, err := s.o.Keys()
	if err != nil {
		return Proven{}, err
	}
	c, err := audit.OpenCheckpoint(newest.Checkpoint, keys.Trusted...)
	if err != nil {
		return Proven{}, err
	}
	p := Proven{Checkpoint: newest.Checkpoint}
	if p.Proof, err = s.tiles.reader(ctx).Prove(c, index); err != nil {
		return Proven{}, s.apart(err, "the stored tree is not the one that was sealed")
	}
	if index >= newest.First {
		p.Line, err = s.entry(ctx, newest, index)
	}
	return p, err
}

// errFound ends a search.
var errFound = errors.New("found")

// entry reads an entry from the log by its index: from where its tile begins, or
// from where the log does.
func (s *Sealer) entry(ctx context.Context, newest Seal, index int64) (line []byte, err error) {
	at, err := s.tiles.place(ctx, index/audit.TileWidth)
	if err != nil {
		return nil, err
	}
	skip := int(at.offset) + int(index%audit.TileWidth)
	if index-index%audit.TileWidth < newest.First {
		at.pack, skip = newest.FirstPack, int(index-newest.First)
	}
	err = s.o.Log.Read(ctx, at.pack, func(_ uint64, lines [][]byte) error {
		if skip < len(lines) {
			line = lines[skip]
			return errFound
		}
		skip -= len(lines)
		return nil
	})
	if !errors.Is(err, errFound) {
		return nil, errors.Join(err, fmt.Errorf("entry %d is not in the log", index))
	}
	return line, nil
}
