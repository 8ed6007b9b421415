package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

type deriveOptions struct {
	streams *Streams
	file    string
	format  string
}

func newDeriveCmd(s *Streams) *cobra.Command {
	o := deriveOptions{streams: s}
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "derive FILE",
		Short:   "Derive from definitions what tools do to the world",
		GroupID: groupLook,
		Long: "Derive reads a saved tools/list answer and says for each tool what it does to the\n" +
			"world, how sure that is, and why. It does not look at the tools' annotations and\n" +
			"calls nothing. FILE is {\"tools\":[…]}, an array of definitions, the whole JSON-RPC\n" +
			"response, or lines of definitions; - is standard input.",
		Example: "  annotary derive tools.json\n" +
			"  annotary derive --format json - < tools.json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			if asJSON {
				o.format = "json"
			}
			return runDerive(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.format, "format", "table", "how to print: table or json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	return cmd
}

func runDerive(_ context.Context, o deriveOptions) error {
	if o.format != "table" && o.format != "json" {
		return annotary.E(annotary.CodeUsage, fmt.Sprintf("unknown format %q", o.format), nil).WithHint("use table or json")
	}
	raw, err := readInput(o.streams, o.file)
	if err != nil {
		return err
	}
	derived, err := deriveDocument(raw)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return printDerivedJSON(o.streams.Out, derived)
	}
	return printDerivedTable(o.streams.Out, derived)
}

// readInput reads a named file, or standard input for "-".
func readInput(s *Streams, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(s.In)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "cannot read "+file, err).
			WithHint("save what tools/list answers to a file, or give - for standard input")
	}
	return raw, nil
}

// derivedTool is one tool and what was derived for it.
type derivedTool struct {
	name   string
	claims derive.Claims
}

// deriveDocument derives from whatever kind of document it was given.
func deriveDocument(raw []byte) ([]derivedTool, error) {
	tools, err := annotary.ParseTools(raw)
	if err != nil {
		return nil, err
	}
	derived := make([]derivedTool, len(tools))
	for i, claims := range derive.Tools(tools) {
		derived[i] = derivedTool{tools[i].Name, claims}
	}
	return derived, nil
}

// derivedHint is a claim as the JSON contract of this command has it.
type derivedHint struct {
	Value      annotary.Value `json:"value"`
	Confidence float64        `json:"confidence"`
	Why        string         `json:"why"`
}

func printDerivedJSON(w io.Writer, derived []derivedTool) error {
	type tool struct {
		Name  string                 `json:"name"`
		Hints map[string]derivedHint `json:"hints"`
	}
	out := struct {
		Tools []tool `json:"tools"`
	}{Tools: make([]tool, len(derived))}
	for i, d := range derived {
		out.Tools[i] = tool{d.name, map[string]derivedHint{}}
		for _, c := range d.claims {
			out.Tools[i].Hints[c.Hint.String()] = derivedHint{c.Value, c.Confidence, c.Why}
		}
	}
	return printJSON(w, out)
}

func printDerivedTable(w io.Writer, derived []derivedTool) error {
	rows := make([][]string, len(derived))
	for i, d := range derived {
		class, claim := derivedClass(&d.claims)
		rows[i] = []string{d.name, class, fmt.Sprintf("%.0f %%", 100*claim.Confidence), shortWhy(claim.Why)}
	}
	return writeTable(w, []string{"TOOL", "CLASS", "SURE", "WHY"}, rows)
}

// shortWhy keeps of a reason what fits a table; JSON has all of it.
func shortWhy(why string) string {
	why, _, _ = strings.Cut(strings.TrimPrefix(why, "its "), ", ")
	return why
}

// derivedClass puts a tool into a class, and returns the claim that put it there.
func derivedClass(c *derive.Claims) (string, annotary.Claim) {
	readOnly, destructive := c[annotary.ReadOnly], c[annotary.Destructive]
	switch {
	case readOnly.Value == annotary.Yes:
		return annotary.Read.String(), readOnly
	case destructive.Value == annotary.Yes:
		return annotary.Destroy.String(), destructive
	case readOnly.Value == annotary.No && destructive.Value == annotary.No:
		return annotary.Write.String(), readOnly
	default:
		return "unknown", readOnly
	}
}
