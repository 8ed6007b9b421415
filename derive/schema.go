package derive

import (
	"strings"

	"github.com/annotary/annotary/internal/strict"
)

// A param is a parameter a tool takes.
type param struct {
	name     string
	words    []string
	required bool
	enum     []string // the strings it may be
	nested   bool     // a member of an object parameter
}

// joined returns the name in snake case.
func (p *param) joined() string { return strings.Join(p.words, "_") }

func (p *param) role() role { return roles[p.joined()] }

// local reports whether the name of an output says that it is a place in the
// file system: a "destination" may be a town, an "output" a format.
func (p *param) local() bool {
	switch p.joined() {
	case "output", "destination", "dest", "file_path", "filepath":
		return false
	}
	return true
}

// maxParams bounds how many parameters are looked at.
const maxParams = 64

// readParams returns the parameters of an input schema, in its order: the
// properties, those of its alternatives, and the members of object parameters
// one level down, where many servers hide a body.
func readParams(schema []byte) []param {
	var params []param
	appendParams(&params, schema, 0)
	return params
}

func appendParams(params *[]param, schema []byte, depth int) {
	required := map[string]bool{}
	for _, r := range strict.Elements(strict.Get(schema, "required")) {
		if name, ok := strict.Text(r); ok {
			required[name] = true
		}
	}
	for name, property := range strict.Members(strict.Get(schema, "properties")) {
		if len(*params) == maxParams {
			return
		}
		*params = append(*params, readParam(name, property, required[name], depth > 0))
		if depth == 0 {
			appendParams(params, property, depth+1)
			appendParams(params, strict.Get(property, "items"), depth+1)
		}
	}
	for _, alternatives := range []string{"oneOf", "anyOf", "allOf"} {
		for _, s := range strict.Elements(strict.Get(schema, alternatives)) {
			if depth < 2 {
				appendParams(params, s, depth+1)
			}
		}
	}
}

func readParam(name string, property []byte, required, nested bool) param {
	p := param{name: name, words: splitName(name), required: required, nested: nested}
	if c, ok := strict.Text(strict.Get(property, "const")); ok {
		p.enum = append(p.enum, c)
	}
	for _, at := range [][]string{{"enum"}, {"items", "enum"}} {
		for _, v := range strict.Elements(strict.Get(property, at...)) {
			if s, ok := strict.Text(v); ok {
				p.enum = append(p.enum, s)
			}
		}
	}
	return p
}
