package config

import (
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary/internal/strict"
)

// clientDocument reads the JSON file of a client: its mcpServers (most) or
// servers (VS Code) become our servers. Comments and trailing commas, which
// editors allow in such files, are allowed.
func (d *decoder) clientDocument(src []byte) *yaml.Node {
	plain := strict.Plain(src)
	if err := strict.Check(plain, strict.Limits{}); err != nil {
		d.add(0, 0, "", "%v", err)
		return nil
	}
	for _, key := range []string{"mcpServers", "servers"} {
		if raw := strict.Get(plain, key); raw != nil {
			servers := (&cursor{doc: plain, line: 1, column: 1}).node(raw)
			return &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1, Content: []*yaml.Node{scalarOf("servers"), servers}}
		}
	}
	d.add(1, 1, "annotary.yaml is YAML; a .json file is read as a client's", "neither mcpServers nor servers is in it")
	return nil
}

// A cursor walks forward through a JSON document and knows where it is.
type cursor struct {
	doc          []byte
	at           int
	line, column int
}

// seek moves to where raw, a later part of the document, begins.
func (c *cursor) seek(raw strict.Raw) {
	for ; &c.doc[c.at] != &raw[0]; c.at++ {
		switch b := c.doc[c.at]; {
		case b == '\n':
			c.line, c.column = c.line+1, 1
		case utf8.RuneStart(b):
			c.column++
		}
	}
}

// node turns the JSON value raw into the node the decoder reads.
func (c *cursor) node(raw strict.Raw) *yaml.Node {
	c.seek(raw)
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: c.line, Column: c.column}
	switch strict.KindOf(raw) {
	case strict.Object:
		n.Kind = yaml.MappingNode
		for name, v := range strict.Members(raw) {
			val := c.node(v)
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: clientKey(name), Line: val.Line, Column: val.Column}
			n.Content = append(n.Content, key, val)
		}
	case strict.Array:
		n.Kind = yaml.SequenceNode
		for _, v := range strict.Elements(raw) {
			n.Content = append(n.Content, c.node(v))
		}
	case strict.String:
		n.Tag = "!!str"
		n.Value, _ = strict.Text(raw)
	default:
		n.Value = string(raw)
		n.Tag = n.ShortTag()
	}
	return n
}

// clientKey translates what single clients call the url.
func clientKey(name string) string {
	switch name {
	case "serverUrl", "httpUrl":
		return "url"
	}
	return name
}
