package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/engine/control"
	"github.com/einmal/einmal/internal/engine/dispatch"
	"github.com/einmal/einmal/internal/engine/intake"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/engine/relay"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/engine/settle"
	"github.com/einmal/einmal/internal/engine/watch"
	"github.com/einmal/einmal/internal/ground/certs"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/mark"
)

// App is a gateway. It is started once and stopped once.
type App struct {
	cfg     Config
	log     *slog.Logger
	metrics *telemetry.Metrics
	node    ident.Node

	lock     *os.File
	mark     *mark.File
	markPath string
	fresh    bool   // the store is new
	why      string // traffic waits, as it was at the start
	store    store.Store
	hub      *watch.Hub
	identity *secret.Identity
	sealer   *secret.Sealer
	tenant   ident.Partition
	adminKey string

	lines      *lines
	dispatched *dispatch.Metrics
	intake     *intake.Metrics
	outbound   *outbound.Service
	sweeper    *dispatch.Sweeper
	news       *settle.Queue
	receipts   *receipt.Worker
	relay      *relay.Sequencer
	tell       tellers
	janitor    *janitor
	restore    *restore.Service
	control    *control.Watcher
	tenants    *tenants
	prices     *prices
	api        *api.API
	server     *http.Server
	listener   net.Listener
	certs      *certs.Server // nil: plain HTTP
	served     chan error
	ready      atomic.Bool
}

// New returns a gateway that does nothing until it is started.
func New(c Config, log *slog.Logger) *App {
	return &App{cfg: c, log: log, metrics: telemetry.NewMetrics(), node: ident.NewNode(), served: make(chan error, 1), lines: newLines()}
}

// Addr is where it listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// AdminKeyFile is where the admin key is; "": this node has none.
func (a *App) AdminKeyFile() string { return a.adminKey }

// Mark is the file that is kept beside the store.
func (a *App) Mark() string { return a.markPath }

// Held says why traffic waits since the start; "": it does not.
func (a *App) Held() string { return a.why }

// Simulated says that messages go to simulators alone.
func (a *App) Simulated() bool { return a.lines.allSimulated() }

// PolicyInForce names the policy under which this node decides, as far as it knows.
func (a *App) PolicyInForce() string { return a.outbound.PolicyInForce() }

// Failed receives the error of a server that ended by itself.
func (a *App) Failed() <-chan error { return a.served }

// Start brings everything up. After an error nothing is left running.
func (a *App) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		a.openFolder, a.openStore, a.buildFlows, a.declareLines, a.listen, a.startFlows,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, a.abandon())
		}
	}
	a.ready.Store(true)
	return nil
}

// startFlows starts from the inside out: who takes results before who makes them.
func (a *App) startFlows(ctx context.Context) error {
	if err := errors.Join(a.outbound.Start(ctx), a.control.Load(ctx)); err != nil {
		return err
	}
	background := context.WithoutCancel(ctx)
	a.hub.Start(background)
	a.relay.Start(background)
	a.tell.deliverer.Start(background)
	a.receipts.Start(background)
	a.sweeper.Start(background)
	a.janitor.start(background)
	a.restore.Start(background)
	if err := a.startLines(); err != nil {
		return errors.Join(err, a.stopFlows(ctx))
	}
	a.control.Start(background)
	if a.certs != nil {
		a.certs.Start(background)
	}
	go func() {
		if err := a.serve(); !errors.Is(err, http.ErrServerClosed) {
			a.served <- err
		}
	}()
	return nil
}

// Ready says what keeps the gateway from working.
func (a *App) Ready(ctx context.Context) error {
	if !a.ready.Load() {
		return fault.New(fault.Unavailable, "the gateway is starting or stopping").After(time.Second)
	}
	if a.store.Held() {
		return fault.New(fault.Unavailable, "the store went back in time: nothing is taken or sent until its operator has run  einmal restored").After(30 * time.Second)
	}
	if why := a.lines.troubled(); why != "" {
		return fault.New(fault.Unavailable, "no connection works on this node; the first one's trouble: %s", why).After(30 * time.Second)
	}
	return a.store.Ping(ctx)
}

// Stop ends in order: nobody new, then what was taken, then what was sent, then its outcomes. What cannot be
// finished before ctx ends is taken up at the next start. A gateway that did not start has ended already.
func (a *App) Stop(ctx context.Context) error {
	if !a.ready.Swap(false) {
		return nil
	}
	chaos.At(chaos.Shutdown)
	return errors.Join(a.stopServing(ctx), a.stopFlows(ctx), a.abandon())
}

// stopFlows ends the engines, those first who bring work to the others.
func (a *App) stopFlows(ctx context.Context) error {
	a.control.Stop()
	a.outbound.Close()
	err := errors.Join(a.stopLines(ctx), a.receipts.Stop(ctx))
	a.sweeper.Stop()
	a.janitor.stop()
	a.restore.Stop()
	a.relay.Stop()
	a.tell.deliverer.Stop(ctx)
	a.hub.Stop()
	return err
}

// stopServing lets requests under way end. One whose client is slow does not take the time of what was taken.
func (a *App) stopServing(ctx context.Context) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if a.certs != nil {
		a.certs.Stop()
	}
	a.api.Release()
	if err := a.server.Shutdown(ctx); err != nil {
		return a.server.Close()
	}
	return nil
}

// abandon closes what is open. Engines that were started must have ended.
func (a *App) abandon() error {
	var errs []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.news != nil {
		a.news.Close()
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.mark != nil {
		errs = append(errs, a.mark.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Close())
	}
	return errors.Join(errs...)
}
