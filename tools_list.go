package annotary

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/annotary/annotary/internal/strict"
)

// maxToolList bounds a saved list of tools. The largest real ones are 2 MB;
// a fleet's catalogue of 100,000 tools is about 200 MB.
const maxToolList = 512 << 20

// ParseTools reads a saved list of tools in the forms people have: the result
// of tools/list, the whole JSON-RPC response around it, a bare array of
// definitions, one definition, or lines of any of these. The tools come in the
// order of the input and share its memory.
func ParseTools(raw []byte) ([]Tool, error) {
	err := strict.Check(raw, strict.Limits{Bytes: maxToolList})
	switch {
	case err == nil:
		return parseToolDocument(nil, raw)
	case errors.Is(err, strict.ErrTrailing):
		return parseToolLines(raw)
	default:
		return nil, unreadableTools(err)
	}
}

func unreadableTools(cause error) error {
	return E(CodeInvalid, "the list of tools cannot be read: "+cause.Error(), cause).
		WithHint(`expected what tools/list answers, such as {"tools":[{"name":"…"}]}`)
}

func parseToolLines(raw []byte) ([]Tool, error) {
	var tools []Tool
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		err := strict.Check(line, strict.Limits{})
		if err == nil {
			tools, err = parseToolDocument(tools, line)
		}
		if err != nil {
			return nil, unreadableTools(fmt.Errorf("line %d: %w", n, err))
		}
	}
	return tools, nil
}

// parseToolDocument appends the tools of one checked document.
func parseToolDocument(tools []Tool, raw []byte) ([]Tool, error) {
	list := raw
	for _, path := range [][]string{{"tools"}, {"result", "tools"}} {
		if found := strict.Get(raw, path...); found != nil {
			list = found
			break
		}
	}
	switch strict.KindOf(list) {
	case strict.Array:
	case strict.Object:
		if strict.Get(list, "name") == nil {
			return nil, unreadableTools(errors.New("it has no tools"))
		}
		list = append(append([]byte{'['}, list...), ']')
	default:
		return nil, unreadableTools(fmt.Errorf("tools is %s, not an array", strict.KindOf(list)))
	}
	for i, definition := range strict.Elements(list) {
		t, err := ParseTool(definition)
		if err != nil {
			return nil, E(CodeInvalid, fmt.Sprintf("tool %d: %s", i+1, err), err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}
