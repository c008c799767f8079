// Package receipt gives stored receipts their effect: it finds the attempt that each belongs to, once, and lets
// the domain say what follows. The log of receipts and their effects are two layers; everything here can run
// again at any time, for any stored receipt, and changes nothing the second time.
package receipt

import (
	"context"
	"hash/fnv"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Store is the part of the store that is needed.
type Store interface {
	store.Settler
	DueReceipts(ctx context.Context, limit int) ([]store.DueReceipt, error)
	PostponeReceipts(ctx context.Context, rs []store.Postponed) error
	GiveUpReceipts(ctx context.Context, rs []*store.LoggedReceipt, detail string) error
	FinishReceipts(ctx context.Context, ids []ident.Receipt) error
	SettleLogged(ctx context.Context, logged []*store.LoggedReceipt, news []store.News, rules store.Rules) ([]store.Settled, error)
	AwaitedIDs(ctx context.Context, connection int64, from store.Cursor, scan int) ([]store.AwaitedID, store.Cursor, error)
	Meta(ctx context.Context, name string) (string, error)
	SetMeta(ctx context.Context, name, value string) error
}

// Connection is what matters about a connection here.
type Connection struct {
	Name            string
	IDSpace         int64
	EchoesReference bool // it is declared that receipts carry our own reference
	Simulated       bool
}

// Config is a worker's. Zero durations take the defaults.
type Config struct {
	Store Store
	// Connections gives what is known now, by their numbers. What it returned is never changed.
	Connections func() map[int64]Connection
	Rules       store.Rules
	Every       time.Duration // how often the list of work is looked at for what was left behind; 1 s
	// Committed is called after receipts had their effect; nil: nobody cares. It must not block.
	Committed func()
	Log       *slog.Logger
	Metrics   *Metrics
}

const (
	defaultEvery = time.Second
	maxBatch     = 256  // receipts in one transaction
	maxWaiting   = 4096 // receipts in a worker's hand; more stay on the store's list of work, where the sweep finds them
	// workers is how many batches may be under way: on a server a second one hides the round trip of the first.
	// Receipts of one message id have one worker, so that they have their effects in the order in which they came:
	// of two that contradict each other the first one counts, and only it is known to have been the first here.
	workers   = 2
	maxRounds = 20 // batches in one sweep
)

// Worker settles receipts: those that it is offered at once, and those that are found on the list of work.
type Worker struct {
	cfg      Config
	offered  [workers]chan *store.LoggedReceipt
	inHand   atomic.Int64  // offered and not settled yet
	declared chan struct{} // what is declared of message ids may have changed
	stopping chan struct{}
	stopOnce sync.Once
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// New returns a worker that does nothing until it is started.
func New(cfg Config) *Worker {
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	w := &Worker{cfg: cfg, declared: make(chan struct{}, 1), stopping: make(chan struct{}), cancel: func() {}}
	for i := range w.offered {
		w.offered[i] = make(chan *store.LoggedReceipt, maxWaiting)
	}
	return w
}

// Start begins to work, until Stop is called or ctx ends.
func (w *Worker) Start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	for _, mine := range w.offered {
		w.done.Go(func() { w.work(ctx, mine) })
	}
	w.done.Go(func() { w.sweepLoop(ctx) })
	w.done.Go(func() { w.rekeyLoop(ctx) })
}

// Stop settles what was offered and ends. When ctx ends first, the rest stays on the list of work.
func (w *Worker) Stop(ctx context.Context) error {
	w.stopOnce.Do(func() { close(w.stopping) })
	defer w.cancel()
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.done.Wait()
	return ctx.Err()
}

// Offer hands over receipts that are stored. It never blocks: what there is no room for is found by the sweep.
func (w *Worker) Offer(rs []*store.LoggedReceipt) {
	for _, r := range rs {
		select {
		case w.offered[workerOf(r)] <- r:
			w.inHand.Add(1)
		default:
			w.cfg.Metrics.left.Inc()
		}
	}
}

// Take stores receipts and gives them their effect in one transaction. It reports false, and has done nothing, where
// earlier ones are still in hand, which go first, and where the store could not: then they are to be stored by
// themselves and offered.
func (w *Worker) Take(ctx context.Context, rs []*store.LoggedReceipt) (done bool) {
	if w.inHand.Load() > 0 {
		return false
	}
	var news []store.News
	batch := make([]store.DueReceipt, len(rs))
	for i, r := range rs {
		batch[i].LoggedReceipt = *r
		if isReceipt(r.Kind) {
			news = append(news, w.news(&batch[i]))
		}
	}
	settled, err := w.cfg.Store.SettleLogged(ctx, rs, news, w.cfg.Rules)
	if err != nil {
		w.cfg.Log.Debug("receipts could not be stored and settled at once", "error", err, "count", len(rs))
		return false
	}
	failed := map[ident.Receipt]error{}
	w.settled(ctx, news, settled, failed)
	w.putAside(ctx, batch, failed)
	w.cfg.Metrics.others.Add(float64(len(rs) - len(news)))
	if w.cfg.Committed != nil {
		w.cfg.Committed()
	}
	return true
}

// workerOf chooses by the message id, or where there is none by the handset.
func workerOf(r *store.LoggedReceipt) int {
	h := fnv.New32a()
	if len(r.ExternalID) > 0 {
		_, _ = h.Write(r.ExternalID)
	} else {
		_, _ = h.Write([]byte(r.Source))
	}
	return int(h.Sum32() % workers)
}

// work settles what is offered; a batch is what came while the one before was committed.
func (w *Worker) work(ctx context.Context, mine <-chan *store.LoggedReceipt) {
	for {
		batch := w.gather(ctx, mine)
		if len(batch) == 0 {
			return
		}
		w.settle(ctx, batch)
		w.inHand.Add(-int64(len(batch)))
	}
}

// gather waits for receipts. It returns none when the work is over.
func (w *Worker) gather(ctx context.Context, mine <-chan *store.LoggedReceipt) []store.DueReceipt {
	var batch []store.DueReceipt
	select {
	case r := <-mine:
		batch = append(batch, store.DueReceipt{LoggedReceipt: *r})
	case <-w.stopping:
	case <-ctx.Done():
		return nil
	}
	for len(batch) < maxBatch {
		select {
		case r := <-mine:
			batch = append(batch, store.DueReceipt{LoggedReceipt: *r})
		default:
			return batch
		}
	}
	return batch
}

// sweepLoop finds receipts on the list of work: left behind by a node that died, by a full channel or by an
// error, or with their grace over.
func (w *Worker) sweepLoop(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		w.sweep(ctx)
		select {
		case <-tick.C:
		case <-w.stopping:
			return
		case <-ctx.Done():
			return
		}
	}
}

// sweep goes on as long as there is more and something leaves the list's front.
func (w *Worker) sweep(ctx context.Context) {
	for range maxRounds {
		due, err := w.cfg.Store.DueReceipts(ctx, maxBatch)
		if err != nil {
			w.logError(ctx, "the list of receipts without effect could not be read", err)
			return
		}
		if len(due) == 0 || w.settle(ctx, due) == 0 || len(due) < maxBatch {
			return
		}
	}
}

// isReceipt reports whether a call is to be settled: receipts, and what nobody could read and a person must see.
func isReceipt(kind string) bool {
	switch provider.EventKind(kind) {
	case provider.KindReceipt, provider.KindIntermediate, provider.KindUnreadable:
		return true
	}
	return false
}
