package lint

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	tableWidth  = 80
	tableIndent = 9 // under the severity
)

// WriteTable writes the report for a person: 80 columns, worst first, findings
// that differ only in the tool together, and a summary at the end.
func WriteTable(w io.Writer, r *Report, src Source) error {
	var b strings.Builder
	if groups := grouped(r.Findings); len(groups) > 0 {
		b.WriteString("SEVERITY RULE\n")
		for _, g := range groups {
			g.write(&b, r.Profile)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s\n", wrap(summary(r, src), tableWidth, 0))
	_, err := io.WriteString(w, b.String())
	return err
}

// A group is findings that say the same about several tools.
type group struct {
	Finding
	tools []string
}

func grouped(findings []Finding) []group {
	type member struct {
		group int
		tool  string
	}
	var groups []group
	place, seen := map[Finding]int{}, map[member]bool{}
	for _, f := range findings {
		key := f
		key.Tool, key.Index, key.At = "", 0, ""
		i, ok := place[key]
		if !ok {
			i = len(groups)
			place[key] = i
			groups = append(groups, group{Finding: f})
		}
		if m := (member{i, f.Tool}); f.Tool != "" && !seen[m] {
			seen[m] = true
			groups[i].tools = append(groups[i].tools, f.Tool)
		}
	}
	return groups
}

// write writes the group, with the vendor's demand under a vendor's profile.
func (g *group) write(b *strings.Builder, p Profile) {
	fmt.Fprintf(b, "%-*s%s\n", tableIndent, g.Severity, g.Rule)
	line := func(s string) {
		fmt.Fprintf(b, "%*s%s\n", tableIndent, "", wrap(Printable(s), tableWidth-tableIndent, tableIndent))
	}
	if len(g.tools) > 0 {
		line(g.names() + " " + g.Message)
	} else {
		line(g.Message)
	}
	if g.Evidence != "" && !strings.Contains(g.Message, g.Evidence) {
		line("evidence: " + g.Evidence)
	}
	line("fix: " + g.Fix)
	if p == Anthropic || p == OpenAI {
		line("why: " + g.Demand)
	}
}

// names lists the tools; of many, the first few.
func (g *group) names() string {
	const most = 12
	if n := len(g.tools); n > most {
		return fmt.Sprintf("%s and %d more:", strings.Join(g.tools[:most], ", "), n-most)
	} else if n > 1 {
		return strings.Join(g.tools, ", ") + ":"
	}
	return g.tools[0]
}

func summary(r *Report, src Source) string {
	s := fmt.Sprintf("%s: %s, %d with hints, ≈%s tokens", Printable(src.Name), plural(r.Tools, "tool"), r.Annotated, thousands(r.Tokens))
	if len(r.Findings) == 0 {
		return s + fmt.Sprintf("; nothing found (profile %s)", r.Profile)
	}
	return s + fmt.Sprintf("; %s, %s, %s (profile %s)", plural(r.Count(Error), "error"),
		plural(r.Count(Warning), "warning"), plural(r.Count(Note), "note"), r.Profile)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Printable makes a stranger's text safe for a terminal: one line, nothing
// invisible, nothing that moves the cursor.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n', r == '\t', r == '\r':
			b.WriteByte(' ')
		case r == ' ' || unicode.IsGraphic(r) && !isHidden(r, 'a', 'a'):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// wrap breaks a text at spaces; lines after the first are indented.
func wrap(s string, width, indent int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			fmt.Fprintf(&b, "\n%*s", indent, "")
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
