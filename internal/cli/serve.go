package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/confine"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/notary"
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

// serveLocally makes this the gateway that annotary stdio and the commands of
// the operator find, unless another one is.
func (d *daemon) serveLocally(ctx context.Context) error {
	pipes, err := d.listenLocally(ctx, 0)
	if errors.Is(err, errTaken) {
		d.log.Warn("pipes of annotary stdio and commands go to the other gateway that is running", "data", d.config().Data)
		return nil
	}
	if err != nil {
		return err
	}
	go func() {
		if err := d.handler.ServePipes(ctx, pipes); err != nil {
			d.log.Error("the gateway no longer takes pipes", "error", err)
		}
	}()
	return nil
}

// listenLocally listens in the data folder until the context ends, and answers
// the operator.
func (d *daemon) listenLocally(ctx context.Context, patience time.Duration) (net.Listener, error) {
	home, err := openHome(d.config())
	if err != nil {
		return nil, err
	}
	pipes, operator, err := home.listen(patience)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = pipes.Close() })
	options := d.operatorOptions()
	if options.Token, err = home.newToken(); err != nil {
		return nil, errors.Join(err, pipes.Close(), operator.Close())
	}
	go func() {
		if err := api.Serve(ctx, operator, options); err != nil {
			d.log.Error("the gateway no longer answers commands", "error", err)
		}
	}()
	return pipes, nil
}

// operatorOptions are what the operator's channel reaches.
func (d *daemon) operatorOptions() api.Options {
	return api.Options{
		Gateway: d.gateway, Reload: d.reload, Version: version(), Config: d.path,
		Confined: string(d.walls.By), Login: d.front.login,
		Log: func() api.Log {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.ledger == nil {
				return nil
			}
			return d.ledger.log
		},
		State: d.stateHealth,
		Audit: d.auditHealth,
		Sealer: func() *notary.Sealer {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.ledger == nil || d.ledger.keeper == nil {
				return nil
			}
			return d.ledger.keeper.sealer
		},
		Words: d, Backup: d.Backup,
	}
}

// stateHealth says how the store is doing, nil while there is none.
func (d *daemon) stateHealth() *api.StateHealth {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ledger == nil {
		return nil
	}
	h := d.ledger.engine.Health()
	deaf := !h.Lost && d.ledger.words != nil && d.ledger.words.Lost()
	out := &api.StateHealth{
		Embedded: h.Embedded, Where: h.Where, Version: h.Version, Replicas: h.Replicas,
		Lost: h.Lost || deaf, Deaf: deaf, Heard: h.Heard.UTC(), Problem: h.Problem, Unwritten: h.Unwritten,
	}
	if t := d.ledger.labels.Forgot(); !t.IsZero() {
		out.Forgot = &t
	}
	return out
}

// serveInBackground serves pipes only, for as long as somebody has one open. A
// second gateway that finds a first has nothing to do.
func (d *daemon) serveInBackground(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := d.listenLocally(ctx, startWithin/2)
	if errors.Is(err, errTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	go func() {
		d.awaitUnused(ctx)
		cancel()
	}()
	return d.handler.ServePipes(ctx, &freshListener{Listener: l, daemon: d})
}

// freshListener has a changed configuration read before a pipe is served:
// nobody else tells a gateway in the background that a server was added.
type freshListener struct {
	net.Listener
	daemon *daemon
	seen   time.Time // the time of the configuration that was read last
}

// Accept waits for the next pipe.
func (l *freshListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(l.daemon.path)
	if err == nil && !info.ModTime().Equal(l.seen) {
		l.seen = info.ModTime()
		if err := l.daemon.reload(); err != nil {
			l.daemon.log.Warn("the changed configuration cannot be used; the old one holds", "file", l.daemon.path, "error", err)
		}
	}
	return conn, nil
}

// awaitUnused returns when no pipe has been open for a while.
func (d *daemon) awaitUnused(ctx context.Context) {
	for used := time.Now(); time.Since(used) < d.config().Timeouts.Unused.D(); {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		if d.handler.Pipes() > 0 {
			used = time.Now()
		}
	}
}

// hangups delivers a value for each SIGHUP.
func hangups(ctx context.Context) <-chan os.Signal {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(ch) })
	return ch
}

// daemon is a running gateway and the configuration it was made from.
type daemon struct {
	path    string
	reads   bool // only reads are served
	log     *slog.Logger
	gateway *gateway.Gateway
	handler *wire.Handler
	judged  *gateway.Judge // nil while calls are not judged
	ledger  *ledger        // nil while calls are not judged
	walls   *confine.Walls
	notices []*time.Timer // of the end of observing
	front   front
	said    chan struct{} // gets a value when the operator said something of a tool

	mu  sync.Mutex
	cfg *config.Config
	at  net.Addr // where MCP clients are served; nil if nowhere

	operatorAt net.Addr // where operators of other machines are; nil if nowhere
	operators  atomic.Pointer[identity.Identity]
}

