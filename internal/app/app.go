package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/engine/control"
	"github.com/einmal/einmal/internal/engine/dispatch"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/engine/relay"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/engine/settle"
	"github.com/einmal/einmal/internal/engine/watch"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/mark"
	"github.com/einmal/einmal/internal/store/sqlstore"
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

	centre     *simulator.Server // nil: the connection is no simulator
	carrier    *smpp.Provider
	outbound   *outbound.Service
	dispatch   *dispatch.Dispatcher
	sweeper    *dispatch.Sweeper
	news       *settle.Queue
	receipts   *receipt.Worker
	relay      *relay.Sequencer
	janitor    *janitor
	restore    *restore.Service
	control    *control.Watcher
	api        *api.API
	server     *http.Server
	listener   net.Listener
	served     chan error
	ready      atomic.Bool
	simulated  bool
	connection numbered
}

// numbered is the connection with its immutable numbers.
type numbered struct {
	name      string
	id, space int64
	cfg       Connection
	reader    provider.Reader
}

// New returns a gateway that does nothing until it is started.
func New(c Config, log *slog.Logger) *App {
	return &App{cfg: c, log: log, metrics: telemetry.NewMetrics(), node: ident.NewNode(), served: make(chan error, 1)}
}

// Addr is where it listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// AdminKeyFile is where the first key is.
func (a *App) AdminKeyFile() string { return a.adminKey }

// Mark is the file that is kept beside the store.
func (a *App) Mark() string { return a.markPath }

// Held says why traffic waits since the start; "": it does not.
func (a *App) Held() string { return a.why }

// Simulated says that messages go to a simulator.
func (a *App) Simulated() bool { return a.simulated }

// PolicyInForce names the policy under which this node decides, as far as it knows.
func (a *App) PolicyInForce() string { return a.outbound.PolicyInForce() }

// Failed receives the error of a server that ended by itself.
func (a *App) Failed() <-chan error { return a.served }

// Start brings everything up. After an error nothing is left running.
func (a *App) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		a.openFolder, a.openStore, a.openConnection, a.buildFlows, a.listen, a.startFlows,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, a.abandon())
		}
	}
	a.ready.Store(true)
	return nil
}

func (a *App) openFolder(context.Context) (err error) {
	a.lock, err = lockFolder(a.cfg.Data)
	return err
}

func (a *App) openStore(ctx context.Context) (err error) {
	retries := a.metrics.Counter("store_retries_total", "Transactions that were made again, by the class of the error.", "class")
	count := func(c sqlstore.Class) { retries.WithLabelValues(c.String()).Inc() }
	if a.store, err = OpenStore(ctx, a.cfg, a.log, count); err != nil {
		return err
	}
	a.hub = watch.New(watch.Config{Store: a.store, Log: a.log})
	a.store = watch.Store{Store: a.store, Hub: a.hub}
	if err := a.openKeys(ctx); err != nil {
		return err
	}
	if err := checkSealing(ctx, a.store, a.sealer, keysFolder(a.cfg)); err != nil {
		return err
	}
	if a.tenant, err = a.store.EnsureTenant(ctx, "default"); err != nil {
		return err
	}
	a.adminKey, err = ensureAdminKey(ctx, a.store, a.identity, a.tenant, a.cfg.Data)
	return err
}

// firstKeys is noted before the keys of a new store are made: a first start that was killed is no store that is gone.
const firstKeys = "first_keys"

// openKeys opens the keys, makes those of a new store, and has the store watched.
func (a *App) openKeys(ctx context.Context) error {
	keys := keysFolder(a.cfg)
	if err := refuseLostKeys(ctx, a.store, keys); err != nil {
		return err
	}
	known, err := a.store.Meta(ctx, "identity_check")
	if a.fresh = known == ""; err == nil && a.fresh && len(secret.Missing(keys)) > 0 {
		_, err = a.store.EnsureMeta(ctx, firstKeys, "made")
	}
	if err != nil {
		return err
	}
	made, err := a.store.Meta(ctx, firstKeys)
	if err != nil {
		return err
	}
	folder, err := secret.OpenFolder(keys)
	if err != nil {
		return err
	}
	a.identity, a.sealer = secret.NewIdentity(folder.Identity), secret.NewSealer(folder.Sealing, a.store)
	return a.watch(ctx, a.fresh && made == "")
}

// refuseLostKeys keeps new keys from being made for a store that has its own somewhere else.
func refuseLostKeys(ctx context.Context, s store.Registry, keys string) error {
	known, err := s.Meta(ctx, "identity_check")
	if missing := secret.Missing(keys); err == nil && known != "" && len(missing) > 0 {
		err = fmt.Errorf("the store has its keys and %s does not hold %s: bring back the folder that belongs to this store, or for another node copy that of the first",
			keys, strings.Join(missing, " and "))
	}
	return err
}

// checkSealing refuses to work with another sealing key than the store's: nothing that is stored could be opened,
// and what waits to be sent could not be sent.
func checkSealing(ctx context.Context, s store.Registry, sealer *secret.Sealer, keys string) error {
	known, err := s.EnsureMeta(ctx, "sealing_check", sealer.Check())
	if err == nil && known != sealer.Check() {
		err = fmt.Errorf("the store was sealed under another key than %s: put that key back", filepath.Join(keys, secret.SealingFile))
	}
	return err
}

// listen takes the address before the flows start, so that a port that is in use is told at once.
func (a *App) listen(context.Context) (err error) {
	if a.listener, err = net.Listen("tcp", a.cfg.Listen.HTTP); err != nil {
		return fmt.Errorf("the address %s cannot be listened on: choose another with --listen (%w)", a.cfg.Listen.HTTP, err)
	}
	a.api = api.New(a.apiConfig())
	a.server = api.NewServer(a.api, a.log)
	return nil
}

// startFlows starts from the inside out: who takes results before who makes them.
func (a *App) startFlows(ctx context.Context) error {
	if err := errors.Join(a.outbound.Start(ctx), a.control.Load(ctx)); err != nil {
		return err
	}
	background := context.WithoutCancel(ctx)
	a.hub.Start(background)
	a.control.Start(background)
	a.relay.Start(background)
	a.receipts.Start(background)
	a.sweeper.Start(background)
	a.janitor.start(background)
	a.restore.Start(background)
	if err := a.carrier.Start(background, a.door()); err != nil {
		return err
	}
	a.dispatch.Start(background)
	go func() {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
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
	return a.store.Ping(ctx)
}

// Stop ends in order: nobody new, then what was taken, then what was sent, then its outcomes. What cannot be
// finished before ctx ends is taken up at the next start. A gateway that did not start has ended already.
func (a *App) Stop(ctx context.Context) error {
	if !a.ready.Swap(false) {
		return nil
	}
	chaos.At(chaos.Shutdown)
	err := a.stopServing(ctx)
	a.control.Stop()
	a.outbound.Close()
	err = errors.Join(err, a.dispatch.Stop(ctx), a.receipts.Stop(ctx))
	a.sweeper.Stop()
	a.janitor.stop()
	a.restore.Stop()
	a.relay.Stop()
	a.hub.Stop()
	return errors.Join(err, a.abandon())
}

// stopServing lets requests under way end. One whose client is slow does not take the time of what was taken.
func (a *App) stopServing(ctx context.Context) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
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
	if a.centre != nil {
		errs = append(errs, a.centre.Close())
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
