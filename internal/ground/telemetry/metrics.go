package telemetry

import (
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// namespace is the first word of every metric.
const namespace = "einmal"

// Metrics is the gateway's registry. Labels hold names from closed lists alone: never a number, an id or
// anything else that a caller chooses, since each value is a time series.
type Metrics struct{ registry *prometheus.Registry }

// NewMetrics makes a registry with the process, the Go runtime and einmal_build_info in it.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m := &Metrics{registry: r}
	v := BuildVersion()
	m.Gauge("build_info", "The running build; its value is always 1.", "version", "revision", "go").
		WithLabelValues(v.Version, v.Revision, v.Go).Set(1)
	return m
}

// Counter makes and registers a counter, einmal_<name>. Asking twice for one name is a defect and panics.
func (m *Metrics) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

// Gauge makes and registers a gauge, einmal_<name>.
func (m *Metrics) Gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

// Histogram makes and registers a histogram of seconds, einmal_<name>, from a quarter of a millisecond to 8 s.
func (m *Metrics) Histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.000_25, 2, 16),
	}, labels)
	m.registry.MustRegister(h)
	return h
}

// Registerer is where a package registers what it makes itself.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Register adds collectors that are made elsewhere.
func (m *Metrics) Register(c ...prometheus.Collector) { m.registry.MustRegister(c...) }

// Handler serves the metrics in the format that Prometheus asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Build says which build is running.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// BuildVersion reads it from the binary. A build from a checkout has the version "(devel)".
func BuildVersion() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: "unknown", Revision: "unknown", Go: "unknown"}
	}
	b := Build{Version: info.Main.Version, Revision: "unknown", Go: info.GoVersion}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}
