package outbound

import (
	"context"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/store"
)

// Requests of one intent meet at one writer, and all writers have work.
func TestOneIntentOneWriter(t *testing.T) {
	used := map[*batch.Queue[store.Submission, store.Decided]]bool{}
	w := newWriters(batch.Config{Writers: 4}, func(s []store.Submission) ([]store.Decided, error) { return make([]store.Decided, len(s)), nil })
	defer w.close()
	for i := range 64 {
		key := intent.Key{byte(i), 1}
		used[w.of(key)] = true
		if w.of(key) != w.of(intent.Key{byte(i), 1}) {
			t.Error("one intent has two writers")
		}
		if _, err := w.do(context.Background(), store.Submission{Request: &intent.Request{Keys: intent.Keys{Intent: key}}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(used) != 4 || w.waiting() != 0 {
		t.Errorf("%d of 4 writers had work, %d requests wait", len(used), w.waiting())
	}
}
