//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
)

// errTaken is returned when another process holds a lock.
var errTaken = errors.New("another gateway of this user is running")

// lockFile is not built for this system: there is no gateway to share.
func lockFile(string, bool) (*os.File, error) {
	return nil, errors.New("sharing a gateway is not supported on this system")
}

func detach(*exec.Cmd) {}
