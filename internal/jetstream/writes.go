package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// writes is how writing goes, to the log and to each bucket. A store whose disk is
// full still answers: only a write tells.
//
// It is also the log of the embedded engine. The engine does not say why it
// acknowledges nothing, except there.
type writes struct {
	mu        sync.Mutex
	of        map[string]*written
	complaint atomic.Pointer[string] // the engine's last
}

// written is what became of the last write to one of them.
type written struct {
	what    string
	subject string // of the engine, below which it is written
	failed  atomic.Pointer[failure]
	all     *writes
}

// A failure is why a write was not made.
type failure struct {
	why string
	// silent says that nobody answered. Whoever writes next would wait as long
	// for as little, so nobody does until the store answers again.
	silent bool
}

// to returns how writing to something goes.
func (w *writes) to(what, subject string) *written {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]*written{}
	}
	if w.of[what] == nil {
		w.of[what] = &written{what: what, subject: subject, all: w}
	}
	return w.of[what]
}

// sorted returns everything that is written to, in the order of names.
func (w *writes) sorted() []*written {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*written
	for _, what := range slices.Sorted(maps.Keys(w.of)) {
		out = append(out, w.of[what])
	}
	return out
}

// failing says what was not written last, and why; empty if all was.
func (w *writes) failing() string {
	for _, one := range w.sorted() {
		if f := one.failed.Load(); f != nil {
			return one.what + ": " + f.why
		}
	}
	return ""
}

// silent returns what nobody answered for.
func (w *writes) silent() []*written {
	return slices.DeleteFunc(w.sorted(), func(one *written) bool { return one.refusal() == nil })
}

// refusal is the error of a write that is not tried, because the last was not
// answered; nil if it may be tried.
func (w *written) refusal() error {
	if f := w.failed.Load(); f != nil && f.silent {
		return unavailable("the store takes no writes", errors.New(f.why))
	}
	return nil
}

// note learns what became of a write, and tells when writes begin to fail and
// when they are made again.
func (w *written) note(err error, diary *slog.Logger) {
	if err == nil {
		if w.failed.Load() != nil && w.failed.Swap(nil) != nil {
			diary.Info("the store takes writes again", "to", w.what)
		}
		return
	}
	_, answered := errors.AsType[*jetstream.APIError](err)
	err = plain(err)
	if !answered {
		err = w.all.complained(err)
	}
	f := &failure{why: err.Error(), silent: !answered}
	if w.failed.Swap(f) == nil {
		diary.Warn("the store did not take a write; what needs it is refused", "to", w.what, "error", f.why)
	}
}

// complained adds to an error what the engine last complained of.
func (w *writes) complained(err error) error {
	if c := w.complaint.Load(); c != nil {
		return fmt.Errorf("%w; the engine last said: %s", err, *c)
	}
	return err
}

// Errorf keeps what the engine complains of.
func (w *writes) Errorf(format string, v ...any) {
	complaint := fmt.Sprintf(format, v...)
	w.complaint.Store(&complaint)
}

// Fatalf keeps what the engine complains of.
func (w *writes) Fatalf(format string, v ...any) { w.Errorf(format, v...) }

// Warnf drops what nobody can act upon, and so do the others.
func (*writes) Warnf(string, ...any) {}

// Noticef drops it.
func (*writes) Noticef(string, ...any) {}

// Debugf drops it.
func (*writes) Debugf(string, ...any) {}

// Tracef drops it.
func (*writes) Tracef(string, ...any) {}
