//go:build unix

package upstream

import (
	"errors"
	"syscall"
)

// stillOpen reports whether an idle connection may be used: nothing has come on
// it, not even its end. A call written to one that the server just closed would
// have an unknown outcome.
func stillOpen(raw syscall.RawConn) bool {
	if raw == nil {
		return false
	}
	open := false
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}
