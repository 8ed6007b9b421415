//go:build !unix

package upstream

import "syscall"

// stillOpen cannot look without waiting on this system, so that every call gets
// a connection of its own.
func stillOpen(syscall.RawConn) bool { return false }
