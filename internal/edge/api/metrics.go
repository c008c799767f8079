package api

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/ground/telemetry"
)

// requestMetrics counts requests by route and status.
type requestMetrics struct{ total *prometheus.CounterVec }

func newRequestMetrics(m *telemetry.Metrics) *requestMetrics {
	return &requestMetrics{m.Counter("http_requests_total", "HTTP requests by route and status.", "route", "status")}
}

// count takes the pattern that matched, never the path, which may hold anything.
func (m *requestMetrics) count(pattern string, status int) {
	m.total.WithLabelValues(pattern, strconv.Itoa(status)).Inc()
}
