package lint

import (
	"io"
	"strings"
)

// A document is the JSON form of a report.
type document struct {
	Target string `json:"target"`
	*Report
	Findings []located         `json:"findings"`
	Patch    []Op              `json:"patch,omitempty"`
	Snippets map[string]string `json:"snippets,omitempty"`
}

type located struct {
	Finding
	Line int `json:"line,omitempty"`
}

// WriteJSON writes the report as JSON. Repairs, where given, come along as a
// patch and as snippets.
func WriteJSON(w io.Writer, r *Report, src Source, repairs []Repair) error {
	doc := document{Target: src.Name, Report: r, Findings: []located{}}
	for _, f := range r.Findings {
		doc.Findings = append(doc.Findings, located{f, src.Line(f.Index)})
	}
	if len(repairs) == 0 {
		return writeJSON(w, doc)
	}
	if src.Patchable {
		doc.Patch = Patch(repairs, src.List)
	}
	doc.Snippets = map[string]string{}
	for _, language := range Languages {
		var b strings.Builder
		if err := WriteSnippets(&b, repairs, language); err != nil {
			return err
		}
		doc.Snippets[language] = b.String()
	}
	return writeJSON(w, doc)
}
