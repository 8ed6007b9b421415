package derive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary/internal/strict"
)

// maxNodes bounds how many values a document may have once its aliases are
// expanded: a few lines of YAML can stand for billions.
const maxNodes = 1 << 20

// jsonDocument returns a document written in JSON or YAML as checked JSON, so
// that everything after it reads one form.
func jsonDocument(doc []byte) (strict.Raw, error) {
	if first := bytes.TrimLeft(doc, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		return doc, strict.Check(doc, strict.Limits{})
	}
	dec := yaml.NewDecoder(bytes.NewReader(doc))
	var root, more yaml.Node
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	c := converter{left: maxNodes}
	if err := c.node(&root, 0); err != nil {
		return nil, err
	}
	return c.out.Bytes(), strict.Check(c.out.Bytes(), strict.Limits{})
}

// A converter writes YAML nodes as JSON.
type converter struct {
	out  bytes.Buffer
	left int // nodes it may still write
}

const maxYAMLDepth = 120

func (c *converter) node(n *yaml.Node, depth int) error {
	if c.left--; c.left < 0 || depth > maxYAMLDepth {
		return fmt.Errorf("line %d: the document is too large or too deep, or an alias goes in a circle", n.Line)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return c.node(n.Content[0], depth)
	case yaml.AliasNode:
		return c.node(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	case yaml.ScalarNode:
		c.out.Write(scalar(n))
		return nil
	}
	return fmt.Errorf("line %d: unknown kind of YAML", n.Line)
}

func (c *converter) mapping(n *yaml.Node, depth int) error {
	c.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return fmt.Errorf("line %d: a key is a plain text here", key.Line)
		}
		if i > 0 {
			c.out.WriteByte(',')
		}
		c.out.Write(strict.Quote(key.Value))
		c.out.WriteByte(':')
		if err := c.node(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte('}')
	return nil
}

func (c *converter) sequence(n *yaml.Node, depth int) error {
	c.out.WriteByte('[')
	for i, v := range n.Content {
		if i > 0 {
			c.out.WriteByte(',')
		}
		if err := c.node(v, depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte(']')
	return nil
}

// jsonNumber matches the numbers JSON can write. YAML knows more (hexadecimal,
// infinity); those become texts, and no hint is a number.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// scalar writes a plain value. Only true and false are booleans, in the
// spellings of YAML's core schema: yes and on are texts.
func scalar(n *yaml.Node) []byte {
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		return []byte("null")
	case tag == "!!bool" && (n.Value == "true" || n.Value == "True" || n.Value == "TRUE"):
		return []byte("true")
	case tag == "!!bool" && (n.Value == "false" || n.Value == "False" || n.Value == "FALSE"):
		return []byte("false")
	case (tag == "!!int" || tag == "!!float") && jsonNumber.MatchString(n.Value):
		return []byte(n.Value)
	}
	return strict.Quote(n.Value)
}
