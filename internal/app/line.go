package app

import (
	"context"
	"fmt"
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
)

// line is a connection with its immutable numbers and both of its ends. Once it is among the lines it is not changed:
// other settings make another line in its place.
type line struct {
	name      string
	id, space int64
	cfg       Connection
	reader    provider.Reader
	profile   evidence.Profile

	centre  *simulator.Server // nil: it is no simulator
	carrier *binds.Provider
	// addressing is how addresses are sent.
	addressing func(sender, destination string) (source, dest string)
	dispatch   *dispatch.Dispatcher
}

// openLine numbers a connection and makes its ends. A simulated message centre listens at once; nothing else runs.
func (a *App) openLine(ctx context.Context, name string, cfg Connection) (*line, error) {
	l := &line{name: name, cfg: cfg, profile: cfg.profile()}
	var err error
	if l.id, l.space, err = a.store.EnsureConnection(ctx, name, cfg.IDSpace); err != nil {
		return nil, err
	}
	carrier, err := cfg.carrier()
	if err != nil {
		return nil, err
	}
	carrier.Name, carrier.Logger = name, a.log
	l.reader = smpp.Reader{Receipts: carrier.Receipts}
	if cfg.Kind == kindSimulator {
		err = l.openCentre(&carrier)
	} else {
		err = credentials(&carrier, cfg)
	}
	if err != nil {
		return nil, err
	}
	l.carrier, l.addressing = bindsOf(carrier, cfg.Binds), smpp.New(carrier).Addressing
	l.dispatch = a.dispatcher(l)
	return l, nil
}

// carrier is the provider's configuration, but for its name and its credentials.
func (k Connection) carrier() (c smpp.Config, err error) {
	c = smpp.Config{
		Address: k.Address, TLS: k.TLS, SystemType: k.SystemType, Window: int(k.Window), SeparateBinds: k.SeparateBinds,
		ResponseTimeout: time.Duration(k.ResponseTimeout), EnquireLink: time.Duration(k.EnquireLink),
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

func credentials(to *smpp.Config, k Connection) (err error) {
	if to.SystemID, err = resolve(k.SystemID); err != nil {
		return fmt.Errorf("system_id: %w", err)
	}
	if to.Password, err = resolve(k.Password); err != nil {
		return fmt.Errorf("password: %w", err)
	}
	return nil
}

// openCentre starts the built-in message centre and points the connection at it.
func (l *line) openCentre(to *smpp.Config) error {
	centre := simulator.New(simulator.Config{LedgerPath: l.cfg.Ledger, Echo: !l.cfg.NoEcho, SlowReceipt: time.Duration(l.cfg.SlowReceipt)})
	if err := centre.Start(); err != nil {
		return fmt.Errorf("the simulator: %w", err)
	}
	l.centre = centre
	to.Address, to.SystemID = centre.Addr(), "einmal"
	to.BackoffMin, to.BackoffMax = 200*time.Millisecond, 2*time.Second // it is in the same process
	return nil
}

// startLine lets messages leave, and takes what comes.
func (a *App) startLine(ctx context.Context, l *line) error {
	if err := l.carrier.Start(ctx, a.door(l)); err != nil {
		return err
	}
	l.dispatch.Start(ctx)
	return nil
}

func (a *App) dispatcher(l *line) *dispatch.Dispatcher {
	return dispatch.New(dispatch.Config{
		Node: a.node, Provider: l.carrier, Store: settling{a.store, a.news}, Open: outbound.NewContents(a.sealer).Open, Rules: a.rules(),
		Connection: dispatch.Connection{
			ID: l.id, IDSpace: l.space, Name: l.name, EchoesReference: l.profile.EchoesReference, Simulated: l.simulated(),
			Together: l.cfg.Long.Send == sendTogether, OneReceipt: l.cfg.Receipts.Parts == receiptsOfFirst,
			Rates: l.cfg.rates(), Binds: int(l.cfg.Binds), Own: l.simulated(),
		},
		Addressing:      l.addressing,
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

// status says in a few words how the line is.
func (l *line) status() string {
	return l.carrier.Status()
}

func (l *line) closeCentre() error {
	if l.centre == nil {
		return nil
	}
	return l.centre.Close()
}
