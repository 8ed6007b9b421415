package lint

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/annotary/annotary"
)

// Languages are those for which [WriteSnippets] writes.
var Languages = []string{"go", "typescript", "python"}

// WriteSnippets writes the annotations of every repaired tool as an author
// would write them in one of [Languages].
func WriteSnippets(w io.Writer, repairs []Repair, language string) error {
	for i, r := range repairs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var text string
		switch language {
		case "go":
			text = goSnippet(&r)
		case "typescript":
			text = typescriptSnippet(&r)
		case "python":
			text = pythonSnippet(&r)
		default:
			return annotary.E(annotary.CodeUsage, fmt.Sprintf("no snippets for %q", language), nil).
				WithHint("one of " + strings.Join(Languages, ", "))
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// heading is the comment above a snippet.
func (r *Repair) heading(mark string) string {
	s := fmt.Sprintf("%s %s", mark, Printable(r.Tool))
	if len(r.Assumed) == 0 {
		return s + "\n"
	}
	var names []string
	for _, n := range r.Assumed {
		names = append(names, n.Wire())
	}
	return s + "\n" + mark + " assumed, please check: " + strings.Join(names, ", ") + "\n"
}

// goSnippet writes for the official Go SDK, in which two hints are pointers.
func goSnippet(r *Repair) string {
	var b strings.Builder
	b.WriteString(r.heading("//") + "Annotations: &mcp.ToolAnnotations{\n")
	field := func(name, value string) { fmt.Fprintf(&b, "\t%-16s %s,\n", name+":", value) }
	field("Title", strconv.Quote(r.Title))
	for _, n := range specHints {
		switch v := r.Hints[n]; {
		case v == annotary.Unknown:
		case n == annotary.Destructive || n == annotary.OpenWorld:
			field(goName(n), "new("+v.String()+")") // new of a value: Go 1.26
		default:
			field(goName(n), v.String())
		}
	}
	b.WriteString("},\n")
	return b.String()
}

func goName(n annotary.HintName) string {
	wire := n.Wire()
	return strings.ToUpper(wire[:1]) + wire[1:]
}

func typescriptSnippet(r *Repair) string {
	var b strings.Builder
	b.WriteString(r.heading("//") + "annotations: {\n")
	fmt.Fprintf(&b, "  title: %s,\n", strconv.Quote(r.Title))
	for _, n := range specHints {
		if v := r.Hints[n]; v != annotary.Unknown {
			fmt.Fprintf(&b, "  %s: %s,\n", n.Wire(), v)
		}
	}
	b.WriteString("},\n")
	return b.String()
}

func pythonSnippet(r *Repair) string {
	var b strings.Builder
	b.WriteString(r.heading("#") + "annotations=ToolAnnotations(\n")
	fmt.Fprintf(&b, "    title=%s,\n", strconv.Quote(r.Title))
	for _, n := range specHints {
		switch r.Hints[n] {
		case annotary.Yes:
			fmt.Fprintf(&b, "    %s=True,\n", n.Wire())
		case annotary.No:
			fmt.Fprintf(&b, "    %s=False,\n", n.Wire())
		default: // stays unsaid
		}
	}
	b.WriteString("),\n")
	return b.String()
}
