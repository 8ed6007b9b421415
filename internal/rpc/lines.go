package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrLong is returned for a line or event that is longer than allowed. The
// reader has skipped it; the next one can be read.
var ErrLong = errors.New("a message is longer than allowed")

// Lines reads messages that are separated by newlines, as MCP does on pipes.
type Lines struct {
	r   *bufio.Reader
	max int
}

// NewLines reads from r and keeps no line longer than limit.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 32<<10), max: limit}
}

// Next returns the next line that is not empty, without its newline. The bytes
// are the caller's to keep. At the end it returns what was left, then io.EOF.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.line()
		line = bytes.TrimRight(line, "\r\n")
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// line reads up to the newline. A line that grows too long is read to its end
// and dropped, so that memory stays bounded.
func (l *Lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.max+2; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || err == io.EOF):
			return nil, ErrLong
		default:
			return line, err
		}
	}
}
