// Package intake is the one door for what providers send. It stores a call, durably and before anything else,
// and only then lets the provider know. What the call means is found out afterwards, or in the same transaction where
// nothing is in the way.
package intake

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Log is the part of the store that is needed.
type Log interface {
	LogReceipts(ctx context.Context, rs []*store.LoggedReceipt, retryAfter time.Duration) error
}

// Sealer seals payloads; secret.Sealer is one.
type Sealer interface {
	Seal(ctx context.Context, tenant ident.Partition, at time.Time, aad, plaintext []byte) ([]byte, error)
}

// Config is a door's.
type Config struct {
	Connection int64
	IDSpace    int64
	Name       string
	Tenant     ident.Partition // whose key seals the payloads: the installation's own tenant
	Sealer     Sealer
	Log        Log
	Key        intent.Keyer
	Clock      clock.Clock
	// Settle stores calls and gives them their effect in one transaction, or does nothing and says so: they are then
	// stored by themselves and handed on. Nil: they always are.
	Settle func(ctx context.Context, rs []*store.LoggedReceipt) (done bool)
	// Hand is given what was stored, to have its effect. It must not block. What it drops, and what is lost
	// with the process, is found on the store's list of work after RetryAfter.
	Hand       func([]*store.LoggedReceipt)
	RetryAfter time.Duration // 5 s
	Logger     *slog.Logger
	Metrics    *Metrics
}

const defaultRetryAfter = 5 * time.Second

// Metrics are the counters of a node's doors.
type Metrics struct {
	taken, refused *prometheus.CounterVec
}

// NewMetrics makes and registers them.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		taken:   m.Counter("provider_calls_total", "Calls of providers that were stored.", "connection", "kind"),
		refused: m.Counter("provider_calls_refused_total", "Calls that could not be stored: the provider was asked to send them again.", "connection"),
	}
}

// Door takes the calls of one connection. It implements provider.Sink and is safe for concurrent use.
type Door struct{ cfg Config }

var _ provider.Sink = (*Door)(nil)

// New returns a door.
func New(cfg Config) *Door {
	if cfg.RetryAfter == 0 {
		cfg.RetryAfter = defaultRetryAfter
	}
	return &Door{cfg: cfg}
}

// Take implements provider.Sink: all events in one transaction, or an error and none. An event that is sent
// again after an error that hid a commit is stored twice, and settled as a repeat.
func (d *Door) Take(ctx context.Context, events []provider.RawEvent) error {
	logged, err := d.seal(ctx, events)
	settled := err == nil && d.cfg.Settle != nil && d.cfg.Settle(ctx, logged)
	if err == nil && !settled {
		err = d.cfg.Log.LogReceipts(ctx, logged, d.cfg.RetryAfter)
	}
	if err != nil {
		d.cfg.Metrics.refused.WithLabelValues(d.cfg.Name).Add(float64(len(events)))
		d.cfg.Logger.Error("calls of a provider could not be stored; it was asked to send them again",
			"connection", d.cfg.Name, "count", len(events), "error", err)
		return err
	}
	chaos.At(chaos.ReceiptStored)
	for _, r := range logged {
		d.cfg.Metrics.taken.WithLabelValues(d.cfg.Name, r.Kind).Inc()
	}
	if !settled {
		d.cfg.Hand(logged)
	}
	return nil
}

func (d *Door) seal(ctx context.Context, events []provider.RawEvent) ([]*store.LoggedReceipt, error) {
	logged := make([]*store.LoggedReceipt, len(events))
	for i := range events {
		r := receipt.Logged(d.cfg.Key, d.cfg.Connection, d.cfg.IDSpace, &events[i])
		sealed, err := d.cfg.Sealer.Seal(ctx, d.cfg.Tenant, d.cfg.Clock.Now(), receipt.Place(r.ID), events[i].Payload)
		if err != nil {
			return nil, err
		}
		r.Payload, logged[i] = sealed, r
	}
	return logged, nil
}
