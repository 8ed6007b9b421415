// Package spool keeps entries of the log on the local disk while the log is
// lost, and carries them over when it is back.
//
// It serves calls that the operator lets happen without the store: their entry
// is in a synced file before their result is delivered. A call of any other kind
// never comes here. What was carried over says of itself that it was spooled. If
// the log took an entry and its answer was lost, or the process dies between the
// log's answer and the cutting of the file, the entry is there twice, with the
// same call and kind.
package spool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// A Log keeps entries. What Append returned without an error for is durable.
type Log interface {
	Append(ctx context.Context, line []byte) error
}

// maxBytes is how large a spool grows. Then calls that would need it are
// refused.
const maxBytes = 64 << 20

// carryEvery is how often it is looked whether the log is back.
const carryEvery = time.Second

// A Spool stands before a log.
type Spool struct {
	log   Log
	lost  func() bool
	diary *slog.Logger

	mu      sync.Mutex
	file    *os.File
	size    int64 // of the whole lines in the file
	waiting int   // lines
}

// Open opens the spool in a file. Entries that an earlier process left in it
// are carried over too. Lost says whether the log is.
func Open(path string, log Log, lost func() bool, diary *slog.Logger) (*Spool, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, annotary.E(annotary.CodeStore, "the file for entries that wait cannot be opened: "+err.Error(), err).
			WithHint("this user must be able to read and write it")
	}
	s := &Spool{log: log, lost: lost, diary: diary, file: file}
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// recover counts what is there. A line without its end was never confirmed to
// anybody.
func (s *Spool) recover() error {
	text, err := io.ReadAll(io.LimitReader(s.file, maxBytes+audit.MaxBytes))
	if err != nil {
		return annotary.E(annotary.CodeStore, "the spool for entries cannot be read", err)
	}
	s.size = int64(bytes.LastIndexByte(text, '\n') + 1)
	s.waiting = bytes.Count(text[:s.size], []byte{'\n'})
	return s.file.Truncate(s.size)
}

// Append adds an entry to the log or, while that is lost, to the spool. When it
// returns without an error the entry is on disk, here or there.
func (s *Spool) Append(ctx context.Context, line []byte) error {
	if !s.lost() {
		err := s.log.Append(ctx, line)
		if annotary.CodeOf(err) != annotary.CodeStore || ctx.Err() != nil || !s.lost() {
			return err
		}
	}
	e, err := audit.Decode(line)
	if err != nil {
		return err
	}
	e.Spooled = true
	marked, err := e.Encode()
	if err != nil {
		return err
	}
	return s.keep(marked)
}

// keep writes a line and syncs it.
func (s *Spool) keep(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+int64(len(line)) >= maxBytes {
		return annotary.E(annotary.CodeStore, "the store is lost and the spool is full", nil)
	}
	_, err := s.file.WriteAt(append(bytes.Clone(line), '\n'), s.size)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		// What is there of the line must not look like one to the next who opens it.
		err = errors.Join(err, s.file.Truncate(s.size))
		return annotary.E(annotary.CodeStore, "the store is lost and the spool cannot be written", err)
	}
	s.size += int64(len(line)) + 1
	s.waiting++
	return nil
}

// Waiting returns how many entries wait for the log.
func (s *Spool) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Run carries entries over whenever the log is back, until the context ends.
func (s *Spool) Run(ctx context.Context) {
	tick := time.NewTicker(carryEvery)
	defer tick.Stop()
	for {
		if n := s.Waiting(); n > 0 && !s.lost() {
			if err := s.Carry(ctx); err == nil {
				s.diary.Info("entries that waited for the store are in the log", "entries", n)
			} else if ctx.Err() == nil {
				s.diary.Warn("entries wait for the store", "entries", s.Waiting(), "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Carry puts everything that waits into the log, in order, and forgets what is
// there.
func (s *Spool) Carry(ctx context.Context) error {
	for {
		end, n, err := s.batch(ctx)
		if n == 0 {
			return err
		}
		empty, failed := s.forget(end, n)
		if err = errors.Join(err, failed); empty || err != nil {
			return err
		}
	}
}

// batchLines bounds what is in the log twice if the process dies meanwhile.
const batchLines = 4096

// batch appends lines from the beginning of the file, and says where they end.
func (s *Spool) batch(ctx context.Context) (end int64, n int, err error) {
	s.mu.Lock()
	size := s.size
	s.mu.Unlock()
	lines := bufio.NewScanner(io.NewSectionReader(s.file, 0, size))
	lines.Buffer(nil, audit.MaxBytes+2)
	for n < batchLines && lines.Scan() {
		if err := s.log.Append(ctx, bytes.Clone(lines.Bytes())); err != nil {
			return end, n, err
		}
		end += int64(len(lines.Bytes())) + 1
		n++
	}
	return end, n, lines.Err()
}

// forget drops lines from the beginning of the file. What is left moves there by
// way of a copy, so that a crash loses nothing.
func (s *Spool) forget(end int64, n int) (empty bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := make([]byte, s.size-end)
	if _, err := s.file.ReadAt(rest, end); err != nil && len(rest) > 0 {
		return false, err
	}
	if len(rest) > 0 {
		return false, s.replace(rest, s.waiting-n)
	}
	if err := s.file.Truncate(0); err != nil {
		return false, err
	}
	s.size, s.waiting = 0, 0
	return true, s.file.Sync()
}

// replace makes a new file of what is left.
func (s *Spool) replace(rest []byte, waiting int) error {
	path := s.file.Name()
	next, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(rest)
	if err = errors.Join(err, next.Sync()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	old := s.file
	s.file, s.size, s.waiting = next, int64(len(rest)), waiting
	return old.Close()
}

// Close closes the file. What waits is carried over by the next who opens it.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}
