package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/annotary/annotary/lint"
)

// tableWidth is the width every table fits: a terminal of the usual size.
const tableWidth = 80

// maxCell is the widest a column other than the last may become.
const maxCell = 28

// writeTable prints rows under a header, columns two spaces apart. Long cells
// are cut with "…", the last column at the edge of the terminal.
func writeTable(w io.Writer, header []string, rows [][]string) error {
	all := append([][]string{header}, rows...)
	widths := make([]int, len(header))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), maxCell))
		}
	}
	left := tableWidth
	for _, width := range widths[:len(widths)-1] {
		left -= width + 2
	}
	widths[len(widths)-1] = max(left, len(header[len(header)-1]))
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			cell = cut(cell, widths[i])
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens a cell to the width and keeps it on one line: what a stranger
// named a tool must not draw on the terminal.
func cut(cell string, width int) string {
	cell = lint.Printable(cell)
	if utf8.RuneCountInString(cell) <= width {
		return cell
	}
	return string([]rune(cell)[:max(width-1, 0)]) + "…"
}
