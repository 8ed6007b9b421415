// Package confine keeps the commands a gateway starts out of the gateway's own
// folder: its keys, its sockets, its state. An agent that could reach them
// through a file or shell tool could approve its own calls.
//
// [Around] finds out which protection this system has, by trying it:
//
//   - [Namespace]: the command gets a user and a mount namespace in which an empty
//     read-only folder covers the hidden one;
//   - [Landlock]: the command may use everything that lies beside the path to the
//     folder, at every level. Landlock can only allow, so nothing new can be made
//     in the folders above the hidden one, and names in it can still be listed;
//   - [Neither].
//
// The work is done in the command's own process: the program starts itself again
// as a shim, which puts up the wall, gives up the power to take it down, and
// becomes the command. Process group, signals, standard streams and exit status
// are the command's own. Any program that imports the package can be its shim.
//
// It says nothing about what else a command may do, and does not stop one that
// has another program of the same user act for it.
package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// A Protection is a way in which commands are kept out of a folder.
type Protection string

// The protections, the strongest first.
const (
	Namespace Protection = "namespace"
	Landlock  Protection = "landlock"
	Neither   Protection = "none"
)

// Walls keep commands out of a folder. The nil Walls keep nobody out.
type Walls struct {
	// By is the protection that holds.
	By Protection
	// Missing says, for people, why a stronger one does not; empty if there is none.
	Missing string

	dir string // absolute, no symbolic link in it
}

// Around tries the protections one after the other against a folder that exists,
// and returns the first that keeps a command from a file in it.
func Around(dir string) (*Walls, error) {
	folder, err := filepath.EvalSymlinks(dir)
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", dir, err)
	}
	bait, err := os.CreateTemp(folder, ".confine-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(bait.Name()) }() // what is left of it is an empty file
	defer bait.Close()
	w := &Walls{dir: folder}
	var failed []error
	for _, w.By = range protections {
		err := w.try(bait.Name())
		if err == nil {
			return w, nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", w.By, err))
		w.Missing = errors.Join(failed...).Error()
	}
	w.By = Neither
	return w, nil
}

// try starts this program behind the wall and has it look for the bait.
func (w *Walls) try(bait string) error {
	cmd := exec.Command(self, bait)
	cmd.Dir = "/"
	if err := w.apply(cmd, proberName); err != nil {
		return err
	}
	said, err := cmd.CombinedOutput()
	if err != nil && len(said) > 0 {
		return errors.New(firstLine(said))
	}
	return err
}

// Apply has the command start behind the walls. It is the last thing to be done
// to a command before its start.
func (w *Walls) Apply(cmd *exec.Cmd) error {
	if w == nil || w.By == Neither || cmd.Err != nil {
		return nil // a command that was not found says so itself
	}
	return w.apply(cmd, cmd.Args[0])
}

// look is what the prober does: it fails if the bait can be had.
func look(bait string) error {
	_, err := os.ReadFile(bait)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err == nil {
		err = errors.New("it does not hold")
	}
	return err
}

func firstLine(text []byte) string {
	for i, b := range text {
		if b == '\n' {
			return string(text[:i])
		}
	}
	return string(text)
}
