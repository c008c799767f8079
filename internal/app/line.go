package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/dispatch"
	"github.com/einmal/einmal/internal/engine/intake"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/binds"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
	"github.com/einmal/einmal/internal/store"
)

// line is a connection as this node knows it: its immutable numbers and its settings. They are not changed; other
// settings make another line in its place, also of one that was disabled or removed, whose receipts may still come.
type line struct {
	name      string
	id, space int64
	cfg       Connection
	reader    provider.Reader
	profile   evidence.Profile

	source   string // see the sources below
	enabled  bool
	removed  bool
	settings string // as they were given to the API
	changed  store.Changed
	keeper   *keeper

	run     atomic.Pointer[running] // nil: nothing leaves over it, and nothing comes
	problem atomic.Value            // string: why it does not run though it is enabled
}

// Where a connection's settings are.
const (
	fromFile    = "file"
	fromDefault = "default" // nobody has configured any
	fromAPI     = "api"
)

// running are both ends of a line at work.
type running struct {
	centre     *simulator.Server // nil: it is no simulator
	carrier    *binds.Provider
	addressing func(sender, destination string) (source, dest string) // how addresses are sent
	dispatch   *dispatch.Dispatcher
}

// declare numbers a connection.
func (a *App) declare(ctx context.Context, name string, cfg Connection) (*line, error) {
	l := &line{name: name, cfg: cfg, profile: cfg.profile(), enabled: true, keeper: a.newKeeper()}
	receipts, err := cfg.Receipts.settings()
	if err != nil {
		return nil, err
	}
	l.reader = smpp.Reader{Receipts: receipts}
	if l.id, l.space, err = a.store.EnsureConnection(ctx, name, cfg.IDSpace); err != nil {
		return nil, err
	}
	_, err = a.told(ctx, l.id, l.simulated())
	return l, err
}

// start opens a line's ends and lets messages leave. A simulated message centre that an earlier run of the line has
// left goes on, with what it has not delivered yet; one that was started is returned with an error, too.
func (a *App) start(ctx context.Context, l *line, centre *simulator.Server) (r *running, err error) {
	if l.source == fromAPI { // what another node has taken may be wrong on this one: files differ
		if err := l.cfg.check(); err != nil {
			return nil, err
		}
	}
	carrier, err := l.cfg.carrier()
	if err != nil {
		return nil, err
	}
	carrier.Name, carrier.Logger = l.name, a.log
	r = &running{centre: centre}
	if l.simulated() {
		err = r.openCentre(&carrier, l.cfg)
	} else {
		err = credentials(&carrier, l.cfg)
	}
	if err != nil {
		return r, err
	}
	r.carrier, r.addressing = bindsOf(carrier, l.cfg.Binds), smpp.New(carrier).Addressing
	r.dispatch = a.dispatcher(l, r)
	if err := r.carrier.Start(ctx, a.door(l)); err != nil {
		return r, err
	}
	r.dispatch.Start(ctx)
	return r, nil
}

// carrier is the provider's configuration, but for its name and what it binds as.
func (k Connection) carrier() (c smpp.Config, err error) {
	c = smpp.Config{
		Address: k.Address, TLS: k.TLS.on(), Window: int(k.Window), SeparateBinds: k.SeparateBinds,
		ResponseTimeout: time.Duration(k.ResponseTimeout), EnquireLink: time.Duration(k.EnquireLink),
	}
	if c.TLSConfig, err = k.TLS.Client(); err != nil {
		return c, fmt.Errorf("tls.%w", err)
	}
	if c.Receipts, err = k.Receipts.settings(); err != nil {
		return c, err
	}
	if c.Addresses, err = k.Addresses.rules(); err != nil {
		return c, err
	}
	c.Statuses, err = k.Statuses.read()
	return c, err
}

func credentials(to *smpp.Config, k Connection) error {
	values, err := k.read()
	if err == nil {
		to.SystemID, to.Password, to.SystemType = values[0], values[1], values[2]
	}
	return err
}

// openCentre starts the built-in message centre and points the connection at it.
func (r *running) openCentre(to *smpp.Config, k Connection) error {
	if r.centre == nil {
		centre := simulator.New(simulator.Config{LedgerPath: k.Ledger, Echo: !k.NoEcho, SlowReceipt: time.Duration(k.SlowReceipt)})
		if err := centre.Start(); err != nil {
			return fmt.Errorf("the simulator: %w", err)
		}
		r.centre = centre
	}
	to.Address, to.SystemID = r.centre.Addr(), "einmal"
	to.BackoffMin, to.BackoffMax = 200*time.Millisecond, 2*time.Second // it is in the same process
	return nil
}

// sameCentre reports whether a message centre that was started under some settings is the one that others want.
func (k Connection) sameCentre(other Connection) bool {
	return k.Kind == kindSimulator && other.Kind == kindSimulator &&
		k.Ledger == other.Ledger && k.NoEcho == other.NoEcho && k.SlowReceipt == other.SlowReceipt
}

func (a *App) dispatcher(l *line, r *running) *dispatch.Dispatcher {
	return dispatch.New(dispatch.Config{
		Node: a.node, Provider: r.carrier, Store: settling{a.store, a.news}, Open: outbound.NewContents(a.sealer).Open, Rules: a.rules(),
		Connection: dispatch.Connection{
			ID: l.id, IDSpace: l.space, Name: l.name, EchoesReference: l.profile.EchoesReference, Simulated: l.simulated(),
			Together: l.cfg.Long.Send == sendTogether, OneReceipt: l.cfg.Receipts.Parts == receiptsOfFirst,
			Rates: l.cfg.rates(), Binds: int(l.cfg.Binds), Own: l.simulated(),
		},
		Addressing:      r.addressing,
		ResponseTimeout: time.Duration(l.cfg.ResponseTimeout), Committed: a.relay.Wake, Log: a.log, Metrics: a.dispatched,
	})
}

// door takes what the line's provider sends.
func (a *App) door(l *line) provider.Sink {
	return intake.New(intake.Config{
		Connection: l.id, IDSpace: l.space, Name: l.name, Tenant: a.tenant,
		Sealer: a.sealer, Log: a.store, Clock: nodeClock(), Settle: a.receipts.Take, Hand: a.receipts.Offer, Logger: a.log,
		Key:     func(form []byte) intent.Key { return a.identity.Key(form) },
		Metrics: a.intake,
	})
}

func (l *line) simulated() bool { return l.cfg.Kind == kindSimulator }
