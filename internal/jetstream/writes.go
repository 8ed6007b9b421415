package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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
	what   string
	failed atomic.Pointer[string] // why it was not made; nil if it was
	all    *writes
}

// to returns how writing to something goes.
func (w *writes) to(what string) *written {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]*written{}
	}
	if w.of[what] == nil {
		w.of[what] = &written{what: what, all: w}
	}
	return w.of[what]
}

// failing says what was not written last, and why; empty if all was.
func (w *writes) failing() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(w.of)) {
		if why := w.of[what].failed.Load(); why != nil {
			return what + ": " + *why
		}
	}
	return ""
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
	why := plain(err).Error()
	if c := w.all.complaint.Load(); c != nil && errors.Is(err, context.DeadlineExceeded) {
		why += "; the engine last said: " + *c
	}
	if w.failed.Swap(&why) == nil {
		diary.Warn("the store did not take a write; what needs it is refused", "to", w.what, "error", why)
	}
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
