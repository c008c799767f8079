package dispatch

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/provider"
)

// Metrics are the counters of all dispatchers and of the sweeper of a node.
type Metrics struct {
	claimed, returned, late, stuck, pauses, slowed *prometheus.CounterVec // by connection
	stopped, binds                                 *prometheus.GaugeVec
	outcomes                                       *prometheus.CounterVec
	swept                                          *prometheus.CounterVec
	orphans                                        prometheus.Counter
}

// NewMetrics makes and registers them.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		claimed:  m.Counter("claimed_total", "Messages that a node has claimed.", "connection"),
		returned: m.Counter("returned_total", "Claimed messages that were given back without an attempt.", "connection"),
		late:     m.Counter("late_claims_total", "Claimed messages that came too late for an attempt. Many mean that the store is slow.", "connection"),
		stuck:    m.Counter("outcomes_stuck_total", "Tries at which the store could not take an outcome by itself. It is kept, and tried again.", "connection"),
		pauses:   m.Counter("connection_pauses_total", "Pauses of a connection that its provider refuses as a whole.", "connection"),
		slowed:   m.Counter("slow_downs_total", "Answers by which a provider asked for a lower rate.", "connection"),
		stopped:  m.Gauge("stopped_flows", "Flows with work that an emergency stop holds, of those that the last claim looked at.", "connection"),
		binds:    m.Gauge("bind_slots", "Binds of a connection that this node may use now, of those that nodes share.", "connection"),
		outcomes: m.Counter("outcomes_total", "Answers to attempts, or their lack.", "connection", "outcome", "late", "simulated"),
		swept:    m.Counter("swept_total", "Messages for which a time was over.", "what"),
		orphans:  m.Counter("orphans_total", "Messages whose worker was gone while an attempt was open: unknown.").WithLabelValues(),
	}
}

func (m *Metrics) outcome(c Connection, o provider.Outcome) {
	m.outcomes.WithLabelValues(c.Name, o.Kind.String(), strconv.FormatBool(o.Late), strconv.FormatBool(c.Simulated)).Inc()
}

func (d *Dispatcher) log() *slog.Logger { return d.cfg.Log.With("connection", d.cfg.Connection.Name) }

// logError logs an error, unless it comes from our own end.
func (d *Dispatcher) logError(ctx context.Context, what string, err error, args ...any) {
	if ctx.Err() == nil {
		d.log().Error(what, append(args, "error", err)...)
	}
}
