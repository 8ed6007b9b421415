package cli

import (
	"fmt"
	"io"
	"os"
)

// isTerminal reports whether a stream is a person's terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a device too, and nobody sits there
	return err != nil || !os.SameFile(info, null)
}

// progress shows a line on a terminal until done is called. Elsewhere it does
// nothing: a log needs no such line.
func progress(w io.Writer, line string) (done func()) {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	fmt.Fprint(w, line)
	return func() { fmt.Fprint(w, "\r\x1b[K") }
}
