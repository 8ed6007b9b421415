package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/internal/wire"
)

type serveOptions struct {
	streams *Streams
	listen  string
	servers []string
}

func newServeCmd(s *Streams) *cobra.Command {
	o := &serveOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: groupRun,
		Short:   "Run the gateway in front of MCP servers",
		Long: "Run the gateway: MCP over streamable HTTP, one address for each server,\n" +
			"http://LISTEN/mcp/s/NAME. What clients and servers say passes unchanged.",
		Example: "  annotary serve --server files=http://127.0.0.1:9000/mcp\n" +
			"  annotary serve --listen 127.0.0.1:8000 --server 'fs=npx -y @modelcontextprotocol/server-filesystem /tmp'",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:7337", "address to listen on")
	cmd.Flags().StringArrayVar(&o.servers, "server", nil, "a server, as NAME=URL or NAME=COMMAND ARGS")
	return cmd
}

func runServe(ctx context.Context, o *serveOptions) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(o.streams.Err, nil))
	servers, err := parseServers(o.servers, log)
	if err != nil {
		return err
	}
	g := gateway.New(servers...)
	defer g.Replace()
	h := wire.New(g, wire.Options{Log: log})
	defer h.Close()
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return annotary.E(annotary.CodeConnect, "cannot listen on "+o.listen, err).WithHint("is a gateway running already?")
	}
	for _, s := range servers {
		fmt.Fprintf(o.streams.Out, "http://%s/mcp/s/%s\n", l.Addr(), s.Name)
	}
	server := h.Server()
	context.AfterFunc(ctx, func() { _ = wire.Shutdown(server, 5*time.Second) })
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// parseServers reads servers given on the command line.
func parseServers(given []string, log *slog.Logger) ([]*upstream.Server, error) {
	var servers []*upstream.Server
	for _, text := range given {
		name, how, ok := strings.Cut(text, "=")
		if !ok || name == "" || how == "" {
			return nil, annotary.E(annotary.CodeUsage, fmt.Sprintf("%q is not NAME=URL or NAME=COMMAND", text), nil)
		}
		t := upstream.Target{Name: name}
		if strings.HasPrefix(how, "http://") || strings.HasPrefix(how, "https://") {
			t.URL = how
		} else {
			words := strings.Fields(how)
			t.Command, t.Args = words[0], words[1:]
		}
		s, err := upstream.New(t, upstream.ServerOptions{Log: log})
		if err != nil {
			return nil, annotary.E(annotary.CodeUsage, err.Error(), err)
		}
		servers = append(servers, s)
	}
	return servers, nil
}
