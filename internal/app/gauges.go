package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/provider/binds"
	"github.com/einmal/einmal/internal/store"
)

const (
	// countEvery is how old counts may be. Whoever scrapes more often gets the same ones: the page asks for no key.
	countEvery = 10 * time.Second
	// countedTo is how far each is counted. More than that is shown as that.
	countedTo = 10_000
	// countWithin is how long a scrape waits for a store that does not answer.
	countWithin = 2 * time.Second
)

// gauges are what is read when the metrics are scraped. Counts are of the whole store, the same on every node. Without
// the store they are left out: an old number would look like a new one.
type gauges struct {
	store store.Backlogs
	lines func() []gauged
	held  func() bool
	log   *slog.Logger
	now   func() time.Time

	bound, heldBack, pending, awaited, unknown, exceptions, untold, dead *prometheus.Desc

	mu      sync.Mutex
	counted time.Time // when it was tried last; zero: never
	last    []counts  // nil: the store does not give any
}

// gauged is a connection as the gauges see it.
type gauged struct {
	id     int64
	name   string
	status string // provider.Provider.Status
}

// counts are what waits for one connection, with what waits for all of them.
type counts struct {
	connection string
	store.Backlog
}

func newGauges(s store.Backlogs, lines func() []gauged, held func() bool, log *slog.Logger) *gauges {
	of := []string{"connection"}
	return &gauges{
		store: s, lines: lines, held: held, log: log, now: time.Now,
		bound:      prometheus.NewDesc("einmal_connection_bound", "1: the node is bound, and messages can leave.", of, nil),
		heldBack:   prometheus.NewDesc("einmal_traffic_held", "1: the store went back in time, and traffic waits for einmal restored.", nil, nil),
		pending:    prometheus.NewDesc("einmal_messages_pending", "Messages that wait to be sent, counted up to 10000 in each lane.", append(of, "lane"), nil),
		awaited:    prometheus.NewDesc("einmal_messages_awaiting_receipt", "Messages that were handed over and may still get a receipt, counted up to 10000.", nil, nil),
		unknown:    prometheus.NewDesc("einmal_messages_unknown", "Messages of einmal_messages_awaiting_receipt whose outcome is unknown.", nil, nil),
		exceptions: prometheus.NewDesc("einmal_exceptions_open", "Exceptions that wait for a person, counted up to 10000.", nil, nil),
		untold:     prometheus.NewDesc("einmal_webhook_deliveries_waiting", "Deliveries to webhooks that wait or are under way, counted up to 10000.", nil, nil),
		dead:       prometheus.NewDesc("einmal_webhook_deliveries_dead", "Dead letters of webhooks, counted up to 10000.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.bound, g.heldBack, g.pending, g.awaited, g.unknown, g.exceptions, g.untold, g.dead} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, l := range g.lines() {
		gauge(g.bound, oneIf(l.status == binds.Bound), l.name)
	}
	gauge(g.heldBack, oneIf(g.held()))
	all := g.count()
	if len(all) == 0 {
		return
	}
	for _, c := range all {
		for lane, n := range c.Pending {
			gauge(g.pending, float64(n), c.connection, flow.LaneName(lane))
		}
	}
	b := all[0] // what is no connection's is counted with each
	gauge(g.awaited, float64(b.Awaited))
	gauge(g.unknown, float64(b.Unknown))
	gauge(g.exceptions, float64(b.Exceptions))
	gauge(g.untold, float64(b.Untold))
	gauge(g.dead, float64(b.Dead))
}

// count returns counts that are not too old; nil: the store does not give any.
func (g *gauges) count() []counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.counted.IsZero() && g.now().Sub(g.counted) < countEvery {
		return g.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	g.counted, g.last = g.now(), nil
	var all []counts
	for _, l := range g.lines() {
		b, err := g.store.Backlog(ctx, l.id, countedTo)
		if err != nil {
			g.log.Warn("what waits could not be counted, and is missing from the metrics", "error", err)
			return nil
		}
		all = append(all, counts{l.name, b})
	}
	g.last = all
	return g.last
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
