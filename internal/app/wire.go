package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/engine/dispatch"
	"github.com/einmal/einmal/internal/engine/intake"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/engine/relay"
	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/engine/settle"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/provider/smpp"
	"github.com/einmal/einmal/internal/store"
)

func keysFolder(c Config) string { return filepath.Join(c.Data, "keys") }

// openConnection numbers the connection and makes its two ends.
func (a *App) openConnection(ctx context.Context) (err error) {
	c := &a.connection
	if c.name, c.cfg, err = a.cfg.one(); err != nil {
		return err
	}
	if c.id, c.space, err = a.store.EnsureConnection(ctx, c.name, c.cfg.IDSpace); err != nil {
		return err
	}
	carrier := smpp.Config{
		Name: c.name, Address: c.cfg.Address, TLS: c.cfg.TLS, SystemType: c.cfg.SystemType, Window: int(c.cfg.Window),
		SeparateBinds:   c.cfg.SeparateBinds,
		ResponseTimeout: time.Duration(c.cfg.ResponseTimeout), EnquireLink: time.Duration(c.cfg.EnquireLink), Logger: a.log,
	}
	if carrier.Receipts, err = c.cfg.Receipts.settings(); err != nil {
		return err
	}
	if carrier.Addresses, err = c.cfg.Addresses.rules(); err != nil {
		return err
	}
	if carrier.Statuses, err = c.cfg.Statuses.read(); err != nil {
		return err
	}
	c.reader = smpp.Reader{Receipts: carrier.Receipts}
	if c.cfg.Kind == kindSimulator {
		err = a.startSimulator(&carrier)
	} else {
		err = credentials(&carrier, c.cfg)
	}
	a.carrier = smpp.New(carrier)
	return err
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

// startSimulator starts the built-in message centre and points the connection at it.
func (a *App) startSimulator(to *smpp.Config) error {
	k := a.connection.cfg
	a.simulated = true
	a.centre = simulator.New(simulator.Config{LedgerPath: k.Ledger, Echo: !k.NoEcho, SlowReceipt: time.Duration(k.SlowReceipt)})
	if err := a.centre.Start(); err != nil {
		a.centre = nil
		return fmt.Errorf("the simulator: %w", err)
	}
	to.Address, to.SystemID = a.centre.Addr(), "einmal"
	to.BackoffMin, to.BackoffMax = 200*time.Millisecond, 2*time.Second // it is in the same process
	return nil
}

// phones are the handsets of the simulated carrier, or none.
func (a *App) phones() provider.Phones {
	if a.centre == nil {
		return nil
	}
	return a.centre
}

func (a *App) rules() store.Rules {
	redactor := receipt.Redactor{Sealer: a.sealer, Readers: map[int64]provider.Reader{a.connection.id: a.connection.reader}}
	return store.Rules{
		Correlate: evidence.Correlate, Redact: redactor.Redact, Profiles: map[int64]evidence.Profile{a.connection.id: a.connection.cfg.profile()},
		Grace: time.Duration(a.cfg.Receipts.Grace), LookBack: time.Duration(a.cfg.Receipts.LookBack),
	}
}

// buildFlows makes the engines. Nothing runs yet.
func (a *App) buildFlows(context.Context) error {
	c, echo := a.connection, a.connection.cfg.Lookup.ownReference()
	a.relay = relay.New(relay.Config{Store: a.store, Keep: time.Duration(a.cfg.Feed.Keep), Log: a.log, Metrics: relay.NewMetrics(a.metrics)})
	a.news = settle.New(a.store, a.rules())
	together := settling{a.store, a.news}
	a.receipts = receipt.New(receipt.Config{
		Store: together, Rules: a.rules(), Committed: a.relay.Wake, Log: a.log, Metrics: receipt.NewMetrics(a.metrics),
		Connections: map[int64]receipt.Connection{c.id: {Name: c.name, IDSpace: c.space, EchoesReference: echo, Simulated: a.simulated}},
	})
	dispatched := dispatch.NewMetrics(a.metrics)
	a.sweeper = dispatch.NewSweeper(dispatch.SweepConfig{Store: together, Rules: a.rules(), Log: a.log, Metrics: dispatched, Committed: a.swept})
	a.dispatch = dispatch.New(dispatch.Config{
		Node: a.node, Provider: a.carrier, Store: together, Open: outbound.NewContents(a.sealer).Open, Rules: a.rules(),
		Connection: dispatch.Connection{
			ID: c.id, IDSpace: c.space, Name: c.name, EchoesReference: echo, Simulated: a.simulated,
			Together: c.cfg.Long.Send == sendTogether, OneReceipt: c.cfg.Receipts.Parts == receiptsOfFirst,
			Rates: c.cfg.rates(),
		},
		Addressing:      a.carrier.Addressing,
		ResponseTimeout: time.Duration(c.cfg.ResponseTimeout), Committed: a.relay.Wake, Log: a.log, Metrics: dispatched,
	})
	brought, err := a.cfg.readPolicy()
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	brought.By = bringer(a.node)
	a.outbound = outbound.New(outbound.Config{
		Store: a.store, Identity: a.identity, Sealer: a.sealer, Clock: nodeClock(), Sender: a.cfg.Sender, RefuseUnassigned: a.cfg.Destinations.Unassigned == refuse,
		Policy:     brought,
		Connection: outbound.Connection{ID: c.id, Simulated: a.simulated, Long: c.cfg.Long.limits(), ReceiptTime: time.Duration(c.cfg.Receipts.Time)},
		Batch:      Batching(a.cfg), Wake: a.decided,
		Log: a.log, Metrics: a.metrics.Registerer(),
	})
	a.janitor, a.control = newJanitor(a.store, a.log), a.administered()
	a.restore = restore.New(restore.Config{Store: a.store, Rules: a.rules(), Committed: a.decided, Log: a.log})
	a.metrics.Register(newGauges(a.store, c.id, c.name, a.carrier.Status, a.store.Held, a.log))
	return nil
}

// settling is the store for flows whose news settle together.
type settling struct {
	store.Store
	news *settle.Queue
}

// Settle implements store.Settler.
func (s settling) Settle(ctx context.Context, news []store.News, rules store.Rules) ([]store.Settled, error) {
	return s.news.Settle(ctx, news, rules)
}

// SettleLogged implements store.ReceiptLog.
func (s settling) SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error) {
	return s.news.SettleLogged(ctx, logged, news, rules)
}

