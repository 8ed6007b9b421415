package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/derive"
)

type toolsOptions struct {
	streams *Streams
	targets []target
	where   []string
	sort    []string
	believe bool
	json    bool
	raw     bool
}

func newToolsCmd(s *Streams) *cobra.Command {
	o := toolsOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "tools TARGET... | tools -- COMMAND [ARG...]",
		Short:   "List tools: what they say, what holds, who vouches for it",
		GroupID: groupLook,
		Long: "Tools lists the tools of one or more servers. A hint is shown as the tool states\n" +
			"it (absent, null, false, true, or wrong where it is no boolean), then as it holds.\n" +
			"A server's word is not believed unless you say --believe: where nobody vouches\n" +
			"for a safe value, the worst holds.\n\n" + targetHelp + "\n\n" +
			"Keys of --where and --sort: name, server, class, open, vouched, and the hints\n" +
			"readOnly, destructive, idempotent, openWorld, sensitive, untrusted, egress,\n" +
			"reversible. A hint's name means what holds; declared.readOnly means what the\n" +
			"tool states, vouched.readOnly who vouches.",
		Example: "  annotary tools tools.json --where class=destructive\n" +
			"  annotary tools --believe --sort openWorld,name -- node server.js",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.targets, err = manyTargets(cmd, args); err != nil {
				return err
			}
			return runTools(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.where, "where", nil, "only tools for which KEY=VALUE holds; repeat to narrow")
	f.StringSliceVar(&o.sort, "sort", nil, "order by these keys; - before one turns it round")
	f.BoolVar(&o.believe, "believe", false, "take the servers at their word")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.BoolVar(&o.raw, "raw", false, "print the definitions as they were sent, to save them")
	targetFlags(cmd)
	return cmd
}

func runTools(ctx context.Context, o toolsOptions) error {
	filters, err := parseFilters(o.where)
	if err != nil {
		return err
	}
	order, err := parseOrder(o.sort)
	if err != nil {
		return err
	}
	var all []toolRow
	for _, t := range o.targets {
		l, err := t.load(ctx, o.streams)
		if err != nil {
			return err
		}
		rows, err := toolRows(l, o.believe)
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	shown := slices.DeleteFunc(slices.Clone(all), func(r toolRow) bool {
		return slices.ContainsFunc(filters, func(f toolFilter) bool { return !f.matches(&r) })
	})
	slices.SortStableFunc(shown, order)
	switch {
	case o.raw:
		return printRaw(o.streams.Out, shown)
	case o.json:
		return printToolsJSON(o.streams.Out, shown)
	}
	if err := writeTable(o.streams.Out, toolHeader(o), toolCells(o, shown)); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "%d of %d tools\n", len(shown), len(all))
	entries := make([]annotary.Entry, len(shown))
	for i := range shown {
		entries[i] = shown[i].Entry
	}
	warnUnvouched(o.streams, entries, o.believe)
	return nil
}

// A toolRow is one tool and what holds for it.
type toolRow struct {
	annotary.Entry
	server string
}

// toolRows resolves the hints of every tool of a server.
func toolRows(l listing, believe bool) ([]toolRow, error) {
	rows := make([]toolRow, len(l.tools))
	for i, claims := range derive.Tools(l.tools) {
		t := l.tools[i]
		res, err := annotary.Resolve(annotary.Known{Claims: append(t.Declared(), claims[:]...), Believed: believe})
		if err != nil {
			return nil, err
		}
		rows[i] = toolRow{annotary.Entry{Tool: t, Hints: res.Hints}, l.server}
	}
	return rows, nil
}

// declared is how a hint stands in the definition, in one word.
func (r *toolRow) declared(n annotary.HintName) string {
	if r.Stated[n] == annotary.StatedWrongType {
		return "wrong"
	}
	return r.Stated[n].String()
}

// vouchedBy is who stands behind what holds; of the dangerous value that holds
// because nobody said otherwise, nobody.
func (r *toolRow) vouchedBy(n annotary.HintName) string {
	if r.Hints[n].From == annotary.FromDefault {
		return "nobody"
	}
	return r.Hints[n].From.String()
}

// deciding is the hint that put the tool into its class.
func (r *toolRow) deciding() annotary.HintName {
	if r.Hints.Class() == annotary.Read {
		return annotary.ReadOnly
	}
	return annotary.Destructive
}

// shownHints are the hints that get a column: the two that make the class, or
// those the person asked about.
func shownHints(o toolsOptions) []annotary.HintName {
	var asked []annotary.HintName
	for _, key := range slices.Concat(o.where, o.sort) {
		key, _, _ = strings.Cut(strings.TrimPrefix(key, "-"), "=")
		_, name, dotted := strings.Cut(key, ".")
		if !dotted {
			name = key
		}
		if n, ok := annotary.ParseHintName(name); ok && !slices.Contains(asked, n) {
			asked = append(asked, n)
		}
	}
	if len(asked) == 0 {
		return []annotary.HintName{annotary.ReadOnly, annotary.Destructive}
	}
	return asked[:min(len(asked), 2)]
}

func toolHeader(o toolsOptions) []string {
	header := []string{"TOOL", "CLASS"}
	for _, n := range shownHints(o) {
		header = append(header, strings.ToUpper(n.String()))
	}
	if len(o.targets) > 1 {
		header = append(header, "SERVER")
	}
	return append(header, "VOUCHED BY")
}

func toolCells(o toolsOptions, rows []toolRow) [][]string {
	hints := shownHints(o)
	cells := make([][]string, len(rows))
	for i := range rows {
		r := &rows[i]
		cells[i] = []string{r.Name, r.Hints.Class().String()}
		for _, n := range hints {
			cells[i] = append(cells[i], r.declared(n)+" → "+r.Hints[n].Value.String())
		}
		if len(o.targets) > 1 {
			cells[i] = append(cells[i], r.server)
		}
		cells[i] = append(cells[i], r.vouchedBy(r.deciding()))
	}
	return cells
}

// printRaw prints the definitions as an answer of tools/list.
func printRaw(w io.Writer, rows []toolRow) error {
	tools := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		tools[i] = r.Raw
	}
	return printJSON(w, map[string]any{"tools": tools})
}

func printToolsJSON(w io.Writer, rows []toolRow) error {
	type hint struct {
		Declared  string         `json:"declared"`
		Value     annotary.Value `json:"value"`
		VouchedBy string         `json:"vouchedBy"`
		Why       string         `json:"why,omitempty"`
	}
	type tool struct {
		Server    string          `json:"server"`
		Name      string          `json:"name"`
		Title     string          `json:"title,omitempty"`
		Class     string          `json:"class"`
		Open      bool            `json:"open"`
		Model     bool            `json:"modelVisible"`
		VouchedBy string          `json:"vouchedBy"`
		Hints     map[string]hint `json:"hints"`
	}
	out := struct {
		Tools []tool `json:"tools"`
	}{make([]tool, len(rows))}
	for i := range rows {
		r := &rows[i]
		out.Tools[i] = tool{r.server, r.Name, r.Title, r.Hints.Class().String(), r.Hints.Open(), r.ModelVisible(),
			r.vouchedBy(r.deciding()), map[string]hint{}}
		for n := range annotary.HintName(annotary.NumHints) {
			out.Tools[i].Hints[n.String()] = hint{r.declared(n), r.Hints[n].Value, r.vouchedBy(n), r.Hints[n].Why}
		}
	}
	return printJSON(w, out)
}
