package bench

import (
	"context"
	"fmt"
	"time"
)

// mostStart is how long a gateway with an empty embedded store may take until it is ready, in milliseconds.
const mostStart = 500

// Start measures how long a gateway takes from the start of its process until it is ready, with an empty store.
func Start(ctx context.Context, o Options) (*Report, error) {
	b, err := start(ctx, "start", o)
	if err == nil {
		err = b.starts(ctx)
	}
	return b.end(err)
}

func (b *bench) starts(ctx context.Context) error {
	took, again := make([]time.Duration, b.Rounds), make([]time.Duration, b.Rounds)
	var memory float64
	for i := range took {
		b.Progress(fmt.Sprintf("start %d of %d", i+1, b.Rounds), i, b.Rounds)
		err := b.twice(ctx, &took[i], &again[i], &memory)
		if err != nil {
			return err
		}
	}
	var goal *Goal // it is set for the embedded store
	if b.Store == sqliteStore {
		goal = atMost(mostStart)
	}
	b.add(figure("start with an empty store until ready, p50", percentiles(took).P50, "ms", goal),
		figure("start with an empty store until ready, max", percentiles(took).Max, "ms", nil),
		figure("start with that store again, p50", percentiles(again).P50, "ms", nil),
		figure("memory of a gateway that has just started", memory, "MiB", nil))
	return nil
}

// twice starts a gateway on an empty store, and once more.
func (b *bench) twice(ctx context.Context, first, second *time.Duration, memory *float64) (err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return err
	}
	defer closing(&err, s)
	for _, took := range []*time.Duration{first, second} {
		began := time.Now()
		g, err := b.serve(ctx, s, unbound())
		*took = time.Since(began)
		if err != nil {
			return err
		}
		*memory, _ = resident(g.pid())
		if err := g.Close(); err != nil {
			return err
		}
	}
	return nil
}
