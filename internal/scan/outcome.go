package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"unicode"

	"github.com/annotary/annotary/internal/clients"
	"github.com/annotary/annotary/internal/upstream"
)

// A Status says how far a scan came with a server.
type Status string

// The statuses.
const (
	Listed     Status = "listed"      // its tools are known
	Login      Status = "login"       // it wants a login first
	Failed     Status = "failed"      // it did not list its tools
	NotStarted Status = "not-started" // a project brings it along
	Disabled   Status = "disabled"    // the user switched it off
	Incomplete Status = "incomplete"  // its entry refers to what is not set here
)

// An Outcome is what became of one server. Problem and Hint are empty if it was
// listed.
type Outcome struct {
	Status  Status `json:"status"`
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// incomplete says what an entry lacks.
func incomplete(s *clients.Server) *Outcome {
	o := &Outcome{Status: Incomplete}
	name := s.Launch.Missing[0]
	switch {
	case strings.HasPrefix(name, "input:"):
		o.Problem = fmt.Sprintf("%s asks for %q when it starts it", s.Client.Name(), strings.TrimPrefix(name, "input:"))
		o.Hint = "only " + s.Client.Name() + " can start it"
	case name == "workspaceFolder" || name == "workspaceFolderBasename":
		o.Problem = "it starts in a project"
		o.Hint = "run annotary scan in that project"
	case strings.ContainsAny(name, `/\`):
		o.Problem, o.Hint = "its file of variables cannot be read: "+name, "correct the entry in "+s.File
	default:
		o.Problem = "it needs " + strings.Join(s.Launch.Missing, ", ") + ", which is not set here"
		o.Hint = "set it and scan again: export " + name + "=…"
	}
	return o
}

// failed explains why a server was not listed, in one line with a hint.
func failed(s *clients.Server, l upstream.Listing, err error, opts Options) Outcome {
	o := Outcome{Status: Failed}
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, upstream.ErrLogin):
		o.Status = Login
		o.Problem, o.Hint = "it wants a login", "log in through "+s.Client.Name()+"; scan has no login of its own"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		o.Problem = "there is no command " + s.Launch.Command
		o.Hint = "install it, or correct the entry in " + s.File
	case errors.Is(err, fs.ErrPermission):
		o.Problem, o.Hint = s.Launch.Command+" may not be executed", "chmod +x it, or correct the entry in "+s.File
	case errors.Is(err, context.DeadlineExceeded):
		o.Problem = fmt.Sprintf("no answer within %s", opts.Timeout)
		o.Hint = "a first start may download: try --timeout 60s"
	case errors.Is(err, context.Canceled):
		o.Problem = "the scan was interrupted"
	case errors.Is(err, syscall.ECONNREFUSED):
		o.Problem, o.Hint = "nobody listens at "+s.Line(), "start it, or remove the entry from "+s.File
	case exited:
		o.Problem, o.Hint = "it stopped: "+exit.String(), "run it by hand, see its entry in "+s.File
	default:
		o.Problem, o.Hint = cause(err), "is it an MCP server? see its entry in "+s.File
	}
	if o.Status == Failed {
		o.Problem += lastWords(l)
	}
	o.Problem, o.Hint = clean(o.Problem, &s.Launch), clean(o.Hint, &s.Launch)
	return o
}

// lastWords is what a server that failed had to say: the last line of its
// standard error, else what was odd about its answers.
func lastWords(l upstream.Listing) string {
	if said := lastLine(l.Stderr); said != "" {
		return "; it says: " + said
	}
	if len(l.Warnings) > 0 {
		return "; " + l.Warnings[0]
	}
	return ""
}

// cause returns the innermost sentence of upstream's error: the outer one
// repeats the name that stands beside it anyway.
func cause(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// lastLine returns the last line with anything in it.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// maxText bounds what a server makes us print.
const maxText = 200

// clean makes text that came from a server fit to print: one line, no secrets
// of its entry, nothing that draws on a terminal.
func clean(text string, l *clients.Launch) string {
	for _, secret := range l.Secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return text
}
