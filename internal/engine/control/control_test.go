package control

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is a store with nothing but a count.
type counted struct {
	version atomic.Int64
	fails   atomic.Bool
}

func (c *counted) ControlVersion(context.Context) (int64, error) {
	if c.fails.Load() {
		return 0, errors.New("no connection")
	}
	return c.version.Load(), nil
}

func watcher(s *counted, load func(context.Context) error) *Watcher {
	return New(Config{
		Store: s, Loaders: []Loader{{"things", load}}, Every: time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
}

func TestLoadsOnceForEachCount(t *testing.T) {
	var s counted
	loads := 0
	w := watcher(&s, func(context.Context) error { loads++; return nil })
	for range 2 {
		if err := w.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.version.Add(1)
	if err := w.Load(t.Context()); err != nil || loads != 2 {
		t.Errorf("%d loads for two counts: %v", loads, err)
	}
}

// What could not be read is read again, although the count has not moved since.
func TestAFailedLoadIsTriedAgain(t *testing.T) {
	var s counted
	fails, loads := true, 0
	w := watcher(&s, func(context.Context) error {
		loads++
		if fails {
			return errors.New("no connection")
		}
		return nil
	})
	if err := w.Load(t.Context()); err == nil {
		t.Error("the error is lost")
	}
	fails = false
	if err := w.Load(t.Context()); err != nil || loads != 2 {
		t.Errorf("%d loads: %v", loads, err)
	}
}

// A store that does not answer for a while ends nothing: the change is seen once it answers.
func TestOtherNodesChangesAreSeen(t *testing.T) {
	var s counted
	loaded := make(chan int64, 10)
	w := watcher(&s, func(context.Context) error { loaded <- s.version.Load(); return nil })
	if err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-loaded
	s.fails.Store(true)
	w.Start(t.Context())
	defer w.Stop()
	s.version.Add(1)
	s.fails.Store(false)
	select {
	case v := <-loaded:
		if v != 1 {
			t.Errorf("loaded under %d", v)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the change was not seen within ten seconds")
	}
}
