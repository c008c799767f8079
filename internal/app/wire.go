package app

import (
	"context"
	"fmt"
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
	"github.com/einmal/einmal/internal/store"
)

func (a *App) rules() store.Rules {
	redactor := receipt.Redactor{Sealer: a.sealer, Readers: a.lines.reader}
	return store.Rules{
		Correlate: evidence.Correlate, Redact: redactor.Redact, Profiles: a.lines.profile,
		Grace: time.Duration(a.cfg.Receipts.Grace), LookBack: time.Duration(a.cfg.Receipts.LookBack),
	}
}

// buildFlows makes the engines. Nothing runs yet.
func (a *App) buildFlows(context.Context) error {
	if err := a.buildWebhooks(); err != nil {
		return err
	}
	a.relay = relay.New(relay.Config{
		Store: a.store, Keep: time.Duration(a.cfg.Feed.Keep), Placed: a.tell.deliverer.Wake, Log: a.log, Metrics: relay.NewMetrics(a.metrics),
	})
	a.news = settle.New(a.store, a.rules())
	together := settling{a.store, a.news}
	a.receipts = receipt.New(receipt.Config{
		Store: together, Rules: a.rules(), Committed: a.relay.Wake, Log: a.log, Metrics: receipt.NewMetrics(a.metrics),
		Connections: a.lines.receiving,
	})
	a.dispatched, a.intake = dispatch.NewMetrics(a.metrics), intake.NewMetrics(a.metrics)
	a.sweeper = dispatch.NewSweeper(dispatch.SweepConfig{Store: together, Rules: a.rules(), Log: a.log, Metrics: a.dispatched, Committed: a.swept})
	brought, err := a.cfg.readPolicy()
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	brought.By = bringer(a.node)
	a.tenants, a.prices = newTenants(a.store), newPrices(a.store)
	a.outbound = outbound.New(outbound.Config{
		Store: a.store, Identity: a.identity, Sealer: a.sealer, Clock: nodeClock(), Sender: a.cfg.Sender, RefuseUnassigned: a.cfg.Destinations.Unassigned == refuse,
		Policy: brought, Route: a.route, Simulated: a.lines.simulated, Senders: a.tenants.sendersOf,
		Guards: []outbound.Guard{a.tenants.guard}, Prices: a.prices.offer,
		Batch: Batching(a.cfg), Wake: a.decided,
		Log: a.log, Metrics: a.metrics.Registerer(),
	})
	a.janitor, a.control = newJanitor(a.store, a.newHistory(), a.log), a.administered()
	a.restore = restore.New(restore.Config{Store: a.store, Rules: a.rules(), Committed: a.decided, Log: a.log})
	a.metrics.Register(newGauges(a.store, a.lines.gauged, a.store.Held, a.log))
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
	a.lines.wake()
	a.relay.Wake()
}

// swept is called after the sweeper changed something: a message may be pending again.
func (a *App) swept() { a.decided() }

// again reads stored receipts again, as they are read when they arrive.
func (a *App) again() receipt.Again {
	return receipt.Again{
		Sealer: a.sealer, Readers: a.lines.reader,
		Key: func(form []byte) intent.Key { return a.identity.Key(form) },
	}
}

// apiConfig is what the API works with.
func (a *App) apiConfig() api.Config {
	return api.Config{
		Store: a.store, Outbound: a.outbound, Watch: a.hub, Contents: contents{a.store, outbound.NewContents(a.sealer)}, Identity: a.identity, Certificates: newClients(a.cfg.Listen.Clients),
		Clock: nodeClock(), Ready: a.Ready, Simulated: a.lines.simulated, Phones: a.lines.phones, Installation: a.tenant,
		Resolver: receipt.NewResolver(receipt.ResolverConfig{Store: a.store, Rules: a.rules(), Again: a.again(), Committed: a.swept}),
		Restore:  a.restore, Held: a.store.Held, Changed: a.changed, Connections: administration{a},
		Webhooks: a.tell.admin, Feed: a.tell.builder, Delivering: a.tell.deliverer.Wake,
		DeliveredMeans: a.lines.means,
		Metrics:        a.metrics, Log: a.log,
	}
}
