package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// newHelpCmd is 'annotary help', which refuses what is not a command.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Say how a command is used",
		Example: "  annotary help scan\n  annotary help approvals approve",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, unknown, _ := cmd.Root().Find(args)
			if err := knownCommand(about, unknown); err != nil {
				return err
			}
			return about.Help()
		},
	}
}

// fitHelp keeps the help of every command within the width of a terminal.
func fitHelp(root *cobra.Command) {
	usage := root.UsageTemplate()
	root.SetUsageTemplate(strings.ReplaceAll(usage, "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", tableWidth)))
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.Long = reflow(c.Long)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// reflow fills paragraphs anew. What begins with a space is set as it is.
func reflow(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			paragraphs[i] = fillLines(p, tableWidth)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// fillLines breaks text at spaces into lines of at most width columns.
func fillLines(text string, width int) string {
	var out strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			out.WriteByte('\n')
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}
