package outbound

import (
	"context"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/store"
)

// writers are the queues of requests, one for each writer. Requests of one intent go to one writer and meet in its
// batch, where a fold tells them apart; two writers would hold each other's key until a commit is on disk.
type writers []*batch.Queue[store.Submission, store.Decided]

func newWriters(conf batch.Config, decide func([]store.Submission) ([]store.Decided, error)) writers {
	n := max(conf.Writers, 1)
	conf.Writers = 1
	if conf.Depth > 0 { // 0 is the queue's own default
		conf.Depth = max(conf.Depth/n, 1)
	}
	all := make(writers, n)
	for i := range all {
		all[i] = batch.New(conf, decide)
	}
	return all
}

func (w writers) do(ctx context.Context, s store.Submission) (store.Decided, error) {
	return w.of(s.Keys.Intent).Do(ctx, uint16(s.Tenant), s)
}

// of chooses by the key, which is a keyed hash: even, and the same on every node.
func (w writers) of(key intent.Key) *batch.Queue[store.Submission, store.Decided] {
	return w[int(key[0])%len(w)]
}

func (w writers) waiting() int {
	n := 0
	for _, q := range w {
		n += q.Waiting()
	}
	return n
}

func (w writers) close() {
	for _, q := range w {
		q.Close()
	}
}