// decided is called after messages were made or changed.
func (a *App) decided() {
	a.dispatch.Wake()
	a.relay.Wake()
}

// swept is called after the sweeper changed something: a message may be pending again.
func (a *App) swept() { a.decided() }

// door takes what the connection's provider sends.
func (a *App) door() provider.Sink {
	return intake.New(intake.Config{
		Connection: a.connection.id, IDSpace: a.connection.space, Name: a.connection.name, Tenant: a.tenant,
		Sealer: a.sealer, Log: a.store, Clock: nodeClock(), Settle: a.receipts.Take, Hand: a.receipts.Offer, Logger: a.log,
		Key:     func(form []byte) intent.Key { return a.identity.Key(form) },
		Metrics: intake.NewMetrics(a.metrics),
	})
}

// again reads stored receipts again, as they are read when they arrive.
func (a *App) again() receipt.Again {
	return receipt.Again{
		Sealer: a.sealer, Readers: map[int64]provider.Reader{a.connection.id: a.connection.reader},
		Key: func(form []byte) intent.Key { return a.identity.Key(form) },
	}
}

// apiConfig is what the API works with.
func (a *App) apiConfig() api.Config {
	return api.Config{
		Store: a.store, Outbound: a.outbound, Watch: a.hub, Contents: contents{a.store, outbound.NewContents(a.sealer)}, Identity: a.identity,
		Clock: nodeClock(), Ready: a.Ready, Simulated: a.simulated, Phones: a.phones(), Installation: a.tenant,
		Resolver: receipt.NewResolver(receipt.ResolverConfig{Store: a.store, Rules: a.rules(), Again: a.again(), Committed: a.swept}),
		Restore:  a.restore, Held: a.store.Held,
		DeliveredMeans: map[int64]string{a.connection.id: a.connection.cfg.Receipts.DeliveredMeans},
		Metrics:        a.metrics, Log: a.log,
	}
}
