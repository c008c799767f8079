// Package watch tells who waits for a message that something has happened to it.
//
// What this node commits is told at once: Store stands before the store and sees which messages its transactions
// change. What other nodes commit is seen by one question a second for all that are waited for, whoever waits. A
// signal says "look again" and nothing more, so that one too many does no harm.
package watch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Config is a hub's.
type Config struct {
	Store store.Watcher
	Every time.Duration // how often it is asked what other nodes have done; 1 s
	Log   *slog.Logger
}

const defaultEvery = time.Second

// Hub knows who waits for which message. Safe for concurrent use.
type Hub struct {
	cfg    Config
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	watched map[ident.Message]*watched
	first   chan struct{} // receives when somebody waits after nobody did
}

// watched is a message that is waited for.
type watched struct {
	version store.Version // as it was last seen; the zero version is none that a message has
	waiters map[chan struct{}]struct{}
}

// New returns a hub that asks nobody until it is started.
func New(cfg Config) *Hub {
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	return &Hub{cfg: cfg, cancel: func() {}, watched: map[ident.Message]*watched{}, first: make(chan struct{}, 1)}
}

// Start begins to ask what other nodes have done, until Stop is called or ctx ends.
func (h *Hub) Start(ctx context.Context) {
	ctx, h.cancel = context.WithCancel(ctx)
	h.done.Go(func() { h.look(ctx) })
}

// Stop ends that.
func (h *Hub) Stop() {
	h.cancel()
	h.done.Wait()
}

// Watch returns a channel that receives a value after the message has changed, and perhaps without. Who looks at
// the message must begin to watch before, or a change between the two is missed. stop must be called.
func (h *Hub) Watch(id ident.Message) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watched[id]
	if w == nil {
		w = &watched{waiters: map[chan struct{}]struct{}{}}
		h.watched[id] = w
	}
	w.waiters[c] = struct{}{}
	signal(h.first)
	return c, func() { h.leave(id, c) }
}

func (h *Hub) leave(id ident.Message, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watched[id]
	delete(w.waiters, c)
	if len(w.waiters) == 0 {
		delete(h.watched, id)
	}
}

// Changed says that messages have changed, after the commit.
func (h *Hub) Changed(ids ...ident.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.tell(id)
	}
}

func (h *Hub) tell(id ident.Message) {
	if w := h.watched[id]; w != nil {
		for c := range w.waiters {
			signal(c)
		}
	}
}

// look asks as long as somebody waits.
func (h *Hub) look(ctx context.Context) {
	tick := time.NewTicker(h.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		ids := h.all()
		if len(ids) > 0 {
			h.ask(ctx, ids)
			continue
		}
		select { // nobody waits: nothing is asked
		case <-h.first:
		case <-ctx.Done():
			return
		}
	}
}

func (h *Hub) all() []ident.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.watched))
}

// ask compares. Who has just begun to wait gets a signal too: nobody knows what was changed since the first look.
func (h *Hub) ask(ctx context.Context, ids []ident.Message) {
	found, err := h.cfg.Store.Versions(ctx, ids)
	if err != nil {
		if ctx.Err() == nil {
			h.cfg.Log.Warn("the store does not say what has changed; who waits learns of it later", "error", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, v := range found {
		if w := h.watched[id]; w != nil && w.version != v {
			w.version = v
			h.tell(id)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
