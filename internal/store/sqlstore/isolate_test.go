package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/fault"
)

// stuckWriter lets every transaction wait in vain for a lock.
type stuckWriter struct{ tries int }

var errStuck = errors.New("lock timeout")

func (w *stuckWriter) write(context.Context, *Store, func(*tx) error) error {
	w.tries++
	return errStuck
}

func (w *stuckWriter) close() error { return nil }

// Where every item waits for the same thing, halving finds nobody to blame, and it ends: each transaction costs a
// lock's time-out.
func TestHalvingEnds(t *testing.T) {
	w := &stuckWriter{}
	s := &Store{
		d: &Dialect{Classify: func(error) Class { return Stuck }}, writer: w, log: slog.New(slog.DiscardHandler), retried: func(Class) {},
	}
	failed := map[int]error{}
	i := isolation{
		s: s, run: func(*tx, int, int, bool) error { return nil }, ends: time.Now().Add(-time.Second),
		fail: func(i int, err error) { failed[i] = err },
	}
	if err := i.between(context.Background(), 0, 256, false, nil); err != nil {
		t.Fatal(err)
	}
	if len(failed) != 256 || w.tries > 2 {
		t.Errorf("%d items have an answer after %d transactions", len(failed), w.tries)
	}
	for n, err := range failed {
		if fault.CodeOf(err) != fault.Unavailable {
			t.Fatalf("item %d: %v", n, err)
		}
	}
}
