package config

import (
	"bytes"
	"encoding"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
)

// A decoder turns nodes into values and collects what is wrong with them.
type decoder struct {
	problems
	env     func(string) (string, bool)
	dialect dialect
	// loose ignores unknown keys: the file is somebody else's.
	loose bool
}

func parse(name string, src []byte, env func(string) (string, bool)) (*Config, error) {
	d, root, err := open(name, src, env)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	d.structure(root, reflect.ValueOf(c).Elem(), "")
	d.check(c, root)
	if err := d.err(); err != nil {
		return nil, err
	}
	if err := c.settle(filepath.Dir(name)); err != nil {
		return nil, err
	}
	return c, nil
}

// open reads the document of a file, of which nothing is decoded yet.
func open(name string, src []byte, env func(string) (string, bool)) (*decoder, *yaml.Node, error) {
	d := &decoder{problems: problems{file: name}, env: env, dialect: ourDialect}
	read := d.yamlDocument
	if isClient(name) {
		d.loose, d.dialect = true, clientDialect
		read = d.clientDocument
	}
	root := read(src)
	return d, root, d.err()
}

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s+)?(?:line (\d+): )?(.*)$`)

// yamlDocument reads the one document of a YAML file. An empty file is an
// empty mapping.
func (d *decoder) yamlDocument(src []byte) *yaml.Node {
	docs := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	err := docs.Decode(&doc)
	if err == nil {
		if err := docs.Decode(&more); err == nil {
			d.add(more.Line, more.Column, "keep one", "a second document begins here")
		} else if !errors.Is(err, io.EOF) {
			d.syntax(err)
		}
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	d.plain(doc.Content[0])
	return doc.Content[0]
}

func (d *decoder) syntax(err error) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		d.add(0, 0, "", "%v", err)
		return
	}
	line, column := 0, 0
	if m[1] != "" {
		line, _ = strconv.Atoi(m[1])
		column = 1
	}
	d.add(line, column, "quote texts that hold : # { } [ ] , & * ! | > ' \" % @ or `", "not valid YAML: %s", m[2])
}

// plain refuses what makes a file say something other than what stands there:
// anchors, aliases, merges and tags.
func (d *decoder) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.add(n.Line, n.Column, "write the value out", "anchors and aliases are not read here")
	case n.Style&yaml.TaggedStyle != 0:
		d.add(n.Line, n.Column, "quote the value if it is a text", "tags are not read here")
	}
	for _, c := range n.Content {
		d.plain(c)
	}
}

// value decodes n into v. The path to it, what, stands in errors.
func (d *decoder) value(n *yaml.Node, v reflect.Value, what string) {
	switch p := v.Addr().Interface().(type) {
	case *Text:
		*p = d.text(n, what)
		return
	case *Secret:
		p.text = d.text(n, what)
		return
	case *OpenRule: // a verdict alone holds for everybody
		if n.Kind == yaml.ScalarNode {
			d.value(n, reflect.ValueOf(&p.Else).Elem(), what)
			return
		}
	case encoding.TextUnmarshaler:
		if s, ok := d.scalar(n, what); ok {
			if err := p.UnmarshalText([]byte(s)); err != nil {
				d.add(n.Line, n.Column, "", "%s: %v", what, err)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, what)
	case reflect.Map:
		d.mapping(n, v, what)
	case reflect.Slice:
		d.sequence(n, v, what)
	case reflect.Pointer: // what tells being left out from being empty
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), what)
	default:
		d.basic(n, v, what)
	}
}

// basic decodes strings, numbers and booleans.
func (d *decoder) basic(n *yaml.Node, v reflect.Value, what string) {
	s, ok := d.scalar(n, what)
	if !ok {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		if n.Tag != "!!bool" {
			d.add(n.Line, n.Column, "", "%s must be true or false", what)
			return
		}
		v.SetBool(strings.EqualFold(s, "true"))
	case reflect.Int:
		i, err := strconv.ParseInt(s, 10, 32)
		if n.Tag != "!!int" || err != nil || i <= 0 {
			d.add(n.Line, n.Column, "", "%s must be a whole number from 1 to %d", what, 1<<31-1)
			return
		}
		v.SetInt(i)
	default:
		panic("config: no way to read a " + v.Type().String())
	}
}

// scalar returns the text of a scalar, as it was written.
func (d *decoder) scalar(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.add(n.Line, n.Column, "", "%s must be a single value, not %s", what, kindName(n))
		return "", false
	}
	return n.Value, true
}

