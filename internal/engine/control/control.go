// Package control keeps a node's copies of what is administered up to date: tenants, connections, routes, prices and
// what else is changed while nodes run, through any of them.
//
// The store counts the changes, and every node reads the count each second. A node that cannot read it goes on with
// what it has: nothing that decides whether something happens twice is kept this way.
package control

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Store is the part of the store that is needed.
type Store interface {
	ControlVersion(ctx context.Context) (int64, error)
}

// Loader reads something again and puts it in force. It reads the store after the count was read.
type Loader struct {
	Name string // for the log
	Load func(ctx context.Context) error
}

// Config says what is kept up to date.
type Config struct {
	Store   Store
	Loaders []Loader      // called in this order
	Every   time.Duration // 0: a second
	Log     *slog.Logger
}

const defaultEvery = time.Second

// Watcher is one node's.
type Watcher struct {
	cfg    Config
	wake   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu   sync.Mutex // one load at a time
	seen int64      // the count under which everything was loaded; -1: nothing was
}

// New returns a watcher that has loaded nothing.
func New(cfg Config) *Watcher {
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	return &Watcher{cfg: cfg, wake: make(chan struct{}, 1), seen: -1}
}

// Load reads everything again if anything has changed since the last time that all of it succeeded. Whoever has made a
// change and answers for it on this node calls it, and finds it in force afterwards.
func (w *Watcher) Load(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, err := w.cfg.Store.ControlVersion(ctx)
	if err != nil || version == w.seen {
		return err
	}
	for _, l := range w.cfg.Loaders {
		if err := l.Load(ctx); err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	w.seen = version
	return nil
}

// Start keeps on loading what has changed, until Stop is called or ctx ends. Load was called before.
func (w *Watcher) Start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() { w.watch(ctx) })
}

// Stop ends the work.
func (w *Watcher) Stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	w.done.Wait()
}

// Wake says that this node has changed something. It never blocks.
func (w *Watcher) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watcher) watch(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	told := false // of a failure that lasts
	for {
		select {
		case <-w.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := w.Load(ctx)
		if err != nil && ctx.Err() == nil && !told {
			w.cfg.Log.Error("what was changed could not be read; the node goes on with what it had, and asks each second", "error", err)
		}
		told = err != nil
	}
}
