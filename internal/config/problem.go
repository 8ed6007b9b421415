package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/annotary/annotary"
)

// A problem is one thing wrong with a configuration, and where.
type problem struct {
	line, column int
	text, hint   string
}

// problems are everything found wrong with one file. All of them are reported:
// nobody likes to mend a file one error at a time.
type problems struct {
	file string
	list []problem
}

func (ps *problems) add(line, column int, hint, format string, args ...any) {
	ps.list = append(ps.list, problem{line, column, fmt.Sprintf(format, args...), hint})
}

func (ps *problems) where(p problem) string {
	if p.line == 0 {
		return ps.file
	}
	return fmt.Sprintf("%s:%d:%d", ps.file, p.line, p.column)
}

// err returns the problems as one error, or nil.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b problem) int {
		return cmp.Or(a.line-b.line, a.column-b.column)
	})
	if len(ps.list) == 1 {
		p := ps.list[0]
		return annotary.E(annotary.CodeConfig, ps.where(p)+": "+p.text, nil).WithHint(p.hint)
	}
	lines := []string{fmt.Sprintf("%s has %d errors", ps.file, len(ps.list))}
	for _, p := range ps.list {
		line := ps.where(p) + ": " + p.text
		if p.hint != "" {
			line += " (" + p.hint + ")"
		}
		lines = append(lines, line)
	}
	return annotary.E(annotary.CodeConfig, strings.Join(lines, "\n"), nil)
}

// guess returns the hint for a word that is none of known.
func guess(word string, known []string) string {
	best, least := "", len(word)/3+2
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known here: " + strings.Join(known, ", ")
}

// distance counts the letters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
