package annotary

import (
	"github.com/annotary/annotary/internal/strict"
)

// MetaHints is the _meta key under which our hints travel.
const MetaHints = "dev.annotary/hints"

// Stated is what a definition says about a hint, read from its bytes. Absent,
// null, false, true and a value of the wrong type are five different things.
type Stated uint8

// The five states.
const (
	StatedAbsent Stated = iota
	StatedNull
	StatedFalse
	StatedTrue
	StatedWrongType
)

var statedNames = [...]string{"absent", "null", "false", "true", "wrong type"}

// String names the state.
func (s Stated) String() string { return statedNames[s] }

// Value returns what was claimed. Null and wrong types claim nothing.
func (s Stated) Value() Value {
	switch s {
	case StatedTrue:
		return Yes
	case StatedFalse:
		return No
	default:
		return Unknown
	}
}

// A Tool is a tool's definition as its server sent it: the bytes, and what we
// read from them.
type Tool struct {
	Server      string // the name of its server, empty if unknown
	Name        string
	Title       string // title, else annotations.title
	Description string
	Input       []byte // inputSchema, nil if absent
	Output      []byte // outputSchema, nil if absent
	Stated      [NumHints]Stated
	Raw         []byte // the whole definition, untouched
}

// ParseTool reads a definition. It fails only if the bytes are not a JSON
// object we can rely on, or have no name; everything else that is wrong with a
// definition is for the linter to say.
func ParseTool(raw []byte) (Tool, error) {
	if err := strict.Check(raw, strict.Limits{}); err != nil {
		return Tool{}, E(CodeInvalid, "a tool definition cannot be read: "+err.Error(), err)
	}
	if strict.KindOf(raw) != strict.Object {
		return Tool{}, E(CodeInvalid, "a tool definition is a JSON object", nil)
	}
	name, ok := strict.Text(strict.Get(raw, "name"))
	if !ok || name == "" {
		return Tool{}, E(CodeInvalid, "a tool definition has no name", nil)
	}
	annotations := strict.Get(raw, "annotations")
	t := Tool{
		Name:   name,
		Input:  strict.Get(raw, "inputSchema"),
		Output: strict.Get(raw, "outputSchema"),
		Raw:    raw,
	}
	t.Description, _ = strict.Text(strict.Get(raw, "description"))
	if t.Title, ok = strict.Text(strict.Get(raw, "title")); !ok || t.Title == "" {
		t.Title, _ = strict.Text(strict.Get(annotations, "title"))
	}
	ours := strict.Get(raw, "_meta", MetaHints)
	for n := range HintName(NumHints) {
		if n.InSpec() {
			t.Stated[n] = stated(strict.Get(annotations, n.Wire()))
		} else {
			t.Stated[n] = stated(ourHint(ours, n))
		}
	}
	return t, nil
}

// ourHint finds one of our hints: an author writes true or false, a gateway
// writes an object with the value and who vouches for it.
func ourHint(ours []byte, n HintName) []byte {
	raw := strict.Get(ours, n.String())
	if strict.KindOf(raw) == strict.Object {
		return strict.Get(raw, "value")
	}
	return raw
}

func stated(raw []byte) Stated {
	switch strict.KindOf(raw) {
	case strict.Absent:
		return StatedAbsent
	case strict.Null:
		return StatedNull
	case strict.False:
		return StatedFalse
	case strict.True:
		return StatedTrue
	default:
		return StatedWrongType
	}
}

// Declared returns the claims the definition makes.
func (t *Tool) Declared() []Claim {
	var claims []Claim
	for n, s := range t.Stated {
		if v := s.Value(); v != Unknown {
			claims = append(claims, Claim{Hint: HintName(n), Value: v, By: FromDeclared, Why: "the server says so"})
		}
	}
	return claims
}

// ModelVisible reports whether a model may see the tool. MCP Apps may mark a
// helper as callable by its app only.
func (t *Tool) ModelVisible() bool {
	visibility := strict.Get(t.Raw, "_meta", "ui", "visibility")
	if strict.KindOf(visibility) != strict.Array {
		return true
	}
	for _, v := range strict.Elements(visibility) {
		if s, _ := strict.Text(v); s == "model" {
			return true
		}
	}
	return false
}
