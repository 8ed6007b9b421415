package audit

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

// TileWidth is how many hashes a tile holds: as many of one level of the tree as
// make one hash of the level of tiles above it.
const TileWidth = 1 << tileHeight

// A Tile is a piece of the tree: up to TileWidth hashes side by side. Those of
// level 0 are the leaves; one of level n+1 is the root over a full tile of level
// n. A tile that is not full yet is the beginning of the full one.
type Tile struct {
	Level  int
	Index  int64 // among the tiles of its level
	Hashes []Hash
}

// Bytes writes the tile's hashes, one after another.
func (t *Tile) Bytes() []byte {
	out := make([]byte, 0, len(t.Hashes)*tlog.HashSize)
	for i := range t.Hashes {
		out = append(out, t.Hashes[i][:]...)
	}
	return out
}

// parseHashes reads what Bytes wrote.
func parseHashes(data []byte) ([]Hash, error) {
	if len(data)%tlog.HashSize != 0 || len(data) > TileWidth*tlog.HashSize {
		return nil, fmt.Errorf("%d bytes are no tile", len(data))
	}
	hashes := make([]Hash, 0, TileWidth)
	for h := range slices.Chunk(data, tlog.HashSize) {
		hashes = append(hashes, Hash(h))
	}
	return hashes, nil
}

// A Tree computes the root over a growing list of leaves. The zero Tree is
// empty. It keeps its right edge only, the tiles that are not full, which is all
// that growing takes.
type Tree struct {
	// OnFull, if set, gets every tile that becomes full.
	OnFull func(Tile)

	size int64
	edge [][]Hash // by level: the hashes of the tile that is not full
}

// OpenTree takes up the tree of that size where its tiles were kept.
func OpenTree(size int64, tiles TileReader) (*Tree, error) {
	t := &Tree{size: size}
	for level, count := 0, size; count > 0; level, count = level+1, count>>tileHeight {
		width := int(count % TileWidth)
		if width == 0 {
			t.edge = append(t.edge, nil)
			continue
		}
		hashes, err := tiles.read(level, count/TileWidth, width)
		if err != nil {
			return nil, err
		}
		t.edge = append(t.edge, hashes)
	}
	return t, nil
}

