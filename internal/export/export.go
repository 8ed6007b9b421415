// Package export copies the log to other places, each entry exactly once.
//
// An [Exporter] reads packs of the log and gives them to a [Sink] in order. A
// sink takes packs and remembers how far it got as one step, so a crash at any
// point neither loses an entry nor repeats one. While a sink is dead the exporter
// waits and tries again; the log keeps what it lacks, since nothing is dropped
// from it before every exporter has it.
//
// It knows nothing of who reads the copies.
package export

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/annotary/annotary"
)

// A Log is read from pack to pack, in order. Packs are numbered from 1.
type Log interface {
	Read(ctx context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error
	Extent(ctx context.Context) (first, last, size uint64, err error)
}

// A Pack is entries that were written to the log together.
type Pack struct {
	Number uint64
	Lines  [][]byte
}

// A Sink is a place that entries are copied to.
type Sink interface {
	// Open makes the place ready and returns the last pack it has, 0 if none.
	Open(ctx context.Context) (last uint64, err error)
	// Put adds packs, all or none, and returns the last pack it has then:
	// another exporter may have been faster.
	Put(ctx context.Context, packs []Pack) (last uint64, err error)
	// Close lets go of the place. It may be opened again.
	Close()
}

// Options say what is copied where.
type Options struct {
	Name string
	Log  Log
	Sink Sink
	// Diary is told when the sink dies and when it is back. If nil, nobody is.
	Diary *slog.Logger
	// Every is how often the log is looked at. If zero, 500 ms.
	Every time.Duration
	// Pause is how long to wait after a failure; it doubles up to MaxPause. If
	// zero, 1 s and 30 s.
	Pause, MaxPause time.Duration
}

// An Exporter copies a log to one sink.
type Exporter struct {
	o Options

	mu     sync.Mutex
	status Status
}

// A Status is how an exporter is doing.
type Status struct {
	Name string
	// Done is the last pack the sink is known to have.
	Done uint64
	// Behind is how many packs it lacks.
	Behind uint64
	// Problem is why the last attempt failed; nil while all is well.
	Problem error
}

// New makes an exporter.
func New(o Options) *Exporter {
	o.Every = cmp.Or(o.Every, 500*time.Millisecond)
	o.Pause, o.MaxPause = cmp.Or(o.Pause, time.Second), cmp.Or(o.MaxPause, 30*time.Second)
	if o.Diary == nil {
		o.Diary = slog.New(slog.DiscardHandler)
	}
	return &Exporter{o: o, status: Status{Name: o.Name}}
}

// Status returns how the exporter is doing.
func (e *Exporter) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

// Run copies until the context ends.
func (e *Exporter) Run(ctx context.Context) {
	for pause := e.o.Pause; ; pause = min(2*pause, e.o.MaxPause) {
		began := time.Now()
		err := e.session(ctx)
		e.o.Sink.Close()
		if ctx.Err() != nil {
			return
		}
		e.failed(ctx, err)
		if time.Since(began) > e.o.MaxPause { // it had been well
			pause = e.o.Pause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// sinkTimeout is how long a sink may take over one step.
const sinkTimeout = 30 * time.Second

// session opens the sink and copies until something fails.
func (e *Exporter) session(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, sinkTimeout)
	done, err := e.o.Sink.Open(opening)
	cancel()
	if err == nil {
		err = e.fits(ctx, done)
	}
	if err != nil {
		return err
	}
	e.reached(done)
	tick := time.NewTicker(e.o.Every)
	defer tick.Stop()
	for {
		if err := e.copy(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// fits refuses a sink that has more than the log: it is of another history, and
// to go on from there would leave out as much of this one.
func (e *Exporter) fits(ctx context.Context, done uint64) error {
	_, last, _, err := e.o.Log.Extent(ctx)
	if err != nil || done <= last {
		return err
	}
	return annotary.E(annotary.CodeConfig, "the export goes further than the log: the log was put back from a backup, or is another", nil).
		WithHint("move the file of the export and its .cursor away, or name another table")
}

// copy brings the sink up to the end of the log.
func (e *Exporter) copy(ctx context.Context) error {
	for {
		behind, err := e.measure(ctx)
		if err != nil || behind == 0 {
			return err
		}
		packs, err := e.gather(ctx, e.Status().Done+1)
		if err != nil || len(packs) == 0 {
			return err
		}
		putting, cancel := context.WithTimeout(ctx, sinkTimeout)
		done, err := e.o.Sink.Put(putting, packs)
		cancel()
		if err != nil {
			return err
		}
		e.reached(done)
	}
}

// measure finds out how far the sink is behind.
func (e *Exporter) measure(ctx context.Context) (uint64, error) {
	_, last, _, err := e.o.Log.Extent(ctx)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Behind = last - min(last, e.status.Done)
	return e.status.Behind, nil
}

func (e *Exporter) reached(pack uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.status.Problem != nil {
		e.o.Diary.Info("the export goes on", "export", e.o.Name)
	}
	e.status.Done, e.status.Problem = pack, nil
}

// failed keeps why it failed, and how far the sink falls behind meanwhile.
func (e *Exporter) failed(ctx context.Context, err error) {
	e.mu.Lock()
	again := e.status.Problem != nil
	e.status.Problem = err
	e.mu.Unlock()
	if !again {
		e.o.Diary.Warn("an export does not get on; the log keeps what it lacks", "export", e.o.Name, "error", err)
	}
	_, _ = e.measure(ctx) // what failed may be the log itself
}

// What a sink is given at once.
const (
	batchPacks = 256
	batchBytes = 4 << 20
)

// errFull ends a batch.
var errFull = errors.New("the batch is full")

// gather reads the next packs.
func (e *Exporter) gather(ctx context.Context, from uint64) ([]Pack, error) {
	var packs []Pack
	size := 0
	err := e.o.Log.Read(ctx, from, func(number uint64, lines [][]byte) error {
		packs = append(packs, Pack{number, lines})
		for _, l := range lines {
			size += len(l)
		}
		if len(packs) == batchPacks || size > batchBytes {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return packs, err
}
