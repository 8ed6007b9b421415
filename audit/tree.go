package audit

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// A Tree computes roots over a growing list of leaf hashes. The zero Tree is
// empty. It holds 64 bytes an entry.
type Tree struct {
	hashes hashList
	size   int64
}

// hashList keeps the stored hashes of a tree in memory.
type hashList []tlog.Hash

// ReadHashes makes hashList a tlog.HashReader.
func (h hashList) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x < 0 || x >= int64(len(h)) {
			return nil, fmt.Errorf("the tree has no hash %d", x)
		}
		out[i] = h[x]
	}
	return out, nil
}

// Add appends a leaf.
func (t *Tree) Add(leaf Hash) error {
	stored, err := tlog.StoredHashesForRecordHash(t.size, leaf, t.hashes)
	if err != nil {
		return fmt.Errorf("growing the tree: %w", err)
	}
	t.hashes = append(t.hashes, stored...)
	t.size++
	return nil
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Root returns the root over the first n leaves.
func (t *Tree) Root(n int64) (Hash, error) {
	if n < 0 || n > t.size {
		return Hash{}, fmt.Errorf("the tree has %d leaves, not %d", t.size, n)
	}
	return tlog.TreeHash(n, t.hashes)
}

// Leaf returns the hash of leaf n.
func (t *Tree) Leaf(n int64) (Hash, error) {
	hs, err := t.hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, n)})
	if err != nil {
		return Hash{}, err
	}
	return hs[0], nil
}

// A Proof shows that an entry is in the tree of a checkpoint.
type Proof struct {
	Index int64  `json:"index"`
	Size  int64  `json:"size"`
	Path  []Hash `json:"path"`
}

// Prove returns the proof that leaf n is among the first size leaves.
func (t *Tree) Prove(n, size int64) (Proof, error) {
	if n < 0 || n >= size || size > t.size {
		return Proof{}, fmt.Errorf("entry %d is not among the first %d of %d", n, size, t.size)
	}
	path, err := tlog.ProveRecord(size, n, t.hashes)
	return Proof{Index: n, Size: size, Path: path}, err
}

// Check holds a proof against a checkpoint and the entry's line.
func (p Proof) Check(c Checkpoint, line []byte) error {
	if p.Size != c.Size {
		return fmt.Errorf("the proof is for %d entries, the checkpoint for %d", p.Size, c.Size)
	}
	return tlog.CheckRecord(p.Path, p.Size, c.Root, p.Index, LeafHash(line))
}
