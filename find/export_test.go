package find

// For the tests that look inside.
var (
	Split = split
	Stem  = stem

	ParseEmbeddings = parseEmbeddings
)
