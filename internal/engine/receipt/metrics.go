package receipt

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/ground/telemetry"
)

// Metrics are the counters of a node's worker.
type Metrics struct {
	receipts     *prometheus.CounterVec
	others, left prometheus.Counter
}

// NewMetrics makes and registers them.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		receipts: m.Counter("receipts_total", "Receipts by what they did.", "connection", "effect", "simulated"),
		others:   m.Counter("inbound_calls_total", "Stored calls that are no receipts: inbound messages, acknowledgements.").WithLabelValues(),
		left:     m.Counter("receipts_left_total", "Receipts that were left to the sweep, since the worker was busy.").WithLabelValues(),
	}
}

func (m *Metrics) receipt(c Connection, effect string) {
	m.receipts.WithLabelValues(c.Name, effect, strconv.FormatBool(c.Simulated)).Inc()
}
