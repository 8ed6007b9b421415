package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/lint"
)

// isOpenAPI reports whether a file is an OpenAPI document, or means to be one:
// lists of tools are JSON, so whatever is named as YAML is read as OpenAPI and
// gets OpenAPI's errors.
func isOpenAPI(file string, raw []byte) bool {
	ext := filepath.Ext(file)
	return ext == ".yaml" || ext == ".yml" || derive.IsOpenAPI(raw)
}

func runDeriveOpenAPI(o deriveOptions, doc []byte) error {
	var overrides []byte
	if o.overrides != "" {
		var err error
		if overrides, err = os.ReadFile(o.overrides); err != nil {
			return cannotRead(o.overrides, err)
		}
	}
	operations, err := derive.OpenAPI(doc, overrides)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return printOperationsJSON(o.streams.Out, operations)
	}
	return printOperations(o.streams.Out, operations)
}

func printOperationsJSON(w io.Writer, operations []derive.Operation) error {
	tools := make([]derivedJSON, len(operations))
	for i, op := range operations {
		tools[i] = newDerivedJSON(op.Name, &op.Claims)
		tools[i].Operation = op.Method + " " + op.Path
		tools[i].Flags = append([]derive.Flag{}, op.Flags...)
	}
	return printJSON(w, map[string]any{"tools": tools})
}

// printOperations prints each operation with each value, its reason and how
// sure it is, and then how many operations somebody should look at.
func printOperations(w io.Writer, operations []derive.Operation) error {
	var out strings.Builder
	flagged := 0
	for _, op := range operations {
		fmt.Fprintf(&out, "%s  (%s %s)\n", lint.Printable(op.Name), op.Method, lint.Printable(op.Path))
		for _, c := range op.Claims {
			if c.Value != annotary.Unknown {
				head := fmt.Sprintf("  %-12s %-5s %4.0f %%  ", c.Hint, c.Value, 100*c.Confidence)
				out.WriteString(wrapped(head, lint.Printable(c.Why)))
			}
		}
		if names := unknownHints(&op.Claims); names != "" {
			out.WriteString(wrapped("  unknown      ", names))
		}
		for _, f := range op.Flags {
			out.WriteString(wrapped("  LOOK         ", lint.Printable(f.Why)))
		}
		if len(op.Flags) > 0 {
			flagged++
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "%d operations, %d to look at\n", len(operations), flagged)
	_, err := io.WriteString(w, out.String())
	return err
}

func unknownHints(claims *derive.Claims) string {
	var names []string
	for _, c := range claims {
		if c.Value == annotary.Unknown {
			names = append(names, c.Hint.String())
		}
	}
	return strings.Join(names, ", ")
}

// wrapped puts a text behind a head, broken into lines that fit the terminal.
func wrapped(head, text string) string {
	var out strings.Builder
	line := head
	for w := range strings.FieldsSeq(text) {
		if len(line) > len(head) && len([]rune(line))+len([]rune(w)) > tableWidth {
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", len(head))
		}
		line += w + " "
	}
	return out.String() + strings.TrimRight(line, " ") + "\n"
}
