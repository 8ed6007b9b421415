//go:build unix

package jetstream

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/annotary/annotary"
)

// lock takes the folder for this process. Two engines on one folder would
// destroy each other's files; the kernel lets go when the holder dies.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		holder, _ := os.ReadFile(path) // only to say who; the lock is what counts
		f.Close()
		return nil, annotary.E(annotary.CodeStore, fmt.Sprintf("another annotary (process %s) keeps its state in this folder", strings.TrimSpace(string(holder))), err).
			WithHint("stop it, or give this one another data folder")
	}
	err = f.Truncate(0)
	_, writeErr := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	if err = errors.Join(err, writeErr); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// patience is how long a holder may take to let go that is ending, or a command
// of its that was just being started.
const patience = 2 * time.Second

func flock(f *os.File) error {
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(until) {
			return err
		}
	}
}
