package find

// For the tests that look at words.
var (
	Split = split
	Stem  = stem
)
