package notary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// A position is a tree and the last pack in it.
type position struct {
	tree  *audit.Tree
	pack  uint64
	start place // of the first leaf of the tree's last tile
}

// checkpoint is what the tree of a position comes to.
func (p *position) checkpoint(origin string) (audit.Checkpoint, error) {
	root, err := p.tree.Root()
	return audit.Checkpoint{Origin: origin, Size: p.tree.Size(), Root: root}, err
}

// A published checkpoint, as the store keeps it.
type published struct {
	Checkpoint string    `json:"checkpoint"` // the signed note
	Pack       uint64    `json:"pack"`       // the last one it covers
	Time       time.Time `json:"time"`
}

const (
	// atOnce bounds what one checkpoint adds, so that an old log that was never
	// sealed is taken up in steps.
	atOnce = 100_000
	// races bounds how often a round begins again because another sealer was
	// faster.
	races = 10
)

// Seal publishes a checkpoint over everything that is in the log.
func (s *Sealer) Seal(ctx context.Context) error {
	s.round.Lock()
	defer s.round.Unlock()
	lost := 0
	for {
		more, err := s.step(ctx)
		switch {
		case annotary.CodeOf(err) == annotary.CodeConflict && lost < races:
			lost++
		case err != nil || !more:
			return err
		}
	}
}

// step publishes the next checkpoint. It says whether more is to be sealed.
func (s *Sealer) step(ctx context.Context) (more bool, err error) {
	keys, err := s.o.Keys()
	if err != nil {
		return false, err
	}
	latest, revision, err := s.latest(ctx)
	if err != nil {
		return false, err
	}
	old, err := s.takeUp(ctx, keys, latest)
	if err != nil {
		return false, err
	}
	next, full, more, err := s.grow(ctx)
	if err != nil || next.tree.Size() == s.at.tree.Size() {
		return false, err
	}
	c, err := next.checkpoint(keys.Origin())
	if err != nil {
		return false, err
	}
	if err := s.tiles.save(ctx, append(full, next.open()...)); err != nil {
		return false, err
	}
	if err := s.prove(ctx, keys, old, c); err != nil {
		return false, err
	}
	if err := s.publish(ctx, keys, c, next.pack, revision); err != nil {
		return false, err
	}
	s.at = next
	return more, nil
}

// latest returns the newest published checkpoint; nil if there is none.
func (s *Sealer) latest(ctx context.Context) (*published, uint64, error) {
	p := new(published)
	revision, err := s.get(ctx, "latest", p)
	if err != nil || revision == 0 {
		return nil, 0, err
	}
	return p, revision, nil
}

// get reads a record of the log; revision 0 if there is none.
func (s *Sealer) get(ctx context.Context, key string, v any) (uint64, error) {
	raw, revision, err := s.o.Checkpoints.Get(ctx, s.o.Name+"/"+key)
	if err != nil || revision == 0 {
		return 0, err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return 0, forked("what the store keeps of the log's seal cannot be read", err)
	}
	return revision, nil
}

func (s *Sealer) swap(ctx context.Context, key string, v any, revision uint64) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.o.Checkpoints.Swap(ctx, s.o.Name+"/"+key, raw, revision)
	return err
}

// takeUp brings this sealer to the newest checkpoint, which another may have
// published, and returns it.
func (s *Sealer) takeUp(ctx context.Context, keys Keys, latest *published) (audit.Checkpoint, error) {
	if latest == nil {
		s.at = &position{tree: &audit.Tree{}}
		return audit.Checkpoint{Origin: keys.Origin()}, nil
	}
	c, err := audit.OpenCheckpoint([]byte(latest.Checkpoint), keys.Trusted...)
	if err != nil {
		return c, annotary.E(annotary.CodeForged, "the newest checkpoint is not signed by a key of this gateway", err).
			WithHint("give every gateway of a fleet the same key")
	}
	s.sealed(c, latest.Time)
	if s.at != nil && s.at.tree.Size() == c.Size {
		return c, s.compare(latest, c)
	}
	if s.at != nil && s.at.tree.Size() < c.Size {
		mine, err := s.at.checkpoint(c.Origin)
		if err != nil {
			return c, err
		}
		if err := s.tiles.reader(ctx).CheckGrowth(mine, c); err != nil {
			return c, s.apart(err, fmt.Sprintf("the newest checkpoint, of %d entries, does not begin with the %d that were sealed here", c.Size, mine.Size))
		}
	}
	return c, s.load(ctx, latest, c)
}

// compare holds the tree of this sealer against a checkpoint of its size.
func (s *Sealer) compare(latest *published, c audit.Checkpoint) error {
	mine, err := s.at.checkpoint(c.Origin)
	if err != nil {
		return err
	}
	if mine.Root != c.Root || s.at.pack != latest.Pack {
		return forked(fmt.Sprintf("the log has two histories of %d entries", c.Size), nil)
	}
	return nil
}

