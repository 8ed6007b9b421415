package rpc

import (
	"bufio"
	"bytes"
	"io"
)

// An Event is one server-sent event. Its parts are the caller's to keep.
type Event struct {
	Raw  []byte // the event as it was sent, with the empty line that ends it
	Name string // empty means "message"
	ID   string
	Data []byte
}

// Events reads server-sent events. Their lines end in LF, CRLF or CR. Not every
// client knows of the last, so that what is passed on has CRLF in its place: an
// event must not mean one thing to us and another to whom it goes.
type Events struct {
	r   *bufio.Reader
	max int

	begun bool // something was read
	split bool // the last line ended in CR: an LF right after belongs to it
}

// NewEvents reads from r and keeps no event longer than limit.
func NewEvents(r io.Reader, limit int) *Events {
	return &Events{r: bufio.NewReaderSize(r, 16<<10), max: limit}
}

// Next returns the next event. An event without data, such as a comment that
// keeps the connection alive, is returned too: its Data is nil. An event that
// the end of the stream cut off is dropped, as the format demands.
func (e *Events) Next() (Event, error) {
	raw, err := e.block()
	if err != nil {
		return Event{}, err
	}
	if !e.begun { // a mark of the encoding stands before the first line only
		raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
		e.begun = true
	}
	return parseEvent(raw), nil
}

// block reads up to and with the next empty line.
func (e *Events) block() ([]byte, error) {
	var raw []byte
	begun, long := false, false // a line came in part; the event is too long to keep
	for {
		part, ended, err := e.part()
		if err != nil {
			return nil, err
		}
		if long = long || len(raw)+len(part) > e.max; !long {
			raw = append(raw, part...)
			if ended && part[len(part)-1] == '\r' {
				raw = append(raw, '\n')
			}
		}
		begun = begun || len(bytes.TrimRight(part, "\r\n")) > 0
		switch {
		case !ended:
		case begun:
			begun = false
		case long:
			return nil, ErrLong
		default:
			return raw, nil
		}
	}
}

// part reads what has come of a line and reports whether it is its end. It waits
// for no byte more: after a CR none may come.
func (e *Events) part() (part []byte, ended bool, err error) {
	if _, err := e.r.Peek(1); err != nil {
		return nil, false, err
	}
	part, _ = e.r.Peek(e.r.Buffered())
	if e.split {
		if e.split = false; part[0] == '\n' { // it stands in for the one that was put there
			_, err := e.r.Discard(1)
			return nil, false, err
		}
	}
	if i := bytes.IndexByte(part, '\n'); i >= 0 {
		part, ended = part[:i+1], true
	}
	if i := bytes.IndexByte(part, '\r'); i >= 0 && (i+1 == len(part) || part[i+1] != '\n') {
		part, ended, e.split = part[:i+1], true, true
	}
	_, err = e.r.Discard(len(part))
	return part, ended, err
}

func parseEvent(raw []byte) Event {
	ev := Event{Raw: raw}
	lines := 0
	for line := range bytes.Lines(raw) {
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			ev.Name = string(value)
		case "id":
			ev.ID = string(value)
		case "data":
			if lines++; lines == 1 {
				ev.Data = value
			} else { // rare: several data lines are one text
				ev.Data = append(append(bytes.Clone(ev.Data), '\n'), value...)
			}
		}
	}
	return ev
}

// AppendEvent appends a message as a server-sent event. The id may be empty.
func AppendEvent(dst []byte, id string, msg []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(dst, "data: "...)
	if bytes.IndexByte(msg, '\n') < 0 && bytes.IndexByte(msg, '\r') < 0 {
		dst = append(dst, msg...)
	} else {
		dst = appendOneLine(dst, msg)
	}
	return append(dst, "\n\n"...)
}

// appendOneLine appends a message without its line breaks: between the tokens
// of JSON they mean nothing, inside them they cannot stand.
func appendOneLine(dst, msg []byte) []byte {
	for _, c := range msg {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// OneLine returns the message as a single line, itself if it is one already.
func OneLine(msg []byte) []byte {
	if bytes.IndexByte(msg, '\n') < 0 && bytes.IndexByte(msg, '\r') < 0 {
		return msg
	}
	return appendOneLine(make([]byte, 0, len(msg)), msg)
}
