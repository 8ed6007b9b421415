package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// page is text for a person, 80 columns wide. Sections are apart by an empty
// line.
type page struct {
	out  bytes.Buffer
	home string
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// section prints a heading before the first item of a section.
func (p *page) section(first *bool, heading string) {
	if *first {
		p.printf("\n%s\n", heading)
		*first = false
	}
}

// item prints a name and what there is to say about it, indented. A long name
// gets a line of its own.
func (p *page) item(name, text, hint string) {
	const indent = 22
	name = cut(p.short(name), tableWidth-2)
	if utf8.RuneCountInString(name) > indent-3 {
		p.printf("  %s\n", name)
		name = ""
	}
	p.wrapped("  "+pad(name, indent-3)+" ", p.short(text))
	if hint != "" {
		p.wrapped(strings.Repeat(" ", indent)+"hint: ", p.short(hint))
	}
}

// wrapped prints text after a lead, broken at spaces, with further lines below
// the first word.
func (p *page) wrapped(lead, text string) {
	left := utf8.RuneCountInString(lead)
	lines := fillLines(cut(text, 1000), tableWidth-left)
	p.printf("%s%s\n", lead, strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", left)))
}

// short writes the home folder as people do.
func (p *page) short(text string) string {
	if p.home == "" || p.home == "/" {
		return text
	}
	return strings.ReplaceAll(text, p.home+"/", "~/")
}

// pad makes a cell as wide as asked, cut if need be.
func pad(cell string, width int) string {
	cell = cut(cell, width)
	return cell + strings.Repeat(" ", width-utf8.RuneCountInString(cell))
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %%", 100*part/whole)
}

func orDash(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}

// thousands writes a number in groups of three digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
