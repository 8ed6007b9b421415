package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/lint"
)

// embeddingsKey is the variable that holds the key of the embeddings endpoint; a
// flag would show it to everybody who lists processes.
const embeddingsKey = "ANNOTARY_EMBEDDINGS_KEY"

type findOptions struct {
	streams    *Streams
	targets    []target
	query      find.Query
	embeddings find.EmbeddingsOptions
	believe    bool
	json       bool
}

func newFindCmd(s *Streams) *cobra.Command {
	o := findOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "find QUESTION TARGET... | find QUESTION -- COMMAND [ARG...]",
		Short:   "Find the tools that fit a question, and say what was hidden",
		GroupID: groupLook,
		Long: "Find ranks tools by how well they fit a question in plain words or a name. Tools\n" +
			"are filtered before they are ranked; tools that do not fit are not listed. The\n" +
			"answer says what each filter hid. An empty question lists every tool that passes.\n\n" +
			"With --embeddings the best are ranked again with word vectors; the question and\n" +
			"the descriptions are then sent to that URL, with the key in " + embeddingsKey + ".\n\n" + targetHelp,
		Example: "  annotary find 'cancel an order' tools.json\n" +
			"  annotary find --believe --read-only 'orders of a customer' tools.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return usageError(cmd, fmt.Errorf("no question given"))
			}
			var err error
			if o.targets, err = targetsAfter(cmd, args, 1); err != nil {
				return err
			}
			o.query.Text = args[0]
			return runFind(cmd.Context(), o)
		},
	}
	targetFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.query.ReadOnly, "read-only", false, "only tools vouched to change nothing")
	f.BoolVar(&o.query.ExcludeDestructive, "exclude-destructive", false, "no tools that may delete or overwrite")
	f.IntVar(&o.query.Max, "max", 10, "at most this many tools; 0 is no limit")
	f.IntVar(&o.query.Budget, "budget", 0, "definitions of at most this many tokens, ≈ 4 bytes each; 0 is no limit")
	f.StringSliceVar(&o.query.Named, "named", nil, "keep these tools whatever the filters say")
	f.StringVar(&o.embeddings.URL, "embeddings", "", "rank again with vectors from this OpenAI-compatible URL")
	f.StringVar(&o.embeddings.Model, "model", "", "the model to ask that URL for")
	f.BoolVar(&o.believe, "believe", false, "take the servers at their word")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runFind(ctx context.Context, o findOptions) error {
	tools, err := loadEntries(ctx, o.streams, o.targets, o.believe)
	if err != nil {
		return err
	}
	index := find.New(tools)
	var answer find.Answer
	if o.embeddings.URL == "" {
		answer = index.Search(o.query)
	} else {
		o.embeddings.Key = os.Getenv(embeddingsKey)
		semantic := find.Semantic{Index: index, Embedder: find.NewEmbeddings(o.embeddings)}
		answer = semantic.Search(ctx, o.query)
	}
	if o.json {
		return printJSON(o.streams.Out, foundJSON(answer))
	}
	if err := printFound(o, answer); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "%d of %d tools\n", len(answer.Hits), len(tools))
	for _, h := range answer.Hidden {
		fmt.Fprintf(o.streams.Err, "%d hidden by %s (%s)\n", h.Count, h.Why, someNames(h))
	}
	for _, name := range answer.Unknown {
		fmt.Fprintf(o.streams.Err, "no tool is called %q\n", name)
	}
	if answer.Semantic != "" {
		fmt.Fprintf(o.streams.Err, "word vectors: %s\n", answer.Semantic)
	}
	return nil
}

// someNames names the best of what a filter hid.
func someNames(h find.Hidden) string {
	const shown = 3
	text := strings.Join(h.Names[:min(len(h.Names), shown)], ", ")
	if h.Count > shown {
		text += ", …"
	}
	return lint.Printable(text)
}

func printFound(o findOptions, a find.Answer) error {
	if len(a.Hits) == 0 {
		return nil
	}
	header := []string{"TOOL", "CLASS", "FOUND BY"}
	if len(o.targets) > 1 {
		header = append(header, "SERVER")
	}
	cells := make([][]string, len(a.Hits))
	for i, h := range a.Hits {
		by := cmp.Or(string(h.Kept), h.Match.String())
		if h.Kept == "" && h.Match == find.WordMatch {
			by = strings.Join(h.Words, " ")
		}
		cells[i] = []string{h.Tool.Name, h.Tool.Hints.Class().String(), by}
		if len(o.targets) > 1 {
			cells[i] = append(cells[i], h.Tool.Server)
		}
	}
	return writeTable(o.streams.Out, header, cells)
}

func foundJSON(a find.Answer) any {
	type hit struct {
		Server string   `json:"server"`
		Name   string   `json:"name"`
		Title  string   `json:"title,omitempty"`
		Class  string   `json:"class"`
		Open   bool     `json:"open"`
		Match  string   `json:"match"`
		Words  []string `json:"words,omitempty"`
		Score  float64  `json:"score"`
		Kept   string   `json:"kept,omitempty"`
	}
	hits := make([]hit, len(a.Hits))
	for i, h := range a.Hits {
		hits[i] = hit{
			h.Tool.Server, h.Tool.Name, h.Tool.Title, h.Tool.Hints.Class().String(), h.Tool.Hints.Open(),
			h.Match.String(), h.Words, h.Score, string(h.Kept),
		}
	}
	out := map[string]any{"hits": hits, "hidden": a.Hidden, "unknown": a.Unknown}
	if a.Hidden == nil {
		out["hidden"] = []find.Hidden{}
	}
	if a.Unknown == nil {
		out["unknown"] = []string{}
	}
	if a.Semantic != "" {
		out["semantic"] = a.Semantic
	}
	return out
}
