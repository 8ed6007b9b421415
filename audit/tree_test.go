package audit_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/annotary/annotary/audit"
)

// tiled is a tree whose tiles are kept, as a sealer keeps them.
type tiled struct {
	audit.Tree
	tiles map[string][]byte
}

func newTiled() *tiled {
	t := &tiled{tiles: map[string][]byte{}}
	t.OnFull = t.keep
	return t
}

func (t *tiled) keep(tile audit.Tile) {
	t.tiles[fmt.Sprint(tile.Level, "/", tile.Index)] = tile.Bytes()
}

func (t *tiled) read(level int, index int64) ([]byte, error) {
	return t.tiles[fmt.Sprint(level, "/", index)], nil
}

// checkpoint keeps the open tiles and returns the tree's state.
func (t *tiled) checkpoint(tb testing.TB) audit.Checkpoint {
	tb.Helper()
	for _, tile := range t.Open() {
		t.keep(tile)
	}
	root, err := t.Root()
	if err != nil {
		tb.Fatal(err)
	}
	return audit.Checkpoint{Origin: "annotary-test", Size: t.Size(), Root: root}
}

func leaf(i int) audit.Hash { return audit.LeafHash(binary.BigEndian.AppendUint64(nil, uint64(i))) }

// TestTree holds roots, taking up again and consistency against tlog's own tree,
// at every size around the edges of tiles.
func TestTree(t *testing.T) {
	const n = 3*audit.TileWidth + 2
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = stored[x]
		}
		return out, nil
	})
	tree := newTiled()
	var points []audit.Checkpoint
	for i := range n {
		more, err := tlog.StoredHashesForRecordHash(int64(i), leaf(i), reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		tree.Add(leaf(i))
		c := tree.checkpoint(t)
		if want, err := tlog.TreeHash(int64(i+1), reader); err != nil || c.Root != want {
			t.Fatalf("root over %d leaves: %v, want %v (%v)", i+1, c.Root, want, err)
		}
		again, err := audit.OpenTree(c.Size, tree.read)
		if err != nil {
			t.Fatal(err)
		}
		if root, err := again.Root(); err != nil || root != c.Root {
			t.Fatalf("taken up at %d: root %v, want %v (%v)", c.Size, root, c.Root, err)
		}
		points = append(points, c)
		if older := points[i*7%len(points)]; audit.TileReader(tree.read).CheckGrowth(older, c) != nil {
			t.Fatalf("no proof that %d grew to %d", older.Size, c.Size)
		}
	}
	forked := points[300]
	forked.Root = leaf(1)
	if err := audit.TileReader(tree.read).CheckGrowth(forked, points[n-1]); err == nil {
		t.Error("a tree with another beginning was proved")
	}
}

// TestTree_large: levels above the first two, by leaves that are all alike.
func TestTree_large(t *testing.T) {
	tree := newTiled()
	for range audit.TileWidth*audit.TileWidth + 300 {
		tree.Add(leaf(0))
	}
	c := tree.checkpoint(t)
	for _, i := range []int64{0, 255, 256, 65535, 65536, c.Size - 1} {
		p, err := audit.TileReader(tree.read).Prove(c, i)
		if err != nil {
			t.Fatal(i, err)
		}
		if err := p.Check(c, binary.BigEndian.AppendUint64(nil, 0)); err != nil {
			t.Errorf("proof of %d: %v", i, err)
		}
	}
	again, err := audit.OpenTree(c.Size, tree.read)
	if err != nil {
		t.Fatal(err)
	}
	again.Add(leaf(1))
	tree.Add(leaf(1))
	a, errA := again.Root()
	b, errB := tree.Root()
	if a != b || errA != nil || errB != nil {
		t.Errorf("grew apart: %v %v, %v %v", a, errA, b, errB)
	}
}

func TestProof(t *testing.T) {
	l := newLog(t, 50, 50)
	tree := newTiled()
	for _, line := range l.lines {
		tree.Add(audit.LeafHash(line))
	}
	c := tree.checkpoint(t)
	p, err := audit.TileReader(tree.read).Prove(c, 17)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(c, l.lines[17]); err != nil {
		t.Errorf("a true proof: %v", err)
	}
	if err := p.Check(c, l.lines[18]); err == nil {
		t.Error("the proof of one entry shows another")
	}
	if _, err := audit.TileReader(tree.read).Prove(c, 50); err == nil {
		t.Error("proved an entry that is not there")
	}
	tree.tiles["0/0"][0] ^= 1
	if _, err := audit.TileReader(tree.read).Prove(c, 17); err == nil {
		t.Error("proved from tiles that the checkpoint does not speak of")
	}
}

func TestLeaves(t *testing.T) {
	tree := newTiled()
	for i := range 600 {
		tree.Add(leaf(i))
	}
	tree.checkpoint(t)
	next := 250
	err := audit.TileReader(tree.read).Leaves(250, 599, func(h audit.Hash) error {
		if h != leaf(next) {
			t.Errorf("leaf %d is another", next)
		}
		next++
		return nil
	})
	if err != nil || next != 599 {
		t.Errorf("read to %d, %v", next, err)
	}
}