func newDaemon(path string, reads bool, log *slog.Logger) (*daemon, error) {
	path, cfg, err := loadConfig(path)
	if err != nil {
		return nil, err
	}
	d := &daemon{path: path, reads: reads, log: log, cfg: cfg, gateway: gateway.New(), said: make(chan struct{}, 1)}
	if d.walls, err = raiseWalls(cfg); err != nil {
		return nil, err
	}
	servers, err := buildServers(cfg, nil, nil, d.walls, log)
	if err != nil {
		return nil, err
	}
	judge, err := d.judge(cfg)
	if err != nil {
		return nil, err
	}
	if err := d.keepLog(cfg, judge); err != nil {
		return nil, err
	}
	d.judged = judge
	d.gateway.Use(judge)
	d.gateway.Replace(servers...)
	d.handler = wire.New(d.gateway, wireOptions(cfg, log))
	return d, nil
}

func (d *daemon) config() *config.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg
}

// reload reads the configuration again. Servers whose configuration is the same
// go on as they are. If anything is wrong, everything stays as it was.
func (d *daemon) reload() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next, err := config.Load(d.path)
	if err != nil {
		return err
	}
	servers, err := buildServers(next, d.cfg, d.gateway.Servers(), d.walls, d.log)
	if err != nil {
		return err
	}
	judge, err := d.judge(next)
	if err != nil {
		return err
	}
	if err := mayListen(next, d.at); err != nil {
		return err
	}
	if err := d.inherit(judge, servers); err != nil {
		return err
	}
	if err := d.keepLog(next, judge); err != nil {
		return err
	}
	d.judged = judge
	d.gateway.Use(judge)
	d.gateway.Replace(servers...)
	d.handler.Trust(identityOf(next, d.at))
	if d.operatorAt != nil {
		d.operators.Store(operatorIdentity(next, d.operatorAt.String()))
	}
	d.cfg = next
	d.gateway.Announce(slices.Collect(maps.Keys(d.gateway.Servers()))...)
	return nil
}

// judge makes what judges calls by a configuration, nil if it wants none. The
// log is opened when it is first needed and stays open.
func (d *daemon) judge(c *config.Config) (*gateway.Judge, error) {
	if d.reads && !c.Judged() { // only what is judged is known to read
		c.Preset = annotary.DefaultPreset
	}
	if !c.Judged() {
		return nil, d.nothingStopped()
	}
	if d.ledger == nil {
		ledger, err := openLedger(context.Background(), c, d.log)
		if err != nil {
			return nil, err
		}
		if err := ledger.openSpool(c, d.log); err != nil {
			return nil, errors.Join(err, ledger.close())
		}
		if c.State.Shared() {
			if err := ledger.openWords(context.Background(), c, d.said); err != nil {
				return nil, errors.Join(err, ledger.close())
			}
		}
		d.ledger = ledger
	} else if c.State != d.cfg.State {
		return nil, annotary.E(annotary.CodeConfig, "the gateway keeps its state elsewhere while it runs", nil).
			WithHint("end the gateway and start it again to change state")
	}
	judge, err := buildJudge(c, d.path, d.ledger)
	if err != nil {
		return nil, err
	}
	if d.ledger.words != nil {
		heed(judge.Stances, c.Servers, d.ledger.words.Words())
	}
	judge.ReadOnly, judge.Ladder = d.reads, d.ledger.ladder(c)
	judge.Ladder.Link = d.front.link
	return judge, d.openPage(c)
}

// keepLog has the log kept, and the end of observing announced, as a configuration
// says that is taken over for good: an entry that is dropped does not come back.
func (d *daemon) keepLog(c *config.Config, judge *gateway.Judge) error {
	if judge == nil {
		return nil
	}
	if err := d.ledger.keep(c, d.log); err != nil {
		return err
	}
	d.announceObserve(judge.Observe)
	return nil
}

// nothingStopped refuses to judge no longer while a kill holds: nobody would
// enforce it.
func (d *daemon) nothingStopped() error {
	if d.ledger == nil || len(d.ledger.kills.List()) == 0 {
		return nil
	}
	return annotary.E(annotary.CodeConfig, "with preset: off and no policies nothing would stop what is killed", nil).
		WithHint("'annotary kill' lists what is stopped; lift it first")
}

func (d *daemon) reloadOn(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			if err := d.reload(); err != nil {
				d.log.Error("the configuration was not reloaded; the old one holds", "error", err)
			} else {
				d.log.Info("the configuration was reloaded")
			}
		}
	}
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

// close ends sessions and servers.
func (d *daemon) close() {
	d.front.close()
	d.handler.Close()
	d.gateway.Replace()
	d.gateway.Wait()
	if d.ledger != nil {
		if err := d.ledger.close(); err != nil {
			d.log.Error("the log was not closed cleanly", "error", err)
		}
	}
}
