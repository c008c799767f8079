// Package history forgets what is old: messages with all that hangs on them, decisions, receipts, and keys whose
// windows are over (I17).
//
// It works in small steps with a rest after each, so that nobody waits for it: a step is one transaction of a few
// milliseconds on the embedded store, and on a server most goes by whole partitions. What cannot be done now is done in
// the next round: what fails here keeps something for longer, and never loses it earlier.
package history

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// Store is the part of the store that is needed.
type Store interface {
	store.Histories
	Now(ctx context.Context) (clock.Micros, error)
}

// Config says how much is kept. Any number of nodes may run a worker on the same store.
type Config struct {
	Store Store
	Rules func() store.Rules // how a connection's ids are written
	Keep  time.Duration      // messages, decisions, receipts and exceptions; 0: for ever
	Keys  time.Duration      // keys of the register, from the end of their windows
	Every time.Duration      // a round; 0: an hour
	Rest  time.Duration      // after each step; 0: 50 ms
	Log   *slog.Logger
	// Metrics counts what was forgotten.
	Metrics *Metrics
}

const (
	defaultEvery = time.Hour
	defaultRest  = 50 * time.Millisecond
	step         = 200 // messages, records of a kind or keys in one transaction
)

// Metrics are a node's counters.
type Metrics struct {
	forgotten *prometheus.CounterVec
	heldBack  prometheus.Gauge
}

// NewMetrics makes and registers them.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		forgotten: m.Counter("history_forgotten_total", "Messages, records and keys that were forgotten after their time. Whole partitions count as one record.", "kind"),
		heldBack:  m.Gauge("history_held_back_seconds", "How much longer than history.keep records are kept, since too many messages are still needed.").WithLabelValues(),
	}
}

// Worker is one node's.
type Worker struct {
	cfg    Config
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns a worker that does nothing until it is started.
func New(cfg Config) *Worker {
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	if cfg.Rest == 0 {
		cfg.Rest = defaultRest
	}
	return &Worker{cfg: cfg}
}

// Start begins to work, until Stop is called or ctx ends.
func (w *Worker) Start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() {
		tick := time.NewTicker(w.cfg.Every)
		defer tick.Stop()
		for {
			if err := w.round(ctx); err != nil && !errors.Is(err, context.Canceled) {
				w.cfg.Log.Error("what is old could not be forgotten; the next round tries again", "in", w.cfg.Every, "error", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop ends the work after the step that runs.
func (w *Worker) Stop() {
	if w.cancel != nil {
		w.cancel()
		w.done.Wait()
	}
}

func (w *Worker) round(ctx context.Context) error {
	if err := w.cfg.Store.PartitionHistory(ctx, PartitionLength(w.cfg.Keep)); err != nil {
		return err
	}
	now, err := w.cfg.Store.Now(ctx)
	if err != nil {
		return err
	}
	if w.cfg.Keep > 0 {
		before := now.Add(-w.cfg.Keep)
		if err := w.messages(ctx, before); err != nil {
			return err
		}
		if err := w.records(ctx, before); err != nil {
			return err
		}
	}
	return w.keys(ctx, now.Add(-w.cfg.Keys))
}

func (w *Worker) messages(ctx context.Context, before clock.Micros) error {
	var from ident.Message
	for {
		gone, next, err := w.cfg.Store.ForgetMessages(ctx, before, from, step, w.cfg.Rules())
		w.forgot("message", gone)
		if err != nil || next.IsZero() {
			return err
		}
		if from = next; !w.rested(ctx) {
			return ctx.Err()
		}
	}
}

func (w *Worker) records(ctx context.Context, before clock.Micros) error {
	for {
		f, err := w.cfg.Store.ForgetRecords(ctx, before, step)
		if err != nil {
			return err
		}
		w.forgot("record", f.Gone)
		w.cfg.Metrics.heldBack.Set(f.HeldBack.Seconds())
		if f.Gone == 0 {
			return nil
		}
		if !w.rested(ctx) {
			return ctx.Err()
		}
	}
}

func (w *Worker) keys(ctx context.Context, before clock.Micros) error {
	var from store.KeyCursor
	for {
		gone, next, err := w.cfg.Store.ForgetKeys(ctx, before, from, step)
		w.forgot("key", gone)
		if err != nil || next == (store.KeyCursor{}) {
			return err
		}
		if from = next; !w.rested(ctx) {
			return ctx.Err()
		}
	}
}

func (w *Worker) forgot(kind string, n int) {
	w.cfg.Metrics.forgotten.WithLabelValues(kind).Add(float64(n))
}

// rested waits a moment, and reports false if the worker is to end.
func (w *Worker) rested(ctx context.Context) bool {
	select {
	case <-time.After(w.cfg.Rest):
		return true
	case <-ctx.Done():
		return false
	}
}

// Bounds of a partition's length.
const (
	week     = 7 * 24 * time.Hour
	halfYear = 26 * week
)

// PartitionLength is how long a partition of history is: a twelfth of what is kept, in whole weeks. Each statement looks
// at every partition there is when it is planned, so there are a dozen and not a hundred; and a partition goes when the
// youngest of what is in it may.
func PartitionLength(keep time.Duration) time.Duration {
	if keep == 0 {
		return halfYear
	}
	return min(max((keep/12+week-1)/week*week, week), halfYear)
}
