package gateway

import (
	"strconv"
	"strings"

	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// maxElicit is how many characters of a server's question a person is shown.
const maxElicit = 4000

// lineBreaks are all that some program takes for the end of a line.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// attribute puts the name of a server before its words. The first line is ours
// and every line of the server's begins with a mark, so that it can neither write
// a first line nor pretend that it was somebody else's.
func attribute(server, text string) string {
	cut := len(text) > 4*maxElicit // before it is cleaned, which costs
	if cut {
		text = strings.ToValidUTF8(text[:4*maxElicit], "")
	}
	runes := []rune(shape.Clean(lineBreaks.Replace(text)))
	if cut = cut || len(runes) > maxElicit; cut {
		runes = append(runes[:min(len(runes), maxElicit-1)], '…')
	}
	text = string(runes)
	return "The server " + strconv.Quote(server) + " asks:\n> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// cleaned returns a JSON value whose strings hold no control characters; the
// value itself if there are none.
func cleaned(raw []byte) []byte {
	dirty := false
	for at, leaf := range strict.Leaves(raw) {
		text, ok := strict.Text(leaf)
		if dirty = dirty || shape.Clean(at) != at || ok && shape.Clean(text) != text; dirty {
			break
		}
	}
	if !dirty {
		return raw
	}
	return appendCleaned(nil, raw)
}

func appendCleaned(dst, raw []byte) []byte {
	switch strict.KindOf(raw) {
	case strict.Object:
		dst = append(dst, '{')
		seen := map[string]bool{}
		for name, v := range strict.Members(raw) {
			if name = shape.Clean(name); seen[name] {
				continue // two names that only looked different
			}
			if len(seen) > 0 {
				dst = append(dst, ',')
			}
			seen[name] = true
			dst = append(append(dst, strict.Quote(name)...), ':')
			dst = appendCleaned(dst, v)
		}
		return append(dst, '}')
	case strict.Array:
		dst = append(dst, '[')
		for i, v := range strict.Elements(raw) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCleaned(dst, v)
		}
		return append(dst, ']')
	case strict.String:
		text, _ := strict.Text(raw)
		return append(dst, strict.Quote(shape.Clean(text))...)
	default:
		return append(dst, raw...)
	}
}
