package cli

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
)

type approvalsOpenOptions struct {
	streams *Streams
	config  string
	id      string
	print   bool
	json    bool
}

func newApprovalsOpenCmd(s *Streams) *cobra.Command {
	o := &approvalsOpenOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "open [ID]",
		Short: "Open the approval page in your browser, signed in",
		Long: "Open the page on which questions are answered, for one question or for all that\n" +
			"wait. Your browser is signed in by a link that is good once and for a minute; it\n" +
			"reaches the browser through a file in the data folder, so that it shows up\n" +
			"nowhere else. On a machine without a browser, --print writes the link to your\n" +
			"terminal; forward the page's port to where the browser is.",
		Example: "  annotary approvals open\n" +
			"  annotary approvals open --print",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.id = args[0]
			}
			return runApprovalsOpen(cmd.Context(), o)
		},
	}
	configFlag(cmd, &o.config)
	cmd.Flags().BoolVar(&o.print, "print", false, "write the link to the terminal and open nothing")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON; the link that signs in is not in it")
	return cmd
}

func runApprovalsOpen(ctx context.Context, o *approvalsOpenOptions) error {
	operator, err := operatorOf(o.config)
	if err != nil {
		return err
	}
	defer operator.Close()
	answer, err := operator.Login(ctx, o.id)
	if err != nil {
		return err
	}
	if o.print {
		err = printToTerminal(answer.Link)
	} else {
		err = o.openInBrowser(ctx, answer.Link)
	}
	switch {
	case err != nil:
		return err
	case o.json:
		return printJSON(o.streams.Out, map[string]any{"page": answer.Page, "opened": !o.print})
	case o.print:
		return nil
	}
	_, err = fmt.Fprintln(o.streams.Out, "opened "+answer.Page)
	return err
}

// printToTerminal writes to the person's terminal and nowhere else: what standard
// output is connected to may be a log, or an agent.
func printToTerminal(link string) error {
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return annotary.E(annotary.CodeUsage, "the link is only written to a terminal, and there is none", err).
			WithHint("run it in a terminal")
	}
	defer tty.Close()
	_, err = fmt.Fprintln(tty, link)
	return err
}

// openFile leads a browser to the link. The link itself is on no command line,
// which every process could read.
const openFile = "open.html"

var openPage = template.Must(template.New("").Parse(`<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>Annotary</title><p><a href="{{.}}">Sign in</a>
`))

func (o *approvalsOpenOptions) openInBrowser(ctx context.Context, link string) error {
	cfg, err := loadData(o.config)
	if err != nil {
		return err
	}
	home, err := openHome(cfg)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := openPage.Execute(&text, link); err != nil {
		return err
	}
	if err := os.WriteFile(home.path(openFile), []byte(text.String()), 0o600); err != nil {
		return err
	}
	name, args := browserCommand(runtime.GOOS)
	cmd := exec.CommandContext(ctx, name, append(args, "file://"+home.path(openFile))...)
	cmd.Stderr = o.streams.Err
	if err := cmd.Run(); err != nil {
		hint := "'annotary approvals open --print' writes the link to your terminal"
		if errors.Is(err, exec.ErrNotFound) {
			return annotary.E(annotary.CodeUsage, "this machine has no "+name+" to open a browser with", err).WithHint(hint)
		}
		return annotary.E(annotary.CodeUsage, "the browser could not be opened", err).WithHint(hint)
	}
	return nil
}

// browserCommand is what opens a file in the person's browser.
func browserCommand(goos string) (name string, args []string) {
	switch goos {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	default:
		return "xdg-open", nil
	}
}
