package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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

// fitted is a line for people: on a terminal folded to fit, elsewhere whole, so
// that what is searched for is found on it.
func fitted(w io.Writer, line string) string {
	if isTerminal(w) {
		return folded(line)
	}
	return line + "\n"
}

// folded cuts no line of a text but breaks those that are too long for a
// terminal, at a space where there is one.
func folded(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
		rest := []rune(line)
		for len(rest) > tableWidth {
			at := lastSpace(rest[:tableWidth])
			out.WriteString(strings.TrimRight(string(rest[:at]), " ") + "\n")
			rest = append([]rune(indent), []rune(strings.TrimLeft(string(rest[at:]), " "))...)
		}
		out.WriteString(string(rest) + "\n")
	}
	return out.String()
}

// lastSpace is where a line is broken: behind its last space, if that leaves at
// least half of it.
func lastSpace(line []rune) int {
	for i := len(line) - 1; i > len(line)/2; i-- {
		if line[i] == ' ' {
			return i
		}
	}
	return len(line)
}

// saidYes reads the answer to a question that ends in [y/N].
func saidYes(in io.Reader) (bool, error) {
	said, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	said = strings.ToLower(strings.TrimSpace(said))
	return said == "y" || said == "yes", nil
}
