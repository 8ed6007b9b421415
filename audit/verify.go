package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/annotary/annotary"
)

// Sources are what a verification reads.
type Sources struct {
	// Entries are the lines of the log, in order.
	Entries io.Reader
	// First is the index of the first line, where older ones were dropped. The
	// Leaves then speak for them.
	First int64
	// Leaves are the leaf hashes the log was sealed with, from the first on, 32
	// bytes each. Optional: with them the first bad entry is named, without
	// them the range between two checkpoints.
	Leaves io.Reader
	// Checkpoints are signed notes, any number, in any order.
	Checkpoints [][]byte
	// Known are signed checkpoints that the verifier kept elsewhere. Without
	// one, a log whose newest entries and checkpoints were cut off looks whole.
	Known [][]byte
	// Keys are the public keys that may have signed.
	Keys []string
}

// A Report is what a verification found.
type Report struct {
	Entries  int64 `json:"entries"`         // read
	First    int64 `json:"first,omitempty"` // the index of the first that was read
	Sealed   int64 `json:"sealed"`          // how far the newest good checkpoint reaches
	Unsealed int64 `json:"unsealed"`        // after it: nothing speaks for these yet
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

// blame reports a bad entry.
func (r Report) blame(from, before int64, why string) Report {
	r.Bad, r.BadBefore, r.Why = from, before, why
	return r
}

// Verify holds entries against checkpoints, in one pass and in little memory.
// The error is about what cannot be read or trusted, such as a forged
// checkpoint; a log that was tampered with is a report.
func Verify(s Sources) (Report, error) {
	points, err := openAll(s)
	if err != nil {
		return Report{Bad: -1}, err
	}
	if s.First > 0 && s.Leaves == nil {
		return Report{Bad: -1}, annotary.E(annotary.CodeInvalid, fmt.Sprintf("entries before %d are not there, and neither are their hashes", s.First), nil)
	}
	v := newVerification(s)
	good := int64(0)
	for _, c := range points {
		if err := v.readTo(c.Size); err != nil {
			return v.report(good), err
		}
		root, err := v.there.Root()
		if err != nil {
			return v.report(good), err
		}
		if v.there.Size() < c.Size || root != c.Root {
			return v.locate(good, c)
		}
		good, v.differs = c.Size, -1
	}
	for more := true; more && err == nil; {
		more, err = v.next()
	}
	return v.report(good), err
}

// A verification reads entries and leaves side by side.
type verification struct {
	Sources
	lines  *bufio.Scanner
	leaves *bufio.Reader // nil if there are none, or no more

	there, sealed Tree  // over the lines, and over the leaves
	differs       int64 // the first line that is not its leaf; -1 if none
}

func newVerification(s Sources) *verification {
	v := &verification{Sources: s, differs: -1, lines: bufio.NewScanner(s.Entries)}
	v.lines.Buffer(make([]byte, 64<<10), MaxBytes+2)
	v.lines.Split(splitLines)
	if s.Leaves != nil {
		v.leaves = bufio.NewReaderSize(s.Leaves, 64<<10)
	}
	return v
}

// splitLines splits a log into its lines. Unlike bufio.ScanLines it leaves a
// carriage return where it is: an entry with one is not what was sealed.
func splitLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (v *verification) report(good int64) Report {
	return Report{
		Entries: max(0, v.there.Size()-v.First), First: v.First, Bad: -1,
		Sealed: good, Unsealed: max(0, v.there.Size()-good), TailKnown: v.Known != nil,
	}
}

// readTo reads until there are so many entries, or no more.
func (v *verification) readTo(size int64) error {
	for v.there.Size() < size {
		if more, err := v.next(); !more || err != nil {
			return err
		}
	}
	return nil
}

// next reads one entry and its leaf, and says whether there was one.
func (v *verification) next() (bool, error) {
	n := v.there.Size()
	if n < v.First {
		leaf, ok := v.leaf()
		if !ok {
			return false, annotary.E(annotary.CodeInvalid, fmt.Sprintf("the hash of entry %d is missing", n), nil)
		}
		v.there.Add(leaf)
		return true, nil
	}
	if !v.lines.Scan() {
		if err := v.lines.Err(); err != nil {
			return false, annotary.E(annotary.CodeInvalid, fmt.Sprintf("reading entry %d: %v", n, err), err)
		}
		return false, nil
	}
	hash := LeafHash(v.lines.Bytes())
	if leaf, ok := v.leaf(); ok && leaf != hash && v.differs < 0 {
		v.differs = n
	}
	v.there.Add(hash)
	return true, nil
}

// leaf reads the next leaf.
func (v *verification) leaf() (h Hash, ok bool) {
	if v.leaves == nil {
		return h, false
	}
	if _, err := io.ReadFull(v.leaves, h[:]); err != nil {
		v.leaves = nil // too few hashes: what follows is known by ranges only
		return h, false
	}
	v.sealed.Add(h)
	return h, true
}

// locate finds the first entry that is not what the checkpoint sealed. The
// leaves help only if they are themselves what it sealed.
func (v *verification) locate(good int64, c Checkpoint) (Report, error) {
	rep := v.report(good)
	for v.sealed.Size() < c.Size {
		if _, ok := v.leaf(); !ok {
			break
		}
	}
	root, err := v.sealed.Root()
	switch there := v.there.Size(); {
	case err != nil:
		return rep, err
	case v.sealed.Size() != c.Size || root != c.Root:
		return rep.blame(good, c.Size, fmt.Sprintf("entries %d to %d are not what was sealed", good, c.Size-1)), nil
	case v.differs >= 0:
		return rep.blame(v.differs, v.differs+1, fmt.Sprintf("entry %d is not the one that was sealed", v.differs)), nil
	case there < c.Size:
		return rep.blame(there, there+1, fmt.Sprintf("a checkpoint speaks of %d entries, there are %d", c.Size, there)), nil
	}
	return rep, errors.New("two trees of the same leaves have different roots")
}

// openAll opens every checkpoint, smallest first. Two of one size with
// different roots are a fork, whoever signed them.
func openAll(s Sources) ([]Checkpoint, error) {
	var points []Checkpoint
	for _, n := range slices.Concat(s.Checkpoints, s.Known) {
		c, err := OpenCheckpoint(n, s.Keys...)
		if err != nil {
			return nil, err
		}
		points = append(points, c)
	}
	if len(points) == 0 {
		return nil, annotary.E(annotary.CodeInvalid, "there is no checkpoint to verify against", nil)
	}
	slices.SortFunc(points, func(a, b Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
	for i := 1; i < len(points); i++ {
		if err := points[i-1].agrees(points[i]); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// agrees reports whether both can be of one log as far as they alone can tell.
func (c Checkpoint) agrees(d Checkpoint) error {
	switch {
	case c.Origin != d.Origin:
		return annotary.E(annotary.CodeInvalid, fmt.Sprintf("the checkpoints are of two logs, %s and %s", c.Origin, d.Origin), nil)
	case c.Size == d.Size && c.Root != d.Root:
		return annotary.E(annotary.CodeForked, fmt.Sprintf("two checkpoints of %d entries have different roots", c.Size), nil)
	}
	return nil
}
