package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/clients"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/lint"
)

// targetHelp says in a command's help what a target is.
const targetHelp = "TARGET is a saved tools/list answer (a file, - for standard input) or the URL\n" +
	"of a server; after -- stands the command that starts one. No tool is called."

// A target is where a list of tools comes from: a file, a URL or a command.
type target struct {
	file    string
	url     string
	header  map[string]string // sent to the URL
	command []string
}

// targetFlags adds the flags that say how targets are reached.
func targetFlags(cmd *cobra.Command) {
	cmd.Flags().StringArray("header", nil, "send NAME: VALUE to a URL; ${VAR} in it is taken from the environment")
}

// parseHeaders reads --header. Secrets come by way of the environment, since
// everybody on the machine can read a command line.
func parseHeaders(cmd *cobra.Command) (map[string]string, error) {
	lines, err := cmd.Flags().GetStringArray("header")
	if err != nil {
		return nil, err
	}
	header := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usageError(cmd, fmt.Errorf("--header wants NAME: VALUE"))
		}
		header[strings.TrimSpace(name)] = os.ExpandEnv(strings.TrimSpace(value))
	}
	return header, nil
}

// oneTarget reads the arguments of a command that looks at one server.
func oneTarget(cmd *cobra.Command, args []string) (target, error) {
	targets, err := manyTargets(cmd, args)
	if err != nil {
		return target{}, err
	}
	if len(targets) != 1 {
		return target{}, usageError(cmd, fmt.Errorf("give one target, not %d", len(targets)))
	}
	return targets[0], nil
}

// manyTargets reads the arguments of a command that looks at several.
func manyTargets(cmd *cobra.Command, args []string) ([]target, error) {
	return targetsAfter(cmd, args, 0)
}

// targetsAfter reads the targets behind the first n arguments.
func targetsAfter(cmd *cobra.Command, args []string, n int) ([]target, error) {
	args = args[n:]
	var command []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, command = args[:dash-n], args[dash-n:]
		if len(command) == 0 {
			return nil, usageError(cmd, fmt.Errorf("no command after --"))
		}
	}
	header, err := parseHeaders(cmd)
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, arg := range args {
		if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
			targets = append(targets, target{url: arg, header: header})
		} else {
			targets = append(targets, target{file: arg})
		}
	}
	if command != nil {
		targets = append(targets, target{command: command})
	}
	if len(targets) == 0 {
		return nil, usageError(cmd, fmt.Errorf("no target given"))
	}
	return targets, nil
}

// A listing is the tools of one target, and where they came from.
type listing struct {
	server string // a name for it
	tools  []annotary.Tool
	source lint.Source
}

// load reads the tools. What a server warns of goes to standard error.
func (t target) load(ctx context.Context, s *Streams) (listing, error) {
	if t.file != "" {
		return t.loadFile(s)
	}
	up := upstream.Target{URL: t.url, Header: t.header}
	if t.command != nil {
		// Whoever types a command expects it to run as it would without us.
		up = upstream.Target{Command: t.command[0], Args: t.command[1:], Env: environment()}
	}
	got, err := upstream.List(ctx, up, upstream.Options{})
	if err != nil {
		return listing{}, err
	}
	for _, warning := range got.Warnings {
		fmt.Fprintf(s.Err, "annotary: %s\n", lint.Printable(warning))
	}
	return listing{t.serverName(got.Server.Name), got.Tools, lint.Live(t.String())}, nil
}

// environment is ours, for a command that we start in a person's name.
func environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

func (t target) loadFile(s *Streams) (listing, error) {
	raw, err := readInput(s, t.file)
	if err != nil {
		return listing{}, err
	}
	tools, err := annotary.ParseTools(raw)
	if err != nil {
		return listing{}, err
	}
	return listing{t.serverName(""), tools, lint.File(t.String(), raw, tools)}, nil
}

// String names the target for people. It is in reports that others read, so that
// what looks like a secret is left out.
func (t target) String() string {
	switch {
	case t.file == "-":
		return "standard input"
	case t.file != "":
		return t.file
	case t.url != "":
		return rpc.Address(t.url)
	default:
		return (&clients.Server{Transport: clients.Stdio, Command: t.command[0], Args: t.command[1:]}).Line()
	}
}

// serverName is what we call the server: what it calls itself, else what it
// was reached by.
func (t target) serverName(itself string) string {
	if itself != "" {
		return itself
	}
	if u, err := url.Parse(t.url); err == nil && u.Host != "" {
		return u.Host
	}
	base := filepath.Base(t.file)
	if t.command != nil {
		base = filepath.Base(t.command[0])
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}
