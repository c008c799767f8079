// Package relay lets committed events leave: it gives those in the outbox their place in their tenant's feed.
//
// Events become visible out of order, since transactions commit out of order. Their sequence is therefore given
// after the commit, to whatever the outbox holds, and never by "newer than the last one seen", which would pass
// over an event whose transaction was slow.
package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/telemetry"
)

// Store is the part of the store that is needed.
type Store interface {
	Sequence(ctx context.Context, limit int) (int, error)
	TrimFeed(ctx context.Context, before clock.Micros, limit int) (int, error)
	Now(ctx context.Context) (clock.Micros, error)
}

// Config says how often and how long. Zero durations take the defaults.
type Config struct {
	Store   Store
	Every   time.Duration // how long an event waits for its sequence at most if nobody calls Wake; 200 ms
	Rest    time.Duration // how long it waits at most if somebody does; 50 ms
	Keep    time.Duration // how long the feed keeps an event; 0: for ever. The event itself stays
	Placed  func()        // called after events may have got their places; nil: nobody waits for them
	Log     *slog.Logger
	Metrics *Metrics
}

const (
	defaultEvery = 200 * time.Millisecond
	// defaultRest is how long the sequencer rests after a round, unless there is more at once: whoever reads a feed
	// does not see it, and many events cost little more than one.
	defaultRest = 50 * time.Millisecond
	batch       = 1000           // events in one transaction: a few milliseconds on the embedded store
	trimEvery   = 24 * time.Hour // the feed is kept for weeks; a day more or less does not matter
	trimBatch   = 10_000
)

// Sequencer is one node's relay. Any number of nodes may run one on the same store.
type Sequencer struct {
	cfg    Config
	wake   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Metrics are a node's counters.
type Metrics struct{ sequenced prometheus.Counter }

// NewMetrics makes and registers them.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{m.Counter("events_sequenced_total", "Events that left the outbox for their tenant's feed. On the embedded store they have their place there at once.").WithLabelValues()}
}

// New returns a sequencer that does nothing until it is started.
func New(cfg Config) *Sequencer {
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	if cfg.Rest == 0 {
		cfg.Rest = defaultRest
	}
	if cfg.Placed == nil {
		cfg.Placed = func() {}
	}
	return &Sequencer{cfg: cfg, wake: make(chan struct{}, 1)}
}

// Start begins to work, until Stop is called or ctx ends.
func (s *Sequencer) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(func() { s.sequence(ctx) })
	if s.cfg.Keep > 0 {
		s.done.Go(func() { s.trim(ctx) })
	}
}

// Stop ends the work. What is still in the outbox leaves with the next start.
func (s *Sequencer) Stop() {
	s.cancel()
	s.done.Wait()
}

// Wake says that events were committed. It never blocks.
func (s *Sequencer) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Sequencer) sequence(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	woken := true // by the start: what waits since the last one
	for {
		if s.drain(ctx) > 0 || woken {
			s.cfg.Placed()
		}
		select {
		case <-time.After(s.cfg.Rest):
		case <-ctx.Done():
			return
		}
		select {
		case <-s.wake:
			woken = true
		case <-tick.C:
			woken = false
		case <-ctx.Done():
			return
		}
	}
}

// drain empties the outbox. An error ends the round: the events stay where they are until the next one.
func (s *Sequencer) drain(ctx context.Context) (placed int) {
	for ctx.Err() == nil {
		n, err := s.cfg.Store.Sequence(ctx, batch)
		if err != nil {
			s.report(ctx, "events could not be given their sequence; they wait in the outbox", err)
			return placed
		}
		s.cfg.Metrics.sequenced.Add(float64(n))
		if placed += n; n < batch {
			return placed
		}
	}
	return placed
}

func (s *Sequencer) trim(ctx context.Context) {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	for {
		if err := s.trimOnce(ctx); err != nil {
			s.report(ctx, "the feed of events could not be trimmed; it is tried again in a day", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Sequencer) trimOnce(ctx context.Context) error {
	now, err := s.cfg.Store.Now(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		n, err := s.cfg.Store.TrimFeed(ctx, now.Add(-s.cfg.Keep), trimBatch)
		if err != nil || n < trimBatch {
			return err
		}
	}
	return nil
}

// report logs an error, unless it comes from our own stop.
func (s *Sequencer) report(ctx context.Context, what string, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		s.cfg.Log.Error(what, "error", err)
	}
}
