package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/wire"
)

type serveOptions struct {
	streams *Streams
	config  string
	listen  string
	reads   bool
	json    bool
	// background is how annotary stdio starts it: no HTTP, and an end when
	// nobody has used it for a while.
	background bool
}

func newServeCmd(s *Streams) *cobra.Command {
	o := &serveOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: groupRun,
		Short:   "Run the gateway in front of MCP servers",
		Long: "Run the gateway: MCP over streamable HTTP, one address for each server of the\n" +
			"configuration, http://LISTEN/mcp/s/NAME. Every call is judged and recorded before\n" +
			"it is forwarded, by the preset careful unless the configuration says otherwise;\n" +
			"with 'preset: off' and no policies what clients and servers say passes unchanged.\n" +
			"The addresses are printed once the gateway listens. SIGHUP reads the configuration\n" +
			"again; SIGINT and SIGTERM end the gateway.",
		Example: "  annotary serve --config annotary.yaml\n" +
			"  annotary serve --config annotary.yaml --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.config, "config", "", "annotary.yaml, or a client's file with mcpServers (default: annotary.yaml here or in your configuration folder)")
	cmd.Flags().StringVar(&o.listen, "listen", "", "address to listen on instead of the configured one")
	cmd.Flags().BoolVar(&o.reads, "read-only", false, "let only those reads pass that somebody you rely on vouches for")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the addresses as JSON")
	cmd.Flags().BoolVar(&o.background, "background", false, "")
	_ = cmd.Flags().MarkHidden("background")
	return cmd
}

func runServe(ctx context.Context, o *serveOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	d, err := newDaemon(o.config, o.reads, newLog(o.streams.Err))
	if err != nil {
		return err
	}
	defer d.close()
	d.sayWalls()
	d.tellHook(ctx)
	go d.reloadOn(ctx, hangups(ctx))
	go d.heedWords(ctx)
	if o.background {
		return d.serveInBackground(ctx)
	}
	if err := d.serveLocally(ctx); err != nil {
		return err
	}
	address := d.config().Listen
	if o.listen != "" {
		address = o.listen
	}
	l, err := d.listen(address)
	if err != nil {
		return err
	}
	if err := d.serveFleet(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := d.printAddresses(o); err != nil {
		return err
	}
	go d.survey(ctx)
	return d.serve(ctx, l)
}

// hangups delivers a value for each SIGHUP.
func hangups(ctx context.Context) <-chan os.Signal {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(ch) })
	return ch
}

func (d *daemon) printAddresses(o *serveOptions) error {
	names := slices.Sorted(maps.Keys(d.gateway.Servers()))
	base := baseURL(d.config(), d.at)
	if o.json {
		list := make([]map[string]string, len(names))
		for i, name := range names {
			list[i] = map[string]string{"server": name, "url": serverURL(base, name)}
		}
		out := map[string]any{"servers": list}
		if d.gateway.Judges() {
			out["find"] = findURL(base)
		}
		return printJSON(o.streams.Out, out)
	}
	if len(names) == 0 {
		fmt.Fprintln(o.streams.Err, "there is nothing to serve yet: name servers in", d.path)
	} else if d.gateway.Judges() {
		fmt.Fprintln(o.streams.Err, "the tools of all servers are found and called at", findURL(base))
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(o.streams.Out, serverURL(base, name)); err != nil {
			return err
		}
	}
	return nil
}

func serverURL(base, name string) string { return base + "/mcp/s/" + url.PathEscape(name) }

func findURL(base string) string { return base + "/mcp/find" }

// serve answers requests until the context ends.
func (d *daemon) serve(ctx context.Context, l net.Listener) error {
	server := d.handler.Server()
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = wire.Shutdown(server, d.config().Timeouts.Shutdown.D()) // what is left is cut off
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return annotary.E(annotary.CodeInternal, "the gateway stopped listening", err).
			WithHint("the log above says why")
	}
	<-ended
	return nil
}
