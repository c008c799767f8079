package smpp

import (
	"context"
	"sync"

	"github.com/einmal/einmal/internal/provider"
	wire "github.com/einmal/einmal/internal/smpp"
)

// arrival is an event and how to answer for it.
type arrival struct {
	event  provider.RawEvent
	answer func(wire.Status)
}

const (
	// maxArrivals is how many events may wait for the sink. More are answered "later" at once: a centre
	// without a window of its own must not fill the memory.
	maxArrivals = 5_000
	// maxTake is how many events go to the sink together.
	maxTake = 500
)

// taker gives events to the sink and answers for them. What arrives while a Take runs goes together into the
// next one.
type taker struct {
	sink   provider.Sink
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	waiting []arrival
	closed  bool
	wake    chan struct{}
	ended   chan struct{}
}

func newTaker(sink provider.Sink) *taker {
	t := &taker{sink: sink, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	go t.run()
	return t
}

func (t *taker) put(a arrival) {
	t.mu.Lock()
	full := t.closed || len(t.waiting) >= maxArrivals
	if !full {
		t.waiting = append(t.waiting, a)
	}
	t.mu.Unlock()
	if full {
		a.answer(wire.StatusTempAppErr)
		return
	}
	t.signal()
}

func (t *taker) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *taker) run() {
	defer close(t.ended)
	for range t.wake {
		batch, closed := t.next()
		for ; len(batch) > 0; batch, closed = t.next() {
			t.take(batch)
		}
		if closed {
			return
		}
	}
}

func (t *taker) next() ([]arrival, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(t.waiting), maxTake)
	batch := t.waiting[:n:n]
	t.waiting = t.waiting[n:]
	return batch, t.closed
}

// take answers "taken" only after the sink has the events durably. On an error the centre sends all of them
// again; those that were stored after all are then repeats.
func (t *taker) take(batch []arrival) {
	events := make([]provider.RawEvent, len(batch))
	for i, a := range batch {
		events[i] = a.event
	}
	status := wire.StatusOK
	if err := t.sink.Take(t.ctx, events); err != nil {
		status = wire.StatusTempAppErr
	}
	for _, a := range batch {
		a.answer(status)
	}
}

// stop lets the sink take what has arrived until ctx ends, then cancels it.
func (t *taker) stop(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.signal()
	defer t.cancel()
	select {
	case <-t.ended:
		return nil
	case <-ctx.Done():
	}
	t.cancel()
	<-t.ended
	return ctx.Err()
}
