package cli

import (
	"cmp"
	"context"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/wire"
)

type stdioOptions struct {
	streams *Streams
	server  string
	find    bool
	config  string
	reads   bool
	json    bool
}

func newStdioCmd(s *Streams) *cobra.Command {
	o := &stdioOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "stdio",
		GroupID: groupRun,
		Short:   "Let a client that starts commands reach the gateway",
		Long: "Carry MCP between a client's pipe and the gateway. Write this command into a\n" +
			"client's configuration in place of the server's own. All pipes of a user share\n" +
			"one gateway; if none runs it is started in the background, and ends by itself\n" +
			"when it has had nothing to do for a while. Its log is gateway.log in the data\n" +
			"folder. Standard output carries the protocol and nothing else.\n\n" +
			"With --find the client gets a few tools in place of all: one that finds tools of\n" +
			"every server, and three that call what was found.",
		Example: "  annotary stdio --server notes\n" +
			"  annotary stdio --find --read-only",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.server == "" && !o.find:
				return usageError(cmd, errNoServer)
			case o.server != "" && o.find:
				return usageError(cmd, errTwoDoors)
			}
			return runStdio(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.server, "server", "", "name of the server in the configuration")
	cmd.Flags().BoolVar(&o.find, "find", false, "find and call the tools of all servers")
	cmd.Flags().StringVar(&o.config, "config", "", "annotary.yaml, or a client's file with mcpServers (default: annotary.yaml here or in your configuration folder)")
	cmd.Flags().BoolVar(&o.reads, "read-only", false, "let only those reads pass that somebody you rely on vouches for")
	cmd.Flags().BoolVar(&o.json, "json", false, "accepted; the protocol is JSON already")
	return cmd
}

func runStdio(ctx context.Context, o *stdioOptions) error {
	path, cfg, err := loadConfig(o.config)
	if err != nil {
		return err
	}
	if o.find {
		o.server = gateway.Find
	} else if s, ok := cfg.Servers[o.server]; !ok || s.Disabled {
		return annotary.E(annotary.CodeConfig, "the configuration has no server "+o.server, nil).
			WithHint(path + " has " + cmp.Or(strings.Join(slices.Sorted(maps.Keys(cfg.Servers)), ", "), "no servers"))
	}
	if o.reads && !cfg.Judged() {
		return annotary.E(annotary.CodeConfig, "this configuration judges nothing, so nobody vouches for a read", nil).
			WithHint("write 'preset: careful' into " + path)
	}
	dir, err := os.Getwd()
	if err != nil {
		return annotary.E(annotary.CodeInternal, "the working directory is gone", err).WithHint("start it from a folder that exists")
	}
	home, err := openHome(cfg)
	if err != nil {
		return err
	}
	pipe := &wire.Stdio{
		Dial:  func(ctx context.Context) (net.Conn, error) { return home.dialOrStart(ctx, path) },
		Hello: wire.Hello(o.server, dir, o.reads),
		In:    o.streams.In,
		Out:   o.streams.Out,
	}
	return pipe.Run(ctx)
}

// loadConfig reads the configuration at path, or the one found where no path is
// given, and returns where it was.
func loadConfig(path string) (string, *config.Config, error) { return loadBy(config.Load, path) }

func loadBy(load func(string) (*config.Config, error), path string) (string, *config.Config, error) {
	if path == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", nil, err
		}
		if path, err = config.Find(dir); err != nil {
			return "", nil, err
		}
	}
	cfg, err := load(path)
	return path, cfg, err
}
