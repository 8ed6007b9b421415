package lint_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"testing"
	"unicode"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/lint"
)

// FuzzCheck takes any definitions at all: nothing fails, every report can be
// read by its reader, nothing a stranger wrote steers the terminal, and a fix
// leaves nothing to fix.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(saved))
	f.Add([]byte(`[{"name":"a","annotations":[],"_meta":7,"title":null,"readOnlyHint":"x"}]`))
	f.Add([]byte(`{"name":"\u001b[2J","annotations":{"read_only_hint":true,"READONLYHINT":null}}`))
	f.Add([]byte(`[{"name":"___","inputSchema":{"properties":{"a~/b":{"x-mcp-header":"\r\n"}}}}]`))
	for _, ex := range examples {
		for _, s := range ex.bad {
			if len(s) < 1000 {
				f.Add([]byte("[" + s + "]"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, err := annotary.ParseTools(data)
		if err != nil {
			return
		}
		src := lint.File("tools.json", data, tools)
		for p := range lint.NumProfiles {
			o := lint.Options{Profile: p}
			readable(t, lint.Check(tools, o), tools, src, lint.Fix(tools, o))
			checkMended(t, tools, o)
		}
		lint.Justify(tools)
	})
}

// readable writes every report and reads it back.
func readable(t *testing.T, r *lint.Report, tools []annotary.Tool, src lint.Source, repairs []lint.Repair) {
	t.Helper()
	var table, doc, sarif, junit bytes.Buffer
	err := errors.Join(
		lint.WriteTable(&table, r, src), lint.WriteJSON(&doc, r, src, repairs),
		lint.WriteSARIF(&sarif, r, src), lint.WriteJUnit(&junit, r, tools, src, lint.Warning),
	)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(doc.Bytes()) || !json.Valid(sarif.Bytes()) {
		t.Error("a report is not JSON")
	}
	dec := xml.NewDecoder(&junit)
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the JUnit report is not XML: %v", err)
		}
	}
	for _, c := range table.String() {
		if c != '\n' && unicode.In(c, unicode.Cc, unicode.Cf) {
			t.Fatalf("U+%04X reached the terminal", c)
		}
	}
}