func (d *decoder) text(n *yaml.Node, what string) Text {
	s, ok := d.scalar(n, what)
	if !ok {
		return Text{}
	}
	v, err := expand(s, d.dialect, d.env)
	if err != nil {
		hint := ""
		if errors.Is(err, errNotSet) {
			hint = "set it in the environment the gateway starts in"
		}
		d.add(n.Line, n.Column, hint, "%s: %v", what, err)
	}
	return Text{written: s, value: v}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, what string) {
	fields := setDefaults(v)
	seen := map[string]bool{}
	for key, val := range d.entries(n, what) {
		i, ok := fields[key.Value]
		switch {
		case ok && d.once(seen, key):
			d.value(val, v.Field(i), below(what, key.Value))
		case !ok && !d.loose:
			known := slices.Sorted(maps.Keys(fields))
			d.add(key.Line, key.Column, guess(key.Value, known), "unknown key %q in %s", key.Value, title(what))
		}
	}
}

// setDefaults gives every field its default and returns the fields by key.
func setDefaults(v reflect.Value) map[string]int {
	fields := map[string]int{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		fields[f.Tag.Get("yaml")] = i
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Text]() {
			setDefaults(v.Field(i))
			continue
		}
		text, ok := f.Tag.Lookup("default")
		if !ok {
			continue
		}
		fill := decoder{}
		fill.value(scalarOf(text), v.Field(i), f.Name)
		if err := fill.err(); err != nil {
			panic("config: default of " + f.Name + ": " + err.Error())
		}
	}
	return fields
}

func scalarOf(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	n.Tag = n.ShortTag()
	return n
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, what string) {
	seen := map[string]bool{}
	for key, val := range d.entries(n, what) {
		if !d.once(seen, key) {
			continue
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		e := reflect.New(v.Type().Elem()).Elem()
		d.element(val, e, below(what, key.Value))
		if p, ok := reflect.TypeAssert[interface{ setPosition(annotary.Position) }](e.Addr()); ok {
			p.setPosition(annotary.Position{File: filepath.Base(d.file), Line: key.Line})
		}
		v.SetMapIndex(reflect.ValueOf(key.Value), e)
	}
}

// element decodes one value of a mapping. A server that is switched off may
// name variables that are not set.
func (d *decoder) element(n *yaml.Node, v reflect.Value, what string) {
	if off := lookup(n, "disabled"); off != nil && off.Value == "true" {
		env := d.env
		defer func() { d.env = env }()
		d.env = func(name string) (string, bool) {
			s, _ := env(name)
			return s, true
		}
	}
	d.value(n, v, what)
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, what string) {
	if n.Kind != yaml.SequenceNode {
		d.add(n.Line, n.Column, "write [a, b] or one \"- a\" on each line", "%s must be a list, not %s", what, kindName(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		d.value(c, v.Index(i), what+"["+strconv.Itoa(i)+"]")
	}
}

// entries yields the keys and values of a mapping. No value at all is an empty
// mapping: people comment out the last line of a section.
func (d *decoder) entries(n *yaml.Node, what string) func(yield func(key, val *yaml.Node) bool) {
	return func(yield func(key, val *yaml.Node) bool) {
		if isNull(n) {
			return
		}
		if n.Kind != yaml.MappingNode {
			d.add(n.Line, n.Column, "write key: value", "%s must be a mapping, not %s", title(what), kindName(n))
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i]; key.Kind != yaml.ScalarNode {
				d.add(key.Line, key.Column, "", "a key of %s must be a single value, not %s", title(what), kindName(key))
			} else if !yield(key, n.Content[i+1]) {
				return
			}
		}
	}
}

// once reports whether key is new, and complains if it is not.
func (d *decoder) once(seen map[string]bool, key *yaml.Node) bool {
	if seen[key.Value] {
		d.add(key.Line, key.Column, "keep one", "the key %q stands here a second time", key.Value)
		return false
	}
	seen[key.Value] = true
	return true
}

// lookup follows keys through nested mappings and returns the node there, or
// nil if there is none.
func lookup(n *yaml.Node, path ...string) *yaml.Node {
next:
	for _, want := range path {
		if n.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == want {
					n = n.Content[i+1]
					continue next
				}
			}
		}
		return nil
	}
	return n
}

// below names the value of a key in errors.
func below(what, key string) string {
	if what == "" {
		return key
	}
	return what + "." + key
}

func title(what string) string {
	if what == "" {
		return "the configuration"
	}
	return what
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	return "a single value"
}
