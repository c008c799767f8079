package bench

import (
	"context"
	"net/http"
)

// decideOverHTTP compares a gateway's answers with those of a bare handler. Both have a process of their own;
// the clients are the same. Nothing is dispatched: the gateway's connection is bound to nobody, so what is
// measured is decisions, with what a serving gateway does beside them, such as numbering its events.
func (b *bench) decideOverHTTP(ctx context.Context) (err error) {
	s, err := newScratch(ctx, b.Options)
	if err != nil {
		return err
	}
	defer closing(&err, s)
	g, err := b.serve(ctx, s, unbound())
	if err != nil {
		return err
	}
	defer closing(&err, g)
	bare, err := b.run(ctx, "bench", "bare-handler")
	if err != nil {
		return err
	}
	defer closing(&err, bare)
	h := &overHTTP{b: b, gateway: g, bare: bare, ours: newLoad(g.url, g.key), theirs: newLoad("http://"+bare.ready.Listen, "x")}
	defer h.ours.Close()
	defer h.theirs.Close()
	return h.measure(ctx)
}

// hotness is how often each of few intents is repeated in a round: below what is called a storm.
const hotness = 100

type overHTTP struct {
	b            *bench
	gateway      *gateway
	bare         *child
	ours, theirs *load
	sent         int // orders so far: the next is a new intent
}

func (h *overHTTP) measure(ctx context.Context) error {
	if _, err := h.fresh(ctx); err != nil { // to warm up
		return err
	}
	if _, err := h.handler(ctx); err != nil {
		return err
	}
	handler := side{"bare handler", h.handler}
	news, err := h.b.turns(ctx, "new intents over HTTP", side{"einmal", h.fresh}, handler)
	if err != nil {
		return err
	}
	repeats, err := h.b.turns(ctx, "duplicates over HTTP", side{"einmal", h.repeats(h.b.Count)}, handler)
	if err != nil {
		return err
	}
	hot, err := h.b.turns(ctx, "duplicates of few intents over HTTP", side{"einmal", h.repeats(max(h.b.Count/hotness, 1))}, handler)
	if err != nil {
		return err
	}
	var least *Goal // it is set for the embedded store
	if h.b.Store == sqliteStore {
		least = atLeast(leastOfBareHTTP)
	}
	h.b.add(h.line("new intents over HTTP / bare handler", least, news),
		h.line("duplicates over HTTP / bare handler", atLeast(leastOfRepeats), repeats),
		h.line("duplicates of few intents over HTTP / bare handler", atLeast(leastOfRepeats), hot))
	now, most := resident(h.gateway.pid())
	h.b.add(figure("memory of the gateway", now, "MiB", nil), figure("memory of the gateway at its most", most, "MiB", nil))
	return nil
}

func (h *overHTTP) line(what string, goal *Goal, all [][]sample) Line {
	return ratio(what, goal, merge("einmal", all[0]), merge("bare handler", all[1]), all[0], all[1])
}

// fresh posts new intents.
func (h *overHTTP) fresh(ctx context.Context) (sample, error) {
	from := h.sent
	h.sent += h.b.Count
	return h.drive(ctx, h.ours, h.gateway.pid(), http.StatusCreated, func(i int) int { return from + i })
}

// repeats posts the first so many orders again.
func (h *overHTTP) repeats(different int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return h.drive(ctx, h.ours, h.gateway.pid(), http.StatusOK, func(i int) int { return i % different })
	}
}

func (h *overHTTP) handler(ctx context.Context) (sample, error) {
	return h.drive(ctx, h.theirs, h.bare.pid(), http.StatusCreated, func(i int) int { return i })
}

func (h *overHTTP) drive(ctx context.Context, l *load, pid, want int, order func(i int) int) (sample, error) {
	m := h.b.meter(pid)
	lat, err := inParallel(ctx, connections, h.b.Count, func(i int) error { return l.post(ctx, orderBody(order(i)), want) })
	return m.stop(h.b.Count, lat), err
}
