package annotary

// An Entry is a tool with its effective hints, as a catalogue holds it.
type Entry struct {
	Tool
	Hints Hints
}

// Tokens estimates how many tokens a model reads in the given number of bytes:
// a quarter, rounded up. Tokenizers differ; print it with "≈".
func Tokens(bytes int) int { return (bytes + 3) / 4 }
