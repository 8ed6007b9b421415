package derive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// overrides are what an operator says about operations, kept beside the
// document:
//
//	tools:
//	  exportReport:            # by name
//	    readOnly: false
//	    why: it mails the report
//	  GET /search:             # or by method and path
//	    readOnly: true
type overrides struct {
	entries map[string]override
	used    map[string]bool
}

type override struct {
	values [annotary.NumHints]annotary.Value
	why    string
}

func parseOverrides(doc []byte) (*overrides, error) {
	o := &overrides{map[string]override{}, map[string]bool{}}
	if doc == nil {
		return o, nil
	}
	root, err := jsonDocument(doc)
	if err != nil {
		return nil, annotary.E(annotary.CodeConfig, "the overrides cannot be read: "+err.Error(), err)
	}
	for key := range strict.Members(root) {
		if key != "tools" {
			return nil, badOverride("the overrides have the unknown key %q", key)
		}
	}
	for _, v := range []strict.Raw{root, strict.Get(root, "tools")} { // tools may be empty
		if kind := strict.KindOf(v); kind != strict.Object && kind != strict.Null && kind != strict.Absent {
			return nil, badOverride("the overrides have %s where names are expected", kind)
		}
	}
	for name, entry := range strict.Members(strict.Get(root, "tools")) {
		if o.entries[name], err = parseOverride(name, entry); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func parseOverride(tool string, entry strict.Raw) (override, error) {
	o := override{why: "the overrides say so"}
	if strict.KindOf(entry) != strict.Object {
		return o, badOverride("the override of %s is not a list of hints", tool)
	}
	for key, v := range strict.Members(entry) {
		name, known := hintOf(key)
		kind := strict.KindOf(v)
		switch {
		case key == "why" && kind == strict.String:
			o.why, _ = strict.Text(v)
		case !known:
			return o, badOverride("the override of %s has the unknown hint %q", tool, key)
		case kind != strict.True && kind != strict.False:
			return o, badOverride("%s of %s is true or false, not %s", key, tool, kind)
		default:
			o.values[name] = annotary.ValueOf(kind == strict.True)
		}
	}
	if o.values[annotary.ReadOnly] == annotary.Yes && o.values[annotary.Destructive] == annotary.Yes {
		return o, badOverride("the override of %s says both read-only and destructive", tool)
	}
	return o, nil
}

func badOverride(format string, args ...any) error {
	return annotary.E(annotary.CodeConfig, fmt.Sprintf(format, args...), nil).
		WithHint("an overrides file is tools: {NAME or METHOD /path: {readOnly: false, why: …}}")
}

// apply puts an operation's override over everything else. One by method and
// path beats one by name, which two operations may share.
func (o *overrides) apply(op *Operation) {
	for _, key := range []string{op.Name, op.Method + " " + op.Path} {
		entry, ok := o.entries[key]
		if !ok {
			continue
		}
		o.used[key] = true
		for n, v := range entry.values {
			if v != annotary.Unknown {
				op.Claims[n] = annotary.Claim{
					Hint: annotary.HintName(n), Value: v, By: annotary.FromOperator, Confidence: 1, Why: entry.why,
				}
			}
		}
	}
}

// unused refuses overrides of operations the document does not have: a renamed
// operation must not lose its override in silence.
func (o *overrides) unused() error {
	var names []string
	for name := range o.entries {
		if !o.used[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return annotary.E(annotary.CodeConfig, "the overrides name what the document does not have: "+strings.Join(names, ", "), nil).
		WithHint("rename or remove these entries of the overrides file")
}
