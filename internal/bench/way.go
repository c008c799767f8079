package bench

import (
	"context"
	"net/http"
	"sync/atomic"
)

// way is how a tenant's messages go through the pipeline.
type way struct {
	*pipe
	load *load
	// told counts the messages of which the tenant's endpoint knows that they were delivered; nil: it has none.
	told  *atomic.Int64
	grown growth
}

// growth is by how much messages made the store grow.
type growth struct {
	size
	messages int
}

func (g growth) rows() float64  { return float64(g.size.rows) / float64(g.messages) }
func (g growth) bytes() float64 { return float64(g.size.bytes) / float64(g.messages) }

func (g *growth) add(before, after size, messages int) {
	g.size.rows += after.rows - before.rows
	g.size.bytes += after.bytes - before.bytes
	g.messages += messages
}

// messages sends new intents and waits until the receipt of each has had its effect, the last event has its place in the
// feed, and the endpoint was told.
func (w *way) messages(ctx context.Context) (sample, error) {
	before, err := w.scratch.size(ctx)
	if err != nil {
		return sample{}, err
	}
	took, err := w.through(ctx)
	if err != nil {
		return sample{}, err
	}
	after, err := w.scratch.size(ctx)
	w.grown.add(before, after, w.b.Count)
	return took, err
}

func (w *way) through(ctx context.Context) (sample, error) {
	before, err := w.receipts(ctx)
	if err != nil {
		return sample{}, err
	}
	var known int
	if w.told != nil {
		known = int(w.told.Load())
	}
	from := w.sent
	w.sent += w.b.Count
	m := w.b.meter(w.gateway.pid())
	lat, err := inParallel(ctx, connections, w.b.Count, func(i int) error {
		return w.load.post(ctx, orderBody(from+i), http.StatusCreated)
	})
	if err != nil {
		return sample{}, err
	}
	now, _ := resident(w.gateway.pid())
	w.most = max(w.most, now)
	err = w.b.until(ctx, "pipeline: receipts", before+w.b.Count, func() (int, error) { return w.receipts(ctx) })
	if err == nil {
		err = w.b.until(ctx, "pipeline: events that wait", 0, func() (int, error) { return w.scratch.waiting(ctx) })
	}
	if err == nil && w.told != nil {
		err = w.b.until(ctx, "pipeline: webhooks", known+w.b.Count, func() (int, error) { return int(w.told.Load()), nil })
	}
	return m.stop(w.b.Count, lat), err
}
