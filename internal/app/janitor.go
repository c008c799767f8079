package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/engine/history"
)

// janitor destroys the keys of codes that have ended (D15). A minute late is harmless: the content is sealed,
// and nobody is shown it. Beside it works who forgets what is old.
type janitor struct {
	store  keyDestroyer
	old    *history.Worker
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
}

type keyDestroyer interface {
	DestroyOwnKeys(ctx context.Context, limit int) (int, error)
}

const (
	janitorEvery = 10 * time.Second
	janitorBatch = 1000
)

func newJanitor(s keyDestroyer, old *history.Worker, log *slog.Logger) *janitor {
	return &janitor{store: s, old: old, log: log}
}

func (j *janitor) start(ctx context.Context) {
	j.old.Start(ctx)
	ctx, j.cancel = context.WithCancel(ctx)
	j.done.Go(func() {
		tick := time.NewTicker(janitorEvery)
		defer tick.Stop()
		for {
			j.clean(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (j *janitor) stop() {
	j.cancel()
	j.done.Wait()
	j.old.Stop()
}

// clean goes on until a batch is not full.
func (j *janitor) clean(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := j.store.DestroyOwnKeys(ctx, janitorBatch)
		if err != nil {
			j.log.Error("keys of ended codes could not be destroyed; the next try is in ten seconds", "error", err)
		}
		if err != nil || n < janitorBatch {
			return
		}
	}
}
