package strict

import "bytes"

// Plain turns JSON as editors write it into JSON: comments, commas before a
// closing bracket and a byte order mark become spaces. Every other byte keeps
// its place, so an error still points to where a person will look. What is
// JSON already comes back unchanged. Nothing is checked: that is [Check]'s part.
func Plain(raw []byte) []byte {
	out := bytes.Clone(raw)
	if bytes.HasPrefix(out, []byte("\xEF\xBB\xBF")) {
		blank(out[:3])
	}
	comma := -1 // the last comma, while only space and comments have followed
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i, comma = skipString(out, i), -1
		case c == '/':
			end := afterComment(out, i)
			if end == i { // a stray slash: the reader will complain
				return out
			}
			blank(out[i:end])
			i = end
		case c == ',':
			comma = i
			i++
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out
}

// afterComment returns the index after the comment that begins at i, or i if
// none does. A comment that never ends is none.
func afterComment(b []byte, i int) int {
	switch {
	case bytes.HasPrefix(b[i:], []byte("//")):
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(b)
	case bytes.HasPrefix(b[i:], []byte("/*")):
		if n := bytes.Index(b[i+2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return i
}

// blank overwrites with spaces and keeps line ends.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}
