package lint

import (
	"bytes"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// A Source says where a list of tools came from.
type Source struct {
	// Name is the file, URL or command, for people.
	Name string
	// List is the JSON Pointer of the array of tools in the file; a live
	// list is taken to be the result of tools/list.
	List string
	// Patchable says a JSON Patch can speak about the list: it is an array
	// in one JSON document.
	Patchable bool

	lines []int // of each tool, from 1; nil for a live list
}

// Live is the source of a list a server has just sent.
func Live(name string) Source { return Source{Name: name, List: "/tools", Patchable: true} }

// File is the source of a list saved in a file: raw is what the file holds,
// tools what was read from it.
func File(name string, raw []byte, tools []annotary.Tool) Source {
	s := Source{Name: name, lines: make([]int, len(tools))}
	for _, at := range []string{"/tools", "/result/tools", ""} {
		if strict.KindOf(strict.At(raw, at)) == strict.Array {
			s.List = at
			s.Patchable = strict.Check(raw, strict.Limits{Bytes: len(raw) + 1}) == nil
			break
		}
	}
	from := max(0, bytes.Index(raw, strict.At(raw, s.List)))
	line := 1 + bytes.Count(raw[:from], []byte{'\n'})
	for i := range tools {
		// The definitions are parts of raw, in order.
		at := bytes.Index(raw[from:], tools[i].Raw)
		if at < 0 {
			s.lines = s.lines[:i]
			break
		}
		line += bytes.Count(raw[from:from+at], []byte{'\n'})
		s.lines[i] = line
		line += bytes.Count(tools[i].Raw, []byte{'\n'})
		from += at + len(tools[i].Raw)
	}
	return s
}

// Line returns the line on which the tool's definition begins, 1 for the list
// itself and 0 where there is no file.
func (s *Source) Line(index int) int {
	switch {
	case s.lines == nil:
		return 0
	case index < 0 || index >= len(s.lines):
		return 1
	default:
		return s.lines[index]
	}
}
