package deliver

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/telemetry"
	"github.com/einmal/einmal/internal/store"
)

// Metrics are a node's.
type Metrics struct {
	tries  *prometheus.CounterVec
	oldest prometheus.Gauge
}

// NewMetrics makes and registers them.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		tries:  m.Counter("webhook_tries_total", "Requests to tenants' endpoints by what came of them: delivered, retry, dead, or late, when somebody else had the delivery by then.", "result"),
		oldest: m.Gauge("webhook_overdue_seconds", "For how long the delivery that is due longest has waited for its turn.").WithLabelValues(),
	}
}

// count counts a try by what became of its delivery.
func (m *Metrics) count(a webhook.Answer, after webhook.Delivery) {
	result := "late"
	switch verdict := a.Verdict(); {
	case verdict == webhook.Unsent:
		return
	case verdict == webhook.Took:
		result = "delivered"
	case after.State == webhook.Pending:
		result = "retry"
	case after.State == webhook.Dead:
		result = "dead"
	}
	m.tries.WithLabelValues(result).Inc()
}

func (m *Metrics) overdue(due []store.DueWebhook, now clock.Micros) {
	longest := 0.0
	for _, w := range due {
		longest = max(longest, now.Sub(w.NextAt).Seconds())
	}
	m.oldest.Set(longest)
}
