package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outbox is a store with nothing but a number of events.
type outbox struct {
	mu      sync.Mutex
	waiting int
	feed    int // entries older than what is kept
	fails   int // so many calls fail
	before  clock.Micros
	changed chan struct{} // receives a value after each call that did something
}

func newOutbox() *outbox { return &outbox{changed: make(chan struct{}, 100)} }

func (o *outbox) put(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting += n
}

func (o *outbox) Sequence(_ context.Context, limit int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails > 0 {
		o.fails--
		return 0, errors.New("no connection")
	}
	n := min(limit, o.waiting)
	o.waiting -= n
	if n > 0 {
		o.changed <- struct{}{}
	}
	return n, nil
}

func (o *outbox) TrimFeed(_ context.Context, before clock.Micros, limit int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(limit, o.feed)
	o.feed, o.before = o.feed-n, before
	o.changed <- struct{}{}
	return n, nil
}

func (o *outbox) Now(context.Context) (clock.Micros, error) {
	return clock.Micros(time.Hour.Microseconds() * 100), nil
}

func (o *outbox) left() (waiting, feed int, before clock.Micros) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting, o.feed, o.before
}

func (o *outbox) await(t *testing.T) {
	t.Helper()
	select {
	case <-o.changed:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing happened within ten seconds")
	}
}

func start(t *testing.T, cfg Config) *Sequencer {
	t.Helper()
	cfg.Log, cfg.Metrics = slog.New(slog.DiscardHandler), NewMetrics(telemetry.NewMetrics())
	s := New(cfg)
	s.Start(t.Context())
	t.Cleanup(s.Stop)
	return s
}

func TestWakeSequencesEverything(t *testing.T) {
	o := newOutbox()
	s := start(t, Config{Store: o, Every: time.Hour})
	o.put(2*batch + 1)
	s.Wake()
	for range 3 {
		o.await(t)
	}
	if waiting, _, _ := o.left(); waiting != 0 {
		t.Errorf("%d events still wait after a wake, want 0", waiting)
	}
}

func TestEventsLeaveWithoutAWake(t *testing.T) {
	o := newOutbox()
	start(t, Config{Store: o, Every: time.Millisecond})
	o.put(1)
	o.await(t)
}

func TestAnErrorLeavesEventsForTheNextRound(t *testing.T) {
	o := newOutbox()
	o.waiting, o.fails = 1, 3
	start(t, Config{Store: o, Every: time.Millisecond})
	o.await(t)
}

func TestTrimRemovesWhatIsOlderThanKept(t *testing.T) {
	o := newOutbox()
	o.feed = trimBatch + 5
	start(t, Config{Store: o, Keep: 40 * time.Hour})
	o.await(t)
	o.await(t)
	_, feed, before := o.left()
	if want := clock.Micros(time.Hour.Microseconds() * 60); feed != 0 || before != want {
		t.Errorf("%d entries are left and %d was the limit, want 0 and %d", feed, before, want)
	}
}
