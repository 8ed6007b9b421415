package lint

import (
	"encoding/xml"
	"io"

	"github.com/annotary/annotary"
)

// The parts of JUnit's report we write: one case a tool, one failure a finding.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name     string         `xml:"name,attr"`
		Class    string         `xml:"classname,attr"`
		Failures []junitFailure `xml:"failure"`
		Out      []string       `xml:"system-out"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as a JUnit report: each tool is a test case, and
// the list itself is one. Findings as bad as failOn or worse are failures; the
// others are output of their case.
func WriteJUnit(w io.Writer, r *Report, tools []annotary.Tool, src Source, failOn Severity) error {
	suite := junitSuite{Name: src.Name, Cases: make([]junitCase, len(tools)+1)}
	for i := range suite.Cases {
		suite.Cases[i] = junitCase{Name: "tools/list", Class: src.Name}
		if i > 0 {
			suite.Cases[i].Name = tools[i-1].Name
		}
	}
	for _, f := range r.Findings {
		c := &suite.Cases[f.Index+1]
		if f.Severity < failOn {
			c.Out = append(c.Out, f.Severity.String()+" "+f.Rule+": "+f.sentence())
			continue
		}
		if len(c.Failures) == 0 {
			suite.Failures++
		}
		c.Failures = append(c.Failures, junitFailure{f.Rule, f.Severity.String() + ": " + f.Message, f.sentence() + "\n" + f.Demand + "\n"})
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	all := junitSuites{Name: "annotary lint", Tests: suite.Tests, Failures: suite.Failures, Suites: []junitSuite{suite}}
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
