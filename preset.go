package annotary

// Annotations are the four booleans of the specification, all decided.
type Annotations struct {
	ReadOnly, Destructive, Idempotent, OpenWorld bool
}

// The three presets: what most tools of a class should say.
var (
	PresetReadOnly    = Annotations{ReadOnly: true, Idempotent: true}
	PresetWrite       = Annotations{Idempotent: true}
	PresetDestructive = Annotations{Destructive: true}
)

// An Archetype is a kind of tool everybody has, and its honest annotations.
type Archetype struct {
	Name        string
	Annotations Annotations
}

// Archetypes are the eight common kinds of tool.
var Archetypes = []Archetype{
	{"file or database read", Annotations{ReadOnly: true, Idempotent: true}},
	{"search or list", Annotations{ReadOnly: true, Idempotent: true}},
	{"HTTP GET to an external API", Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}},
	{"upsert or idempotent write", Annotations{Idempotent: true}},
	{"append or create", Annotations{}},
	{"delete or overwrite", Annotations{Destructive: true}},
	{"send e-mail or chat message", Annotations{Destructive: true, OpenWorld: true}},
	{"trigger a deployment", Annotations{Destructive: true, OpenWorld: true}},
}

// Hints returns the annotations as hints from the given source.
func (a Annotations) Hints(from Source, why string) Hints {
	h := Pessimistic()
	for n, v := range map[HintName]bool{
		ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld,
	} {
		h[n] = Hint{Value: ValueOf(v), From: from, Why: why}
	}
	return h
}
