package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
)

// An Edit is a value to be set, and the keys that lead to it.
type Edit struct {
	Path  []string
	Value any
}

// SetFile sets values in a configuration file, as [Set] does; for the file of a
// client, in the one beside it. The file is replaced as a whole or not at all,
// and only by one that Load accepts.
func SetFile(file string, edits ...Edit) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return annotary.E(annotary.CodeConfig, "cannot find the configuration", err)
	}
	src, err := os.ReadFile(Ours(file))
	if err != nil && (!isClient(file) || !errors.Is(err, fs.ErrNotExist)) {
		return annotary.E(annotary.CodeConfig, "cannot read the configuration "+Ours(file), err)
	}
	out := src
	for _, e := range edits {
		if out, err = Set(out, e.Path, e.Value); err != nil {
			return err
		}
	}
	if err := accepts(file, out); err != nil {
		return err
	}
	if err := replace(Ours(file), out); err != nil {
		return annotary.E(annotary.CodeConfig, "cannot write the configuration "+Ours(file), err)
	}
	return nil
}

// accepts reports whether Load would take the configuration with this content.
func accepts(file string, content []byte) error {
	if !isClient(file) {
		_, err := Parse(file, content)
		return err
	}
	src, err := read(file)
	if err != nil {
		return err
	}
	_, err = parseBoth(file, src, content, os.LookupEnv)
	return err
}

