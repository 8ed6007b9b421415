package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// A File is a sink that appends a line for each entry to a file. Beside it, in
// the file that ends in .cursor, stands how far it got: what a crash left after
// that is cut off before the file goes on. The file may be moved away at any
// time; then a new one begins.
type File struct {
	Path string
	// Format makes the line of an entry. If nil, the entry as it stands in the
	// log.
	Format func(line []byte) ([]byte, error)

	file *os.File
	at   cursor
}

// OCSF is the format of the Open Cybersecurity Schema Framework.
func OCSF(line []byte) ([]byte, error) { return audit.OCSF(line) }

// A cursor says what a file holds.
type cursor struct {
	Pack   uint64 `json:"pack"`   // the last
	Offset int64  `json:"offset"` // where it ends
}

func (f *File) cursorPath() string { return f.Path + ".cursor" }

// Open opens the file and cuts off what was not finished.
func (f *File) Open(context.Context) (uint64, error) {
	raw, err := os.ReadFile(f.cursorPath())
	fresh := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		err = json.Unmarshal(raw, &f.at)
	}
	if err != nil && !fresh {
		return 0, f.fail("how far the export got cannot be read", err)
	}
	if fresh {
		f.at = cursor{}
	}
	return f.at.Pack, f.openFile(fresh)
}

// openFile opens the file at the cursor.
func (f *File) openFile(fresh bool) error {
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return f.fail("the file of the export cannot be opened", err)
	}
	f.file = file
	info, err := file.Stat()
	switch {
	case err != nil:
		return f.fail("the file of the export cannot be read", err)
	case fresh && info.Size() > 0:
		return f.fail("the file of the export is there already, and nobody knows how far it goes", nil)
	case info.Size() == 0: // new, or moved away
		f.at.Offset = 0
	case info.Size() < f.at.Offset:
		return f.fail(fmt.Sprintf("the file of the export is shorter (%d bytes) than what was written to it (%d)", info.Size(), f.at.Offset), nil)
	}
	if fresh { // what is written from now on is ours, even if the first step is never finished
		err = f.move(f.at)
	}
	if err = errors.Join(err, file.Truncate(f.at.Offset)); err != nil {
		return f.fail("the file of the export cannot be written", err)
	}
	return nil
}

// Put appends packs. The file is synced before the cursor moves.
func (f *File) Put(_ context.Context, packs []Pack) (uint64, error) {
	if err := f.follow(); err != nil {
		return 0, err
	}
	text, err := f.text(packs)
	if err != nil {
		return 0, err
	}
	if _, err = f.file.WriteAt(text, f.at.Offset); err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return 0, f.fail("the file of the export cannot be written", err)
	}
	next := cursor{packs[len(packs)-1].Number, f.at.Offset + int64(len(text))}
	if err := f.move(next); err != nil {
		return 0, f.fail("how far the export got cannot be written", err)
	}
	f.at = next
	return next.Pack, nil
}

// follow begins a new file if the old one was moved away.
func (f *File) follow() error {
	ours, err := f.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(f.Path)
	switch {
	case err == nil && os.SameFile(ours, there):
		return nil
	case err == nil && there.Size() > 0:
		return f.fail("another file stands where the export was", nil)
	}
	f.Close()
	f.at.Offset = 0
	if err := f.move(f.at); err != nil {
		return f.fail("how far the export got cannot be written", err)
	}
	return f.openFile(false)
}

func (f *File) text(packs []Pack) ([]byte, error) {
	var out bytes.Buffer
	for _, p := range packs {
		for _, line := range p.Lines {
			if f.Format != nil {
				var err error
				if line, err = f.Format(line); err != nil {
					return nil, err
				}
			}
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// move replaces the cursor as one.
func (f *File) move(to cursor) error {
	raw, err := json.Marshal(to)
	if err != nil {
		return err
	}
	next, err := os.OpenFile(f.cursorPath()+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(raw)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), f.cursorPath())
}

// Close closes the file.
func (f *File) Close() {
	if f.file != nil {
		_ = f.file.Close() // everything in it was synced
		f.file = nil
	}
}

func (f *File) fail(public string, cause error) error {
	return annotary.E(annotary.CodeConfig, f.Path+": "+public, cause).
		WithHint("move the file and its .cursor away together to begin anew")
}
