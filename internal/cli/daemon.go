package cli

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/confine"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/wire"
)

// A daemon is a running gateway and the configuration it was made from.
type daemon struct {
	path    string
	reads   bool // only reads are served
	log     *slog.Logger
	gateway *gateway.Gateway
	handler *wire.Handler
	walls   *confine.Walls
	front   front
	said    chan struct{} // gets a value when the operator said something of a tool
	// operators says who operators of other machines are.
	operators atomic.Pointer[identity.Identity]

	// changing is held by who makes what follows anew, one at a time, for as long
	// as it takes: servers may be asked for it. Who changes it holds mu as well, for
	// a moment; either is enough to read.
	changing   sync.Mutex
	mu         sync.Mutex
	cfg        *config.Config
	judged     *gateway.Judge // nil while calls are not judged
	ledger     *ledger        // nil until calls are judged
	notices    []*time.Timer  // of the end of observing
	at         net.Addr       // where MCP clients are served; nil if nowhere
	operatorAt net.Addr       // where operators of other machines are; nil if nowhere
	ended      bool           // nothing is put in service any more
}

// errEnded is said to a reload that meets the end of the gateway.
var errEnded = errors.New("the gateway is ending")

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
	d.changing.Lock()
	defer d.changing.Unlock()
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
	if err := d.inherit(judge, servers); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return errEnded
	}
	if err := mayListen(next, d.at); err != nil {
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

// judge makes what judges calls by a configuration, nil if it wants none.
func (d *daemon) judge(c *config.Config) (*gateway.Judge, error) {
	if d.reads && !c.Judged() { // only what is judged is known to read
		c.Preset = annotary.DefaultPreset
	}
	if !c.Judged() {
		return nil, d.nothingStopped()
	}
	if err := d.openLedger(c); err != nil {
		return nil, err
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

// openLedger opens the log and the state when they are first needed. They stay
// open, where they are.
func (d *daemon) openLedger(c *config.Config) error {
	if d.ledger != nil {
		if c.State != d.cfg.State {
			return annotary.E(annotary.CodeConfig, "the gateway keeps its state elsewhere while it runs", nil).
				WithHint("end the gateway and start it again to change state")
		}
		return nil
	}
	ledger, err := openLedger(context.Background(), c, d.log)
	if err != nil {
		return err
	}
	if err := ledger.openSpool(c, d.log); err != nil {
		return errors.Join(err, ledger.close())
	}
	if c.State.Shared() {
		if err := ledger.openWords(context.Background(), c, d.said); err != nil {
			return errors.Join(err, ledger.close())
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return errors.Join(errEnded, ledger.close())
	}
	d.ledger = ledger
	return nil
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

// close ends sessions and servers, for good: a reload under way does not put them
// back.
func (d *daemon) close() {
	d.mu.Lock()
	d.ended = true
	ledger := d.ledger
	d.mu.Unlock()
	d.front.close()
	d.handler.Close()
	d.gateway.Replace()
	d.gateway.Wait()
	if ledger != nil {
		if err := ledger.close(); err != nil {
			d.log.Error("the log was not closed cleanly", "error", err)
		}
	}
}