// load takes the tree up from the stored tiles.
func (s *Sealer) load(ctx context.Context, latest *published, c audit.Checkpoint) error {
	tree, err := audit.OpenTree(c.Size, s.tiles.reader(ctx))
	if err != nil {
		return s.apart(err, "the stored tree cannot be read")
	}
	at := &position{tree: tree, pack: latest.Pack}
	if root, err := tree.Root(); err != nil || root != c.Root {
		return forked(fmt.Sprintf("the stored tree is not the one that was sealed with %d entries", c.Size), err)
	}
	if c.Size%audit.TileWidth > 0 {
		if at.start, err = s.tiles.place(ctx, c.Size/audit.TileWidth); err != nil {
			return err
		}
	}
	s.at = at
	return nil
}

// apart is a fork, unless the store only failed to answer.
func (s *Sealer) apart(err error, public string) error {
	if annotary.CodeOf(err) == annotary.CodeStore || errors.Is(err, context.Canceled) {
		return err
	}
	return forked(public, err)
}

// errEnough ends reading for this time.
var errEnough = errors.New("enough for one checkpoint")

// grow reads what is new onto a copy of the tree. It returns the tiles that
// became full and whether more is left.
func (s *Sealer) grow(ctx context.Context) (next *position, full []tile, more bool, err error) {
	next = &position{tree: s.at.tree.Clone(), pack: s.at.pack, start: s.at.start}
	next.tree.OnFull = func(t audit.Tile) { full = append(full, next.tile(t)) }
	err = s.o.Log.Read(ctx, next.pack+1, func(pack uint64, lines [][]byte) error {
		if pack != next.pack+1 {
			s.o.Diary.Error("packs of the log are gone that nobody had sealed", "from", next.pack+1, "to", pack-1)
		}
		for i, line := range lines {
			if next.tree.Size()%audit.TileWidth == 0 {
				next.start = place{pack, uint32(i)}
			}
			next.tree.Add(audit.LeafHash(line))
		}
		next.pack = pack
		if next.tree.Size()-s.at.tree.Size() >= atOnce {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		more, err = true, nil
	}
	return next, full, more, err
}

// prove holds the new tree, as it is stored, against the old one and against
// what the witnesses saw last.
func (s *Sealer) prove(ctx context.Context, keys Keys, old, c audit.Checkpoint) error {
	stored := s.tiles.reader(ctx)
	if err := stored.CheckGrowth(old, c); err != nil {
		return s.apart(err, fmt.Sprintf("the tree of %d entries does not begin with the %d that were sealed", c.Size, old.Size))
	}
	for i, w := range s.o.Witnesses {
		note, err := w.Last()
		if err != nil {
			s.tell(i, err)
		}
		if err != nil || note == nil {
			continue
		}
		seen, err := audit.OpenCheckpoint(note, keys.Trusted...)
		if err != nil {
			return annotary.E(annotary.CodeForged, "the newest checkpoint outside the store is not signed by a key of this gateway", err)
		}
		if seen.Size > old.Size {
			return s.shorter(ctx, seen, old)
		}
		if err := stored.CheckGrowth(seen, c); err != nil {
			return s.apart(err, fmt.Sprintf("the log does not begin with the %d entries that a checkpoint outside the store speaks of", seen.Size))
		}
	}
	return nil
}

// shorter: a witness has seen more than the store knows. If that is so although
// the store's newest checkpoint is the newest, which only a swap can tell, the
// log was cut.
func (s *Sealer) shorter(ctx context.Context, seen, old audit.Checkpoint) error {
	latest, revision, err := s.latest(ctx)
	if err == nil && latest != nil {
		err = s.swap(ctx, "latest", latest, revision)
	}
	if err != nil {
		return err
	}
	return forked(fmt.Sprintf("a checkpoint outside the store speaks of %d entries, the store of %d", seen.Size, old.Size), nil)
}

// publish signs a checkpoint and makes it the newest.
func (s *Sealer) publish(ctx context.Context, keys Keys, c audit.Checkpoint, pack, revision uint64) error {
	signed, err := c.Sign(keys.Signing...)
	if err != nil {
		return err
	}
	p := published{Checkpoint: string(signed), Pack: pack, Time: time.Now().UTC()}
	if err := s.swap(ctx, "latest", p, revision); err != nil {
		return err
	}
	s.sealed(c, p.Time)
	for i, w := range s.o.Witnesses {
		s.tell(i, w.Put(signed))
	}
	s.tell(len(s.o.Witnesses), s.mark(ctx, p))
	return nil
}

// tell writes down what goes wrong beside the sealing itself, when it begins.
func (s *Sealer) tell(what int, err error) {
	if err != nil && !s.told[what] {
		s.o.Diary.Warn("a checkpoint was published, but not everything that follows was done", "error", err)
	}
	s.told[what] = err != nil
}
