package notary

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// tiles keeps the tiles of a tree. A tile is written while it fills, each time
// with a longer beginning of itself, so that of two writers neither can harm the
// other: the longer stands, and one that is no continuation is another tree.
type tiles struct {
	name   string
	bucket Bucket
}

// A place is where an entry stands in the log.
type place struct {
	pack   uint64
	offset uint32 // among the entries of the pack
}

// A tile of the tree and, on the lowest level, the place of its first entry: so
// an entry is found by its index.
type tile struct {
	audit.Tile
	first place
}

const placeBytes = 12

// tile adds the place to a tile of the tree of the position.
func (p *position) tile(t audit.Tile) tile {
	if t.Level > 0 {
		return tile{Tile: t}
	}
	return tile{t, p.start}
}

// open returns the tiles that are not full.
func (p *position) open() []tile {
	var out []tile
	for _, t := range p.tree.Open() {
		out = append(out, p.tile(t))
	}
	return out
}

func (t *tile) encode() []byte {
	out := binary.BigEndian.AppendUint64(nil, t.first.pack)
	out = binary.BigEndian.AppendUint32(out, t.first.offset)
	return append(out, t.Bytes()...)
}

func (t *tiles) key(level int, index int64) string {
	return fmt.Sprintf("%s/%d/%d", t.name, level, index)
}

// save writes tiles that are not there yet.
func (t *tiles) save(ctx context.Context, all []tile) error {
	for _, one := range all {
		if err := t.saveOne(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func (t *tiles) saveOne(ctx context.Context, one tile) error {
	key, want := t.key(one.Level, one.Index), one.encode()
	for {
		have, revision, err := t.bucket.Get(ctx, key)
		switch {
		case err != nil:
			return err
		case bytes.HasPrefix(have, want):
			return nil
		case !bytes.HasPrefix(want, have):
			return forked(fmt.Sprintf("the store has another tile %d/%d than the log makes", one.Level, one.Index), nil)
		}
		if _, err = t.bucket.Swap(ctx, key, want, revision); annotary.CodeOf(err) != annotary.CodeConflict {
			return err
		}
	}
}

// get returns a stored tile without its place, and the place.
func (t *tiles) get(ctx context.Context, level int, index int64) ([]byte, place, error) {
	raw, _, err := t.bucket.Get(ctx, t.key(level, index))
	if err != nil {
		return nil, place{}, err
	}
	if len(raw) < placeBytes {
		return nil, place{}, fmt.Errorf("there is no tile %d/%d", level, index)
	}
	return raw[placeBytes:], place{binary.BigEndian.Uint64(raw), binary.BigEndian.Uint32(raw[8:])}, nil
}

// reader reads the tiles.
func (t *tiles) reader(ctx context.Context) audit.TileReader {
	return func(level int, index int64) ([]byte, error) {
		data, _, err := t.get(ctx, level, index)
		return data, err
	}
}

// place returns where the first entry of a lowest tile stands in the log.
func (t *tiles) place(ctx context.Context, index int64) (place, error) {
	_, p, err := t.get(ctx, 0, index)
	return p, err
}
