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
	streams   *Streams
	file      string
	overrides string
	format    string
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
			"response, or lines of definitions; - is standard input.\n\n" +
			"FILE may also be an OpenAPI 3 or Swagger 2 document in YAML or JSON: then there is\n" +
			"a tool for each operation, and --overrides has the last word about its hints.",
		Example: "  annotary derive tools.json\n" +
			"  annotary derive --format json - < tools.json\n" +
			"  annotary derive openapi.yaml --overrides overrides.yaml",
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
	cmd.Flags().StringVar(&o.overrides, "overrides", "", "what you say about the operations of an OpenAPI document")
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
	if isOpenAPI(o.file, raw) {
		return runDeriveOpenAPI(o, raw)
	}
	if o.overrides != "" {
		return annotary.E(annotary.CodeUsage, "--overrides goes with an OpenAPI document", nil).WithHint("see 'annotary derive --help'")
	}
	derived, err := deriveTools(raw)
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
		return nil, cannotRead(file, err).
			WithHint("save what tools/list answers to a file, or give - for standard input")
	}
	return raw, nil
}

// derivedTool is one tool and what was derived for it.
type derivedTool struct {
	name   string
	claims derive.Claims
}

// deriveTools derives from a saved list of tools.
func deriveTools(raw []byte) ([]derivedTool, error) {
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

// derivedJSON is one tool as the JSON contract of this command has it. The
// last two are there for operations of an OpenAPI document only.
type derivedJSON struct {
	Name      string        `json:"name"`
	Hints     derivedHints  `json:"hints"`
	Operation string        `json:"operation,omitempty"`
	Flags     []derive.Flag `json:"flags,omitzero"`
}

// derivedHints are the eight hints in the order they are known in.
type derivedHints struct {
	ReadOnly    derivedHint `json:"readOnly"`
	Destructive derivedHint `json:"destructive"`
	Idempotent  derivedHint `json:"idempotent"`
	OpenWorld   derivedHint `json:"openWorld"`
	Sensitive   derivedHint `json:"sensitive"`
	Untrusted   derivedHint `json:"untrusted"`
	Egress      derivedHint `json:"egress"`
	Reversible  derivedHint `json:"reversible"`
}

func newDerivedJSON(name string, claims *derive.Claims) derivedJSON {
	of := func(n annotary.HintName) derivedHint {
		return derivedHint{claims[n].Value, claims[n].Confidence, claims[n].Why}
	}
	return derivedJSON{Name: name, Hints: derivedHints{
		ReadOnly:    of(annotary.ReadOnly),
		Destructive: of(annotary.Destructive),
		Idempotent:  of(annotary.Idempotent),
		OpenWorld:   of(annotary.OpenWorld),
		Sensitive:   of(annotary.Sensitive),
		Untrusted:   of(annotary.Untrusted),
		Egress:      of(annotary.Egress),
		Reversible:  of(annotary.Reversible),
	}}
}

func printDerivedJSON(w io.Writer, derived []derivedTool) error {
	tools := make([]derivedJSON, len(derived))
	for i, d := range derived {
		tools[i] = newDerivedJSON(d.name, &d.claims)
	}
	return printJSON(w, map[string]any{"tools": tools})
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
