package outbound

import (
	"context"
	"errors"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/store"
)

// flood is more than all writers together have in hand.
const flood = 1 << 20

func testWriters(t *testing.T, conf batch.Config) *writers {
	t.Helper()
	w := newWriters(conf, func(s []store.Submission) ([]store.Decided, error) { return make([]store.Decided, len(s)), nil })
	t.Cleanup(w.close)
	return w
}

func submission(key intent.Key) store.Submission {
	return store.Submission{Request: &intent.Request{Keys: intent.Keys{Intent: key}}}
}

// Requests of one intent meet at one writer, and all writers have work.
func TestOneIntentOneWriter(t *testing.T) {
	used := map[*batch.Queue[store.Submission, store.Decided]]bool{}
	w := testWriters(t, batch.Config{Writers: 4})
	for i := range 64 {
		key := intent.Key{byte(i), 1}
		used[w.of(key, flood)] = true
		if w.of(key, flood) != w.of(intent.Key{byte(i), 1}, flood) {
			t.Error("one intent has two writers")
		}
		if _, err := w.do(context.Background(), submission(key), turn{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(used) != 4 || w.waiting() != 0 || w.inside.Load() != 0 {
		t.Errorf("%d of 4 writers had work, %d requests wait, %d are under way", len(used), w.waiting(), w.inside.Load())
	}
}

// A second writer begins when there is more under way than the first one's batch and the next.
func TestFewRequestsHaveOneWriter(t *testing.T) {
	w := testWriters(t, batch.Config{Max: 8, Writers: 4})
	for inside, want := range map[int64]int{1: 1, 16: 1, 17: 2, 33: 3, 48: 3, 49: 4, flood: 4} {
		used := map[*batch.Queue[store.Submission, store.Decided]]bool{}
		for i := range 64 {
			used[w.of(intent.Key{byte(i)}, inside)] = true
		}
		if len(used) != want {
			t.Errorf("%d requests under way have %d writers, want %d", inside, len(used), want)
		}
	}
}

// The writers together take no more than the bound, and a batch each.
func TestWritersAreBoundedTogether(t *testing.T) {
	w := testWriters(t, batch.Config{Max: 8, Writers: 2, Depth: 32})
	w.inside.Store(32 + 2*8)
	if _, err := w.do(context.Background(), submission(intent.Key{1}), turn{}); !errors.Is(err, batch.ErrFull) {
		t.Errorf("one more: %v", err)
	}
	w.inside.Store(32 + 2*8 - 1)
	if _, err := w.do(context.Background(), submission(intent.Key{1}), turn{}); err != nil {
		t.Errorf("the last: %v", err)
	}
}
