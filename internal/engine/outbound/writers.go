package outbound

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// writers are the queues of requests, one for each writer. Requests of one intent go to one writer and meet in its
// batch, where a fold tells them apart; two writers would hold each other's key until a commit is on disk.
//
// Only as many of them have work as there are full batches under way: what a transaction costs is paid once for a
// large batch, and four times for its quarters. While their number changes, two writers may meet at a key; the
// store makes one of them wait.
type writers struct {
	queues []*batch.Queue[store.Submission, store.Decided]
	full   int64 // requests that keep one writer busy: a batch that is decided, and one that waits
	most   int64 // requests under way, of all writers together; 0: each queue has its own bound alone
	inside atomic.Int64
}

func newWriters(conf batch.Config, decide func([]store.Submission) ([]store.Decided, error)) *writers {
	n, size := max(conf.Writers, 1), cmp.Or(conf.Max, batch.DefaultMax)
	conf.Writers = 1
	w := &writers{queues: make([]*batch.Queue[store.Submission, store.Decided], n), full: 2 * int64(size)}
	if conf.Depth > 0 {
		w.most = int64(conf.Depth + n*size)
	}
	for i := range w.queues {
		w.queues[i] = batch.New(conf, decide)
	}
	return w
}

// turn is a place in an order: of requests that come together the same writer decides equal ones, however many others
// come meanwhile. The zero turn is that of a request by itself.
type turn struct {
	inside  int64  // how many requests were under way when they came
	entered func() // called once the request is in its line, or has no place in it
	made    ids
	before  []ident.Message // of the requests before it
}

func (w *writers) do(ctx context.Context, s store.Submission, t turn) (store.Decided, error) {
	inside := w.inside.Add(1)
	defer w.inside.Add(-1)
	if w.most > 0 && inside > w.most {
		return store.Decided{}, batch.ErrFull
	}
	if t.inside > 0 {
		inside = t.inside
	}
	return w.of(s.Keys.Intent, inside).DoInOrder(ctx, uint16(s.Tenant), s, t.entered)
}

// of chooses by the key, which is a keyed hash: even, and the same on every node. inside is how many requests are
// under way.
func (w *writers) of(key intent.Key, inside int64) *batch.Queue[store.Submission, store.Decided] {
	busy := min((inside+w.full-1)/w.full, int64(len(w.queues)))
	return w.queues[int64(key[0])%max(busy, 1)]
}

func (w *writers) waiting() int {
	n := 0
	for _, q := range w.queues {
		n += q.Waiting()
	}
	return n
}

func (w *writers) close() {
	for _, q := range w.queues {
		q.Close()
	}
}
