package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/prompt"
)

type promptOptions struct {
	streams *Streams
	targets []target
	preset  string
	budget  int
	believe bool
	json    bool
}

func newPromptCmd(s *Streams) *cobra.Command {
	o := promptOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "prompt TARGET... | prompt -- COMMAND [ARG...]",
		Short:   "Write the safety section of a system prompt for these tools",
		GroupID: groupLook,
		Long: "Prompt writes the part of a system prompt that tells a model which tools only\n" +
			"read, which change something and which may destroy, and what to say and ask\n" +
			"before a call. The rules are those of a preset: relaxed, careful or strict.\n" +
			"What a server wrote is quoted, so that it cannot become an instruction.\n" +
			"A server's word is not believed unless you say --believe: where nobody vouches\n" +
			"for a safe value, the worst holds.\n\n" + targetHelp,
		Example: "  annotary prompt --believe tools.json\n" +
			"  annotary prompt --budget 1500 --preset strict tools.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.targets, err = manyTargets(cmd, args); err != nil {
				return err
			}
			return runPrompt(cmd.Context(), o)
		},
	}
	targetFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.preset, "preset", annotary.DefaultPreset, "the rules to write down: relaxed, careful or strict")
	f.IntVar(&o.budget, "budget", 0, "at most this many tokens, ≈ 4 bytes each; 0 is no limit")
	f.BoolVar(&o.believe, "believe", false, "take the servers at their word")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runPrompt(ctx context.Context, o promptOptions) error {
	rules, err := annotary.PresetRules(o.preset)
	if err != nil {
		return err
	}
	tools, err := loadEntries(ctx, o.streams, o.targets, o.believe)
	if err != nil {
		return err
	}
	section, err := prompt.Safety(tools, rules, prompt.Options{Budget: o.budget})
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{
			"text": section.Text, "tokens": section.Tokens, "cut": section.Cut, "left": section.Left,
		})
	}
	if _, err := io.WriteString(o.streams.Out, section.Text); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "≈ %d tokens; %d descriptions cut, %d tools left out\n", section.Tokens, section.Cut, section.Left)
	warnUnvouched(o.streams, tools, o.believe)
	return nil
}

// loadEntries loads the tools of all targets with what holds for each.
func loadEntries(ctx context.Context, s *Streams, targets []target, believe bool) ([]annotary.Entry, error) {
	var all []annotary.Entry
	for _, t := range targets {
		l, err := t.load(ctx, s)
		if err != nil {
			return nil, err
		}
		rows, err := toolRows(l, believe)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			r.Server = r.server
			all = append(all, r.Entry)
		}
	}
	return all, nil
}

// warnUnvouched says why harmless tools are treated as dangerous.
func warnUnvouched(s *Streams, tools []annotary.Entry, believed bool) {
	unvouched := 0
	for i := range tools {
		if tools[i].Hints[annotary.Destructive].From == annotary.FromDefault {
			unvouched++
		}
	}
	if unvouched == 0 {
		return
	}
	fmt.Fprintf(s.Err, "%d of %d tools count as destructive because nobody vouches for them\n", unvouched, len(tools))
	if !believed {
		fmt.Fprintln(s.Err, "hint: --believe takes the servers at their word")
	}
}
