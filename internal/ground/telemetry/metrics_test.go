package telemetry

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// covers: X4
func TestMetricsAreServed(t *testing.T) {
	m := NewMetrics()
	m.Counter("decisions_total", "Decisions.", "action").WithLabelValues("allow").Add(2)
	m.Gauge("free", "Free.").WithLabelValues().Set(3)
	m.Histogram("wait_seconds", "Wait.").WithLabelValues().Observe(0.1)
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`einmal_decisions_total{action="allow"} 2`, "einmal_free 3", "einmal_wait_seconds_count 1",
		"go_goroutines", "process_start_time_seconds", "einmal_build_info{",
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}
