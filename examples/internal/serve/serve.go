// Package serve runs an example server: on standard input and output, the way
// a client starts it, or with -http on a port.
package serve

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/annotary/annotary/tool"
)

// Main serves until the client hangs up or the process is interrupted. HTTP
// requests go to h.
func Main(s *tool.Server, h http.Handler) {
	addr := flag.String("http", "", "serve HTTP on this address, such as 127.0.0.1:8080")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *addr == "" {
		err = s.Stdio(ctx)
	} else {
		err = listen(ctx, *addr, h)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		slog.Error("stopped", "error", err)
		os.Exit(1)
	}
}

func listen(ctx context.Context, addr string, h http.Handler) error {
	srv := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
