package sqlstore

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const (
	// markEvery is how often the mark follows what was acknowledged, beside the times when it has to. So much is
	// not noticed after a crash of the whole node, if nothing was sent in it.
	markEvery = 100 * time.Millisecond
	// pulseAfter is how long a node may be without a transaction of its own before it makes one: it learns of a jump,
	// of a hold and of a release by its transactions alone.
	pulseAfter = time.Second
)

// markKeeper writes what was acknowledged beside the store, after the store has acknowledged it: a node that is
// killed between the two has a mark that is too low, and that is no jump.
type markKeeper struct {
	commits *commits
	marker  store.Marker
	log     *slog.Logger

	mu      sync.Mutex // one write at a time; guards the two below
	written store.Mark
	failed  error

	stop chan struct{}
	done chan struct{}
}

// flush brings the mark up to what was acknowledged when it is called. While the store is held the mark stays: what
// it says is more than this store knows.
func (k *markKeeper) flush() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, held := k.commits.mark()
	if held || m.Incarnation == k.written.Incarnation && slices.Equal(m.Numbers, k.written.Numbers) {
		return k.failed
	}
	err := k.marker.Put(m)
	switch {
	case err != nil && k.failed == nil:
		k.log.Error("the mark beside the store cannot be written: nothing more is sent until it can", "error", err)
	case err == nil && k.failed != nil:
		k.log.Info("the mark beside the store can be written again")
	}
	if k.failed = err; err == nil {
		k.written = m
	}
	return err
}

func (k *markKeeper) failing() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

func (c *commits) mark() (m store.Mark, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return store.Mark{Node: c.node, Incarnation: c.current, Numbers: slices.Clone(c.acked)}, c.held
}

// run follows until Close.
func (k *markKeeper) run(pulse func()) {
	defer close(k.done)
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if k.commits.idle() {
				pulse()
			}
			_ = k.flush() // it is logged, and claims wait until it works
		case <-k.stop:
			return
		}
	}
}

func (k *markKeeper) close() {
	close(k.stop)
	<-k.done
	_ = k.flush() // as above
}

func (c *commits) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.last) > pulseAfter
}

// flushed makes sure that the mark covers everything that was acknowledged: called before bytes leave, so that no
// attempt is forgotten that a provider may have. If it cannot be written the attempts leave all the same, since
// they are open, but no more messages are claimed.
func (s *Store) flushed() {
	if s.marks != nil {
		_ = s.marks.flush() // as above
	}
}

// unmarked says why nothing may be claimed.
func (s *Store) unmarked() error {
	if s.marks == nil {
		return nil
	}
	if err := s.marks.failing(); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the mark beside the store cannot be written, and nothing is sent until it can").After(time.Second)
	}
	return nil
}

// Watch implements store.Incarnations.
func (s *Store) Watch(ctx context.Context, m store.Marker) (store.Watched, error) {
	own, others, err := m.Marks()
	if err != nil {
		return store.Watched{}, err
	}
	w := store.Watched{Unmarked: own == nil}
	if own == nil {
		own = &store.Mark{Node: ident.NewNode()}
	}
	var numbers []int64
	err = s.once(ctx, func(t *tx) error {
		w.Behind = ""
		if w.Incarnation, err = t.incarnation(t.ctx); err != nil {
			return err
		}
		if w.Behind, err = t.behind(own, others, &w.Incarnation); err != nil || w.Behind == "" {
			return err
		}
		if err := t.hold(w.Behind); err != nil {
			return err
		}
		w.Incarnation, err = t.incarnation(t.ctx)
		return err
	})
	if err == nil {
		numbers, err = s.read().numbers(ctx, own.Node)
	}
	if err != nil {
		return w, err
	}
	s.commits.watch(own.Node, &w.Incarnation, numbers)
	s.marks = &markKeeper{commits: &s.commits, marker: m, log: s.log, stop: make(chan struct{}), done: make(chan struct{})}
	err = s.marks.flush()
	go s.marks.run(func() { s.pulse(context.WithoutCancel(ctx)) })
	return w, err
}

func (c *commits) watch(node ident.Node, i *store.Incarnation, numbers []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node, c.held, c.last = node, i.Held(), time.Now()
	c.adopt(i.ID, numbers)
}

// behind says why the store is behind the marks. The own one has to be of this incarnation or of one that the store
// has lived through. Another node's counts if it is of this incarnation: one that is not may be of a copy that
// somebody made and released for himself.
func (t *tx) behind(own *store.Mark, others []store.Mark, i *store.Incarnation) (string, error) {
	marks := append([]store.Mark{}, others...)
	if !own.Incarnation.IsZero() {
		marks = append(marks, *own)
	}
	for _, m := range marks {
		if m.Incarnation != i.ID {
			past, err := t.isPast(t.ctx, m.Incarnation)
			if err != nil || !past && m.Node == own.Node {
				return otherPast, err
			}
			continue
		}
		have, err := t.numbers(t.ctx, m.Node)
		if err != nil {
			return "", err
		}
		for w, n := range m.Numbers {
			if h := numberOf(have, w); h < n {
				return behindWords(n, h), nil
			}
		}
	}
	return "", nil
}

var readNumbers = define(`select string_agg(cast(c.writer as text) || ':' || cast(c.n as text), ',') from commit_number c where c.node = {1}`)

func (t *tx) numbers(ctx context.Context, node ident.Node) ([]int64, error) {
	var all sql.NullString
	err := t.row(ctx, readNumbers, nil, scan1(&all), node)
	return numbersFrom(all.String), err
}

// notice holds a store that turned out to be behind while this node was working on it.
func (s *Store) notice(ctx context.Context, why string) error {
	s.log.Error("the store went back in time: traffic waits for  einmal restored", "why", why)
	return s.once(ctx, func(t *tx) error {
		t.noticing, t.shifting = true, true
		return t.hold(why)
	})
}

// pulse is a transaction for its number's sake.
func (s *Store) pulse(ctx context.Context) {
	err := s.once(ctx, func(t *tx) error {
		t.changed = true
		return nil
	})
	if err != nil {
		s.log.Warn("the store takes no commit number at the moment", "error", err)
	}
}
