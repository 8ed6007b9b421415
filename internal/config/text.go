package config

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is the source of a document, for finding where a node stands in it.
// The parser tells where a node begins; where it ends is found here.
type text struct {
	src     []byte
	starts  []int // where each line begins
	newline string
}

func newText(src []byte) *text {
	t := &text{src: src, starts: []int{0}, newline: "\n"}
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		t.starts[0] = len("\ufeff")
	}
	for i, c := range src {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		t.newline = "\r\n"
	}
	return t
}

// replaced returns the source with the bytes from start to end replaced.
func (t *text) replaced(start, end int, by string) []byte {
	return bytes.Join([][]byte{t.src[:start], t.src[end:]}, []byte(by))
}

// offset returns the byte at which a line and a column, counted in characters,
// begin. A position outside the source gives the nearest inside.
func (t *text) offset(line, column int) int {
	if line < 1 || line > len(t.starts) {
		return len(t.src)
	}
	at := t.starts[line-1]
	for ; column > 1 && at < len(t.src); column-- {
		_, size := utf8.DecodeRune(t.src[at:])
		at += size
	}
	return at
}

// lineEnd returns the offset after the line that at is in.
func (t *text) lineEnd(at int) int {
	if i := bytes.IndexByte(t.src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(t.src)
}

// end returns the offset after the last byte of n. The indent is that of the
// key or dash n belongs to, -1 for the document; flow says that n stands
// between brackets.
func (t *text) end(n *yaml.Node, indent int, flow bool) int {
	start := t.offset(n.Line, n.Column)
	switch {
	case n.Kind != yaml.ScalarNode && isFlow(n):
		return t.closing(n, start)
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		last := len(n.Content) - 1
		return t.end(n.Content[last], n.Content[last-1].Column-1, flow)
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return t.end(n.Content[len(n.Content)-1], n.Column-1, flow)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return t.quoteEnd(start, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return t.quoteEnd(start, '\'')
	case isBlock(n):
		return t.blockEnd(start, indent)
	case n.Value == "":
		return start
	case flow:
		return t.flowPlainEnd(start)
	}
	return t.plainEnd(start, indent)
}

func isBlock(n *yaml.Node) bool { return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 }

// closing returns the offset after the bracket that closes the flow
// collection n.
func (t *text) closing(n *yaml.Node, start int) int {
	at := start + 1
	if len(n.Content) > 0 {
		at = t.end(n.Content[len(n.Content)-1], -1, true)
	}
	for at < len(t.src) {
		switch t.src[at] {
		case '}', ']':
			return at + 1
		case '#':
			at = t.lineEnd(at)
		default:
			at++
		}
	}
	return len(t.src)
}

// quoteEnd returns the offset after the closing quote.
func (t *text) quoteEnd(start int, quote byte) int {
	for at := start + 1; at < len(t.src); at++ {
		switch {
		case t.src[at] == '\\' && quote == '"':
			at++
		case t.src[at] != quote:
		case quote == '\'' && at+1 < len(t.src) && t.src[at+1] == quote:
			at++
		default:
			return at + 1
		}
	}
	return len(t.src)
}

// blockEnd returns the end of a literal or folded scalar: of its last line
// that is not blank, or of the blank lines after it where "+" keeps them.
func (t *text) blockEnd(start, indent int) int {
	next := t.lineEnd(start)
	end, keep := next, bytes.ContainsRune(t.src[start:next], '+')
	for at := next; at < len(t.src); at = t.lineEnd(at) {
		blank := t.isBlank(at)
		if !blank && t.indentation(at) <= indent {
			break
		}
		if !blank || keep {
			end = t.lineEnd(at)
		}
	}
	return t.withoutBreak(end)
}

// plainEnd returns the end of a plain scalar, which goes on in lines that are
// indented deeper than its key and are no comments.
func (t *text) plainEnd(start, indent int) int {
	end, commented := t.plainLine(start)
	for at := t.lineEnd(start); at < len(t.src) && !commented; at = t.lineEnd(at) {
		if t.isBlank(at) {
			continue
		}
		first := at + t.indentation(at)
		if t.indentation(at) <= indent || t.src[first] == '#' {
			break
		}
		end, commented = t.plainLine(first)
	}
	return end
}

// plainLine returns where the text that begins at start ends on its line, and
// whether a comment follows it.
func (t *text) plainLine(start int) (end int, commented bool) {
	line := t.src[start:t.lineEnd(start)]
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return start + len(bytes.TrimRight(line[:i], " \t")), true
		}
	}
	return start + len(bytes.TrimRight(line, " \t\r\n")), false
}

// flowPlainEnd returns the end of a plain scalar between brackets.
func (t *text) flowPlainEnd(start int) int {
	rest := t.src[start:]
	if i := bytes.IndexAny(rest, ",[]{}"); i >= 0 {
		rest = rest[:i]
	}
	for i := 1; i < len(rest); i++ {
		if rest[i] == '#' && strings.IndexByte(" \t\n", rest[i-1]) >= 0 {
			rest = rest[:i]
		}
	}
	return start + len(bytes.TrimRight(rest, " \t\r\n"))
}

func (t *text) isBlank(at int) bool {
	return len(bytes.TrimSpace(t.src[at:t.lineEnd(at)])) == 0
}

func (t *text) indentation(at int) int {
	line := t.src[at:t.lineEnd(at)]
	return len(line) - len(bytes.TrimLeft(line, " "))
}

// withoutBreak returns end, or where the line break before it begins.
func (t *text) withoutBreak(end int) int {
	before, _ := bytes.CutSuffix(t.src[:end], []byte("\n"))
	before, _ = bytes.CutSuffix(before, []byte("\r"))
	return len(before)
}
