package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// SweepStore is the part of the store that the sweeper needs.
type SweepStore interface {
	Due(ctx context.Context, q evidence.Queue, limit int) ([]ident.Message, error)
	DueValidity(ctx context.Context, from store.Cursor, scan int) ([]ident.Message, store.Cursor, error)
	store.Settler
}

// SweepConfig is a sweeper's.
type SweepConfig struct {
	Store   SweepStore
	Rules   store.Rules
	Every   time.Duration // 1 s
	Log     *slog.Logger
	Metrics *Metrics
	// Committed is called after something was swept; nil: nobody cares. It must not block.
	Committed func()
}

const (
	defaultSweep = time.Second
	validityScan = 1000 // rows of the queue in one look for messages that waited too long
	// maxRounds bounds one sweep of one kind, so that a flood of one does not keep the others waiting.
	maxRounds = 20
	// validityRounds bounds the looks at the queue in one sweep. They find nothing as a rule, and what they cost must
	// not grow with what waits: a queue of a million is gone through in four minutes. Until then a message that is no
	// longer valid looks pending; no claim takes it.
	validityRounds = 4
)

// Sweeper finds messages for which a time is over: a worker's lease, the time in which receipts may come, the
// validity of what waits. Every node runs one for all connections; they get in each other's way at the cost of
// a refused piece of evidence.
type Sweeper struct {
	cfg    SweepConfig
	cursor store.Cursor
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// NewSweeper returns a sweeper that does nothing until it is started.
func NewSweeper(cfg SweepConfig) *Sweeper {
	if cfg.Every == 0 {
		cfg.Every = defaultSweep
	}
	return &Sweeper{cfg: cfg}
}

// Start begins to sweep, until Stop is called or ctx ends.
func (s *Sweeper) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(func() {
		tick := time.NewTicker(s.cfg.Every)
		defer tick.Stop()
		for {
			s.sweep(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop ends the sweeping.
func (s *Sweeper) Stop() {
	s.cancel()
	s.done.Wait()
}

func (s *Sweeper) sweep(ctx context.Context) {
	s.rounds(ctx, "lease", maxRounds, func() (int, bool, error) {
		return s.queue(ctx, evidence.QueueLease, evidence.LeaseEnded)
	})
	s.rounds(ctx, "finality", maxRounds, func() (int, bool, error) {
		return s.queue(ctx, evidence.QueueFinality, evidence.ReceiptTimeEnded)
	})
	s.rounds(ctx, "validity", validityRounds, func() (int, bool, error) { return s.validity(ctx) })
}

// rounds goes on as long as there is more. An error ends the sweep until the next one.
func (s *Sweeper) rounds(ctx context.Context, what string, most int, once func() (n int, more bool, err error)) {
	for range most {
		n, more, err := once()
		s.cfg.Metrics.swept.WithLabelValues(what).Add(float64(n))
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("a sweep has failed and is tried again", "of", what, "error", err)
		}
		if err != nil || !more || ctx.Err() != nil {
			return
		}
	}
}

// queue settles what is due in a queue. It stops where nothing was settled: the same messages would come again.
func (s *Sweeper) queue(ctx context.Context, q evidence.Queue, kind evidence.Kind) (int, bool, error) {
	due, err := s.cfg.Store.Due(ctx, q, maxBatch)
	if err != nil {
		return 0, false, err
	}
	n, err := s.settle(ctx, kind, due)
	return n, len(due) == maxBatch && n > 0, err
}

// validity looks at the next piece of the queue.
func (s *Sweeper) validity(ctx context.Context) (int, bool, error) {
	due, next, err := s.cfg.Store.DueValidity(ctx, s.cursor, validityScan)
	if err != nil {
		return 0, false, err
	}
	s.cursor = next
	n, err := s.settle(ctx, evidence.ValidityEnded, due)
	return n, next != store.Cursor{}, err
}

// settle returns how many messages have moved. A refusal means that somebody else was faster.
func (s *Sweeper) settle(ctx context.Context, kind evidence.Kind, due []ident.Message) (int, error) {
	if len(due) == 0 {
		return 0, nil
	}
	chaos.At(chaos.SweepSelected)
	news := make([]store.News, len(due))
	for i, m := range due {
		news[i] = store.News{Evidence: evidence.Evidence{Kind: kind, Message: m}, Reference: -1}
	}
	settled, err := s.cfg.Store.Settle(ctx, news, s.cfg.Rules)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, one := range settled {
		if one.Err == nil {
			n++
			s.noteOrphan(kind, one)
		}
	}
	if n > 0 && s.cfg.Committed != nil {
		s.cfg.Committed()
	}
	return n, nil
}

// noteOrphan tells of a message whose worker was gone with an attempt open. What is unknown is for people to
// see; what was only claimed is pending again and nobody's concern.
func (s *Sweeper) noteOrphan(kind evidence.Kind, one store.Settled) {
	if kind == evidence.LeaseEnded && hadOpen(one.Case) {
		s.cfg.Metrics.orphans.Inc()
		s.cfg.Log.Warn("a worker is gone and an attempt of its was open; its outcome is unknown until evidence comes", "message", one.Message.String())
	}
}

// hadOpen reports whether an attempt was open when the lease ended: the event says how many.
func hadOpen(c *evidence.Case) bool {
	if c == nil || len(c.Events) == 0 {
		return false
	}
	return c.Events[len(c.Events)-1].Detail["open"] != "0"
}
