package jetstream

import (
	"syscall"

	"github.com/annotary/annotary"
)

// lock takes the folder for this process by opening a file that nobody else may
// open meanwhile; the system lets go when the holder dies.
func lock(path string) (unlock func() error, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const noSharing = 0
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, noSharing, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, annotary.E(annotary.CodeStore, "another annotary keeps its state in this folder", err).
			WithHint("stop it, or give this one another data folder")
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}
