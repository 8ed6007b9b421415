package audit

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/annotary/annotary"
)

// Sources are what a verification reads.
type Sources struct {
	// Entries are the lines of the log, in order.
	Entries io.Reader
	// Leaves are the leaf hashes the log was sealed with, one after another,
	// 32 bytes each. Optional: with them the first bad entry is named, without
	// them the range between two checkpoints.
	Leaves io.Reader
	// Checkpoints are signed notes, any number, in any order.
	Checkpoints [][]byte
	// Known is a signed checkpoint that the verifier kept elsewhere. Without
	// one, a log whose newest entries and checkpoints were cut off looks whole.
	Known []byte
	// Keys are the public keys that may have signed.
	Keys []string
}

// A Report is what a verification found.
type Report struct {
	Entries  int64 `json:"entries"`  // read
	Sealed   int64 `json:"sealed"`   // covered by the newest good checkpoint
	Unsealed int64 `json:"unsealed"` // after it: nothing speaks for these yet
	// Bad is the first entry that is not what was sealed; -1 if none.
	Bad int64 `json:"bad"`
	// BadBefore bounds Bad where only a range is known: the bad entry is in
	// [Bad, BadBefore). It is Bad+1 where the entry itself is known.
	BadBefore int64  `json:"badBefore,omitempty"`
	Why       string `json:"why,omitempty"`
	// TailKnown says that a kept checkpoint was given, so a cut tail would
	// have shown.
	TailKnown bool `json:"tailKnown"`
}

// Whole reports whether nothing is wrong with what was read.
func (r Report) Whole() bool { return r.Bad < 0 }

// Verify holds entries against checkpoints. The error is about what cannot be
// read or trusted, such as a forged checkpoint; a log that was tampered with is
// a report.
func Verify(s Sources) (Report, error) {
	points, err := openAll(s)
	if err != nil {
		return Report{Bad: -1}, err
	}
	tree, err := readEntries(s.Entries)
	if err != nil {
		return Report{Bad: -1}, err
	}
	rep := Report{Entries: tree.Size(), Bad: -1, TailKnown: s.Known != nil}
	good := int64(0)
	for _, c := range points {
		if c.Size > tree.Size() {
			return rep.blame(tree.Size(), tree.Size()+1, fmt.Sprintf("a checkpoint speaks of %d entries, there are %d", c.Size, tree.Size())), nil
		}
		root, err := tree.Root(c.Size)
		if err != nil {
			return rep, err
		}
		if root != c.Root {
			return locate(rep, tree, s.Leaves, good, c)
		}
		good = c.Size
	}
	rep.Sealed, rep.Unsealed = good, tree.Size()-good
	return rep, nil
}

// blame reports a bad entry.
func (r Report) blame(from, before int64, why string) Report {
	r.Bad, r.BadBefore, r.Why = from, before, why
	return r
}

// openAll opens every checkpoint, smallest first. Two of one size with
// different roots are a fork, whoever signed them.
func openAll(s Sources) ([]Checkpoint, error) {
	var points []Checkpoint
	signed := s.Checkpoints
	if s.Known != nil {
		signed = append(slices.Clone(signed), s.Known)
	}
	for _, n := range signed {
		c, err := OpenCheckpoint(n, s.Keys...)
		if err != nil {
			return nil, err
		}
		points = append(points, c)
	}
	if len(points) == 0 {
		return nil, annotary.E(annotary.CodeInvalid, "there is no checkpoint to verify against", nil)
	}
	slices.SortFunc(points, func(a, b Checkpoint) int { return int(a.Size - b.Size) })
	for i := 1; i < len(points); i++ {
		if points[i].Origin != points[0].Origin {
			return nil, annotary.E(annotary.CodeInvalid, fmt.Sprintf("the checkpoints are of two logs, %s and %s", points[0].Origin, points[i].Origin), nil)
		}
		if points[i].Size == points[i-1].Size && points[i].Root != points[i-1].Root {
			return nil, annotary.E(annotary.CodeForked, fmt.Sprintf("two checkpoints of %d entries have different roots", points[i].Size), nil)
		}
	}
	return points, nil
}

func readEntries(r io.Reader) (*Tree, error) {
	tree := &Tree{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), MaxBytes+2)
	for lines.Scan() {
		if err := tree.Add(LeafHash(lines.Bytes())); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, annotary.E(annotary.CodeInvalid, fmt.Sprintf("reading entry %d: %v", tree.Size(), err), err)
	}
	return tree, nil
}

// locate finds the first entry in [good, c.Size) that is not what was sealed.
// The leaf hashes help only if they are themselves what the checkpoint signed.
func locate(rep Report, tree *Tree, leaves io.Reader, good int64, c Checkpoint) (Report, error) {
	rep.Sealed = good
	inRange := rep.blame(good, c.Size, fmt.Sprintf("entries %d to %d are not what was sealed", good, c.Size-1))
	if leaves == nil {
		return inRange, nil
	}
	sealed := &Tree{}
	for sealed.Size() < c.Size {
		var h Hash
		if _, err := io.ReadFull(leaves, h[:]); err != nil {
			return inRange, nil // too few hashes to tell more
		}
		if err := sealed.Add(h); err != nil {
			return rep, err
		}
	}
	if root, err := sealed.Root(c.Size); err != nil || root != c.Root {
		return inRange, err
	}
	for i := good; i < c.Size; i++ {
		want, err := sealed.Leaf(i)
		if err != nil {
			return rep, err
		}
		if got, err := tree.Leaf(i); err != nil || got != want {
			return rep.blame(i, i+1, fmt.Sprintf("entry %d is not the one that was sealed", i)), err
		}
	}
	return inRange, nil
}
