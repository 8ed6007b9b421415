// Package notary seals the log, so that rewriting it shows.
//
// A [Sealer] reads what was appended, grows the Merkle tree over it (package
// audit), keeps the tree's tiles, and publishes a signed checkpoint: in the store
// and at [Witness]es outside it. Any number of sealers may work on one log. The
// leaves are in the order of the log, so all compute the same tree, and a
// compare-and-set lets one of them publish; a lease spares the others the work.
//
// Before the newest checkpoint moves, the stored tiles must prove that the new
// tree begins with the old one, and with what the witnesses last saw. A tree
// that does not is another history: the sealer stops with log_forked and says
// so until somebody looks. Calls go on and are recorded; what nobody seals is no
// longer covered.
//
// The sealer also shortens the log: what is sealed and old enough may go, its
// hashes stay, so what is left still verifies.
package notary

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// A Log is read from pack to pack, in order. Packs are numbered from 1.
type Log interface {
	Read(ctx context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error
	Extent(ctx context.Context) (first, last, size uint64, err error)
	Purge(ctx context.Context, before uint64) error
}

// A Bucket is compare-and-set on keys.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// Options say what is sealed, and with what.
type Options struct {
	// Name of the log. Several logs may share buckets.
	Name string
	Log  Log
	// Tiles and Checkpoints keep the tree.
	Tiles, Checkpoints Bucket
	// Keys returns the keys that sign and those that may have signed.
	Keys func() (Keys, error)
	// Witnesses get every checkpoint.
	Witnesses []Witness
	// Replica names this sealer among others of the log.
	Replica string
	// Every is how often the log is looked at. If zero, 500 ms.
	Every time.Duration
	// Mark is how finely the log can be shortened. If zero, an hour.
	Mark time.Duration
	// Diary is told of trouble. If nil, nobody is.
	Diary *slog.Logger
}

// A Sealer seals a log.
type Sealer struct {
	o     Options
	tiles tiles

	round sync.Mutex // one round at a time
	at    *position  // where the tree has been taken up; nil before
	told  []bool     // of each witness, whether it fails and that was told; at last, of the marks

	mu     sync.Mutex
	status Status
}

// A Status is how sealing is doing.
type Status struct {
	// Size is how many entries the newest checkpoint covers.
	Size int64
	Time time.Time // of the newest checkpoint
	// Alarm says why sealing has stopped; nil while it goes on.
	Alarm error
	// Trouble is why the last round failed; it is tried again.
	Trouble error
}

// New makes a sealer. Nothing happens before Run or Seal.
func New(o Options) *Sealer {
	o.Every = cmp.Or(o.Every, 500*time.Millisecond)
	o.Mark = cmp.Or(o.Mark, time.Hour)
	if o.Diary == nil {
		o.Diary = slog.New(slog.DiscardHandler)
	}
	return &Sealer{o: o, tiles: tiles{o.Name, o.Tiles}, told: make([]bool, len(o.Witnesses)+1)}
}

// Run seals what is appended until the context ends, and then once more, so that
// a gateway that ends leaves a sealed log.
func (s *Sealer) Run(ctx context.Context) {
	tick := time.NewTicker(s.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRound)
			defer cancel()
			s.look(last)
			s.end(last)
			return
		case <-tick.C:
			s.look(ctx)
		}
	}
}

// lastRound bounds the sealing at the end.
const lastRound = 3 * time.Second

// end has the witnesses see what they have not seen yet.
func (s *Sealer) end(ctx context.Context) {
	for i, w := range s.o.Witnesses {
		err := w.End(ctx)
		s.round.Lock()
		s.tell(i, err)
		s.round.Unlock()
	}
}

// look seals if something is new and nobody else is at it.
func (s *Sealer) look(ctx context.Context) {
	if s.Status().Alarm != nil {
		return
	}
	_, last, _, err := s.o.Log.Extent(ctx)
	if err == nil && (s.sealedTo(last) || !s.lease(ctx)) {
		return
	}
	if err != nil {
		s.note(err)
		return
	}
	_ = s.Now(ctx) // the status says what went wrong
}

// Now seals what is in the log at once, unless sealing has stopped: then it
// returns why.
func (s *Sealer) Now(ctx context.Context) error {
	if alarm := s.Status().Alarm; alarm != nil {
		return alarm
	}
	err := s.Seal(ctx)
	s.note(err)
	return err
}

func (s *Sealer) sealedTo(pack uint64) bool {
	s.round.Lock()
	defer s.round.Unlock()
	return s.at != nil && s.at.pack >= pack || pack == 0
}

// note keeps what came of a round, and tells once of each trouble.
func (s *Sealer) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.status.Trouble != nil
	s.status.Trouble = err
	switch code := annotary.CodeOf(err); {
	case err == nil:
	case code == annotary.CodeForked, code == annotary.CodeForged:
		s.status.Alarm = err
		s.o.Diary.Error("ALARM: the log is no longer sealed", "code", code, "error", err)
	case !again:
		s.o.Diary.Warn("the log could not be sealed; it is tried again", "error", err)
	}
}

// Status returns how sealing is doing.
func (s *Sealer) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *Sealer) sealed(c audit.Checkpoint, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Size, s.status.Time = c.Size, at
}

func forked(public string, cause error) error { return annotary.E(annotary.CodeForked, public, cause) }
