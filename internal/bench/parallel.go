package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// inParallel does n things in so many goroutines and returns how long each took. The first error ends it.
func inParallel(ctx context.Context, workers, n int, do func(i int) error) ([]time.Duration, error) {
	var (
		next   atomic.Int64
		failed atomic.Pointer[error]
		wg     sync.WaitGroup
		took   = make([]time.Duration, n)
	)
	for range min(workers, n) {
		wg.Go(func() {
			for failed.Load() == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				began := time.Now()
				if err := do(i); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return took, ctx.Err()
}
