// Package batch is group commit: a batch is whatever arrived while the one before it was under way.
//
// Nothing waits for a batch to fill. With little traffic every item goes alone at once; under load batches grow
// by themselves, and one fsync serves all of a batch.
package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Errors of Do. The item was not given to run.
var (
	ErrFull   = errors.New("batch: the queue is full")
	ErrClosed = errors.New("batch: the queue is closed")
)

// Config bounds a queue. Zero values take the defaults.
type Config struct {
	Max     int // items of one batch; DefaultMax
	Writers int // batches under way at the same time; 1
	// Depth is how many items may wait, of all tenants together; 4096. Beyond it the caller is told to come
	// back later: a queue that grows answers everybody too late.
	Depth int
}

// DefaultMax is how many items a batch has at most where nobody says otherwise: more gain little and wait long.
const DefaultMax = 256

// Queue gathers items into batches. Tenants take turns.
type Queue[T, R any] struct {
	run  func([]T) ([]R, error)
	conf Config
	pool sync.Pool // of *item[T, R]

	mu      sync.Mutex
	work    sync.Cond
	lines   lines[T, R]
	closed  bool
	writers sync.WaitGroup
}

// item is one caller's. Once started it gets exactly one signal on done.
type item[T, R any] struct {
	value      T
	result     R
	err        error
	done       chan struct{} // one signal deep, so that a writer never waits for a caller
	prev, next *item[T, R]
	started    bool
}

// New starts a queue. run answers a batch, in its order, with a result for each item; its error is every item's
// error. It is called by Writers goroutines and owns its slice until it returns.
func New[T, R any](conf Config, run func([]T) ([]R, error)) *Queue[T, R] {
	orElse := func(n, def int) int {
		if n > 0 {
			return n
		}
		return def
	}
	q := &Queue[T, R]{run: run, conf: Config{
		Max: orElse(conf.Max, DefaultMax), Writers: orElse(conf.Writers, 1), Depth: orElse(conf.Depth, 4096),
	}}
	q.pool.New = func() any { return &item[T, R]{done: make(chan struct{}, 1)} }
	q.work.L = &q.mu
	q.lines.byTenant = map[uint16]*line[T, R]{}
	for range q.conf.Writers {
		q.writers.Go(q.write)
	}
	return q
}

// Do puts an item in its tenant's line and waits for its result. A caller whose context ends while its item
// waits takes it out and gets the context's error: nothing has happened. Once its batch has begun it waits for
// the result, whatever its context says: a commit is not undone by somebody going away.
func (q *Queue[T, R]) Do(ctx context.Context, tenant uint16, value T) (R, error) {
	return q.DoInOrder(ctx, tenant, value, nil)
}

// DoInOrder is Do, and calls entered once the item has its place in the line, or has none. Who puts the next item in
// after that has both decided in this order.
func (q *Queue[T, R]) DoInOrder(ctx context.Context, tenant uint16, value T, entered func()) (R, error) {
	it := q.pool.Get().(*item[T, R]) // New says so
	it.value = value
	defer q.put(it)
	err := q.enter(ctx, tenant, it)
	if entered != nil {
		entered()
	}
	if err != nil {
		return it.result, err
	}
	select {
	case <-it.done:
	case <-ctx.Done():
		if q.leave(tenant, it) {
			return it.result, ctx.Err()
		}
		<-it.done
	}
	return it.result, it.err
}

func (q *Queue[T, R]) enter(ctx context.Context, tenant uint16, it *item[T, R]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case q.lines.waiting >= q.conf.Depth:
		return ErrFull
	}
	q.lines.push(tenant, it)
	q.work.Signal()
	return nil
}

// leave takes out an item that has not started.
func (q *Queue[T, R]) leave(tenant uint16, it *item[T, R]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it.started {
		return false
	}
	q.lines.remove(tenant, it)
	return true
}

func (q *Queue[T, R]) put(it *item[T, R]) {
	*it = item[T, R]{done: it.done}
	q.pool.Put(it)
}

// Waiting is how many items wait for a batch.
func (q *Queue[T, R]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lines.waiting
}

// Close refuses new items, finishes those that wait, and returns when the last batch has ended.
func (q *Queue[T, R]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.work.Broadcast()
	q.writers.Wait()
}

func (q *Queue[T, R]) write() {
	taken := make([]*item[T, R], 0, q.conf.Max)
	for {
		if taken = q.take(taken[:0]); len(taken) == 0 {
			return
		}
		q.settle(taken)
		clear(taken)
	}
}

// take waits for work. It returns nothing once the queue is closed and empty.
func (q *Queue[T, R]) take(into []*item[T, R]) []*item[T, R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.lines.waiting == 0 && !q.closed {
		q.work.Wait()
	}
	for len(into) < q.conf.Max && q.lines.waiting > 0 {
		it := q.lines.pop()
		it.started = true
		into = append(into, it)
	}
	return into
}

func (q *Queue[T, R]) settle(batch []*item[T, R]) {
	values := make([]T, len(batch))
	for i, it := range batch {
		values[i] = it.value
	}
	results, err := q.run(values)
	if err == nil && len(results) != len(batch) {
		err = fmt.Errorf("batch: %d results for %d items", len(results), len(batch))
	}
	for i, it := range batch {
		if it.err = err; err == nil {
			it.result = results[i]
		}
		it.done <- struct{}{}
	}
}
