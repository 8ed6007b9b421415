package sqlread

import (
	"maps"
	"slices"
)

// What the tests compare with the catalogues of real databases.

func Functions(d Dialect) []string { return slices.Sorted(maps.Keys(functions[d])) }
func Operators(d Dialect) []string { return slices.Sorted(maps.Keys(operators[d])) }
func Types(d Dialect) []string     { return slices.Sorted(maps.Keys(types[d])) }
func Reserved(d Dialect, w string) bool {
	return reserved[d][w]
}

// OutColumns reports whether the columns of a function in FROM are known.
func OutColumns(function string) bool {
	_, ok := outColumns[function]
	return ok
}