// Clone returns a tree that grows on its own.
func (t *Tree) Clone() *Tree {
	c := &Tree{OnFull: t.OnFull, size: t.size, edge: make([][]Hash, len(t.edge))}
	for i, hashes := range t.edge {
		c.edge[i] = slices.Clone(hashes)
	}
	return c
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Add appends a leaf.
func (t *Tree) Add(leaf Hash) {
	t.size++
	for level, count := 0, t.size; ; level, count = level+1, count>>tileHeight {
		if level == len(t.edge) {
			t.edge = append(t.edge, make([]Hash, 0, TileWidth))
		}
		t.edge[level] = append(t.edge[level], leaf)
		if len(t.edge[level]) < TileWidth {
			return
		}
		full := t.edge[level]
		if t.OnFull != nil {
			t.OnFull(Tile{level, count/TileWidth - 1, slices.Clone(full)})
		}
		leaf = rootOf(full)
		t.edge[level] = full[:0]
	}
}

// rootOf is the root over a full tile, computed in its place.
func rootOf(hashes []Hash) Hash {
	for n := len(hashes); n > 1; n /= 2 {
		for i := range n / 2 {
			hashes[i] = tlog.NodeHash(hashes[2*i], hashes[2*i+1])
		}
	}
	return hashes[0]
}

// Open returns the tiles at the right edge, which are not full.
func (t *Tree) Open() []Tile {
	var tiles []Tile
	for level, hashes := range t.edge {
		if len(hashes) > 0 {
			tiles = append(tiles, Tile{level, t.size >> (tileHeight * (level + 1)), slices.Clone(hashes)})
		}
	}
	return tiles
}

// Root returns the root over all leaves.
func (t *Tree) Root() (Hash, error) { return tlog.TreeHash(t.size, t) }

// ReadHashes makes the tree a tlog.HashReader of the hashes its root is made of,
// which all lie in its edge.
func (t *Tree) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	for i, x := range indexes {
		tile := tlog.TileForIndex(tileHeight, x)
		if tile.L >= len(t.edge) || tile.N != t.size>>(tileHeight*(tile.L+1)) || tile.W > len(t.edge[tile.L]) {
			return nil, fmt.Errorf("hash %d is not at the edge of the tree", x)
		}
		open := Tile{Hashes: t.edge[tile.L][:tile.W]}
		var err error
		if out[i], err = tlog.HashFromTile(tile, open.Bytes(), x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A TileReader returns the hashes of a tile, at least those that the tree it was
// made for needs.
type TileReader func(level int, index int64) ([]byte, error)

// read returns the first hashes of a tile.
func (r TileReader) read(level int, index int64, width int) ([]Hash, error) {
	data, err := r(level, index)
	if err != nil {
		return nil, err
	}
	if len(data) < width*tlog.HashSize {
		return nil, fmt.Errorf("tile %d/%d has %d bytes, want %d hashes", level, index, len(data), width)
	}
	return parseHashes(data[:width*tlog.HashSize])
}

// Leaves calls each with the leaves from the given index up to size.
func (r TileReader) Leaves(from, size int64, each func(Hash) error) error {
	for from < size {
		tile := from / TileWidth
		hashes, err := r.read(0, tile, int(min(size-tile*TileWidth, TileWidth)))
		if err != nil {
			return err
		}
		for _, h := range hashes[from%TileWidth:] {
			if err := each(h); err != nil {
				return err
			}
			from++
		}
	}
	return nil
}

// under reads hashes from tiles, each held against the checkpoint's root.
func (r TileReader) under(c Checkpoint) tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: c.Root}, tlogTiles{r})
}

// tlogTiles is a TileReader as tlog wants it.
type tlogTiles struct{ read TileReader }

func (tlogTiles) Height() int { return tileHeight }

func (r tlogTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		hashes, err := r.read.read(t.L, t.N, t.W)
		if err != nil {
			return nil, err
		}
		out[i] = (&Tile{Hashes: hashes}).Bytes()
	}
	return out, nil
}

func (tlogTiles) SaveTiles([]tlog.Tile, [][]byte) {}

// A Proof shows that an entry is in the tree of a checkpoint.
type Proof struct {
	Index int64  `json:"index"`
	Size  int64  `json:"size"`
	Path  []Hash `json:"path"`
}

// Prove returns the proof that leaf n is in the tree of the checkpoint.
func (r TileReader) Prove(c Checkpoint, n int64) (Proof, error) {
	if n < 0 || n >= c.Size {
		return Proof{}, fmt.Errorf("entry %d is not among the first %d", n, c.Size)
	}
	path, err := tlog.ProveRecord(c.Size, n, r.under(c))
	return Proof{Index: n, Size: c.Size, Path: path}, err
}

// Check holds a proof against a checkpoint and the entry's line.
func (p Proof) Check(c Checkpoint, line []byte) error {
	if p.Size != c.Size {
		return fmt.Errorf("the proof is for %d entries, the checkpoint for %d", p.Size, c.Size)
	}
	if len(p.Path) > bits.Len64(uint64(p.Size)) {
		return errors.New("the proof is too long")
	}
	return tlog.CheckRecord(p.Path, p.Size, c.Root, p.Index, LeafHash(line))
}

// CheckGrowth proves from the tiles that the tree of the newer checkpoint begins
// with the tree of the older one.
func (r TileReader) CheckGrowth(older, newer Checkpoint) error {
	if older.Size == 0 {
		return nil // every tree begins with the empty one
	}
	proof, err := tlog.ProveTree(newer.Size, older.Size, r.under(newer))
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof, newer.Size, newer.Root, older.Size, older.Root)
}