// replace puts content in the place of a file without a moment in which the
// file is half written.
func replace(file string, content []byte) (err error) {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(content)
	for _, step := range []func() error{
		func() error { return tmp.Chmod(mode) },
		tmp.Sync,
		tmp.Close,
	} {
		if e := step(); err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// Set returns src, the text of an annotary.yaml, with the value at path set.
// It changes the text of that value, or adds the lines that hold it, and
// leaves every other byte alone: comments, blank lines, order, quotes. What it
// cannot do that way it refuses, and says so.
func Set(src []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 {
		return nil, annotary.E(annotary.CodeInternal, "no path to set", nil)
	}
	root, err := document(src)
	if err != nil {
		return nil, err
	}
	want := planted(root, path, value)
	if want == nil {
		return nil, cannot(path, "something on the way there is not a mapping")
	}
	if same(root, want) {
		return src, nil
	}
	out, err := splice(src, root, path, value)
	if err != nil {
		return nil, err
	}
	// The text was changed by rules of thumb about YAML. That they held is
	// not believed but read back.
	if got, err := document(out); err != nil || !same(got, want) {
		return nil, cannot(path, "the file is written in a way that cannot be changed safely")
	}
	return out, nil
}

func cannot(path []string, why string) error {
	return annotary.E(annotary.CodeConfig, fmt.Sprintf("cannot set %s: %s", strings.Join(path, "."), why), nil).
		WithHint("edit the file by hand")
}

// document parses src for editing.
func document(src []byte) (*yaml.Node, error) {
	d := &decoder{problems: problems{file: FileName}}
	root := d.yamlDocument(src)
	return root, d.err()
}

// planted returns a copy of the tree with the value at path set, or nil if
// the path leads through something that is not a mapping.
func planted(n *yaml.Node, path []string, value any) *yaml.Node {
	if len(path) == 0 {
		var v yaml.Node
		if v.Encode(value) != nil {
			return nil
		}
		return &v
	}
	switch {
	case n == nil || isNull(n):
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	case n.Kind != yaml.MappingNode:
		return nil
	}
	out := *n
	out.Content = slices.Clone(n.Content)
	i := keyIndex(n, path[0])
	if i < 0 {
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path[0]}
		out.Content, i = append(out.Content, key, nil), len(out.Content)
	}
	if out.Content[i+1] = planted(out.Content[i+1], path[1:], value); out.Content[i+1] == nil {
		return nil
	}
	return &out
}

// keyIndex returns where in n's content the key stands, or -1.
func keyIndex(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// same compares what two trees say, however it is written.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode && a.ShortTag() != b.ShortTag() {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// splice makes the change in the text. It follows the path as far as it
// exists, and replaces what is there or adds what is missing.
func splice(src []byte, root *yaml.Node, path []string, value any) ([]byte, error) {
	t := newText(src)
	n, indent, flow := root, -1, isFlow(root)
	for i, key := range path {
		k := keyIndex(n, key)
		if k < 0 {
			return t.add(n, path[i:], value, indent)
		}
		if !flow {
			indent = n.Content[k].Column - 1
		}
		n = n.Content[k+1]
		flow = flow || isFlow(n)
		if isNull(n) && i+1 < len(path) {
			return t.addToNull(n, path[i+1:], value, indent, flow)
		}
	}
	written, err := inline(value)
	if err != nil {
		return nil, err
	}
	start := t.offset(n.Line, n.Column)
	end := t.end(n, indent, flow)
	if t.hasComments(n, end) {
		return nil, cannot(path, "it would lose the comments inside")
	}
	switch {
	case isNull(n) && start == end:
		// "key:" needs the blank before its value.
		written = " " + written
	case !flow && n.Column-1 <= indent:
		// The dashes of a list may stand right below their key; a value may not.
		written = "  " + written
	}
	return t.replaced(start, end, written), nil
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// hasComments reports whether there are comments inside n, which replacing n
// would lose. A comment on the line on which n ends stands after it.
func (t *text) hasComments(n *yaml.Node, end int) bool {
	if isBlock(n) {
		// "key: | # comment" belongs to no node.
		start := t.offset(n.Line, n.Column)
		return bytes.IndexByte(t.src[start:t.lineEnd(start)], '#') >= 0
	}
	for _, c := range n.Content {
		before := t.lineEnd(t.offset(c.Line, c.Column)) < end
		if c.HeadComment != "" || c.FootComment != "" || (c.LineComment != "" && before) || t.hasComments(c, end) {
			return true
		}
	}
	return false
}

// add adds a path that does not exist yet to the mapping n.
func (t *text) add(n *yaml.Node, path []string, value any, indent int) ([]byte, error) {
	if isFlow(n) {
		entry, err := inlineEntry(path, value)
		if err != nil {
			return nil, err
		}
		last := t.end(n, indent, true) - 1
		return t.replaced(last, last, t.separator(n, last)+entry), nil
	}
	at, column := len(t.src), 0
	if len(n.Content) > 0 {
		at = t.lineEnd(t.end(n, indent, false))
		column = n.Content[0].Column - 1
	}
	return t.insertLines(at, path, value, column)
}

// separator is what must stand between the last entry of a flow mapping and
// a new one before its closing bracket.
func (t *text) separator(n *yaml.Node, closing int) string {
	if len(n.Content) == 0 {
		return ""
	}
	for at := t.end(n.Content[len(n.Content)-1], -1, true); at < closing; at++ {
		switch t.src[at] {
		case ',':
			return ""
		case '#':
			at = t.lineEnd(at) - 1
		}
	}
	return ", "
}

// addToNull adds a path below a key that has no value yet.
func (t *text) addToNull(n *yaml.Node, path []string, value any, indent int, flow bool) ([]byte, error) {
	start := t.offset(n.Line, n.Column)
	end := t.end(n, indent, flow)
	if !flow && start == end {
		return t.insertLines(t.lineEnd(start), path, value, indent+2)
	}
	entry, err := inlineEntry(path, value)
	if err != nil {
		return nil, err
	}
	if start == end {
		return t.replaced(start, end, " {"+entry+"}"), nil
	}
	return t.replaced(start, end, "{"+entry+"}"), nil
}

// insertLines inserts a path and its value as lines of their own.
func (t *text) insertLines(at int, path []string, value any, column int) ([]byte, error) {
	var lines strings.Builder
	if at > 0 && t.src[at-1] != '\n' {
		lines.WriteString(t.newline)
	}
	for i, key := range path {
		lines.WriteString(strings.Repeat(" ", column+2*i))
		if i < len(path)-1 {
			k, err := inline(key)
			if err != nil {
				return nil, err
			}
			lines.WriteString(k + ":" + t.newline)
			continue
		}
		entry, err := inlineEntry(path[i:], value)
		if err != nil {
			return nil, err
		}
		lines.WriteString(entry + t.newline)
	}
	return t.replaced(at, at, lines.String()), nil
}

// inlineEntry writes nested keys and a value on one line: a: {b: value}.
func inlineEntry(path []string, value any) (string, error) {
	key, err := inline(path[0])
	if err != nil {
		return "", err
	}
	var rest string
	if len(path) == 1 {
		rest, err = inline(value)
	} else {
		rest, err = inlineEntry(path[1:], value)
		rest = "{" + rest + "}"
	}
	return key + ": " + rest, err
}

// inline writes a value on one line, in a form that may stand anywhere.
func inline(value any) (string, error) {
	var n yaml.Node
	if err := n.Encode([]any{value}); err != nil {
		return "", annotary.E(annotary.CodeInternal, "the value cannot be written as YAML", err)
	}
	oneLine(&n)
	out, err := yaml.Marshal(&n)
	if err != nil {
		return "", annotary.E(annotary.CodeInternal, "the value cannot be written as YAML", err)
	}
	s := strings.TrimSuffix(string(out), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), nil
}

func oneLine(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = yaml.FlowStyle
	case n.Tag == "!!str" && strings.ContainsFunc(n.Value, isBreak):
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		oneLine(c)
	}
}

func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}
