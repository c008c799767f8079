package outbound

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/fault"
)

// metrics counts what was decided. Labels come from closed lists and the policy alone.
type metrics struct {
	decisions *prometheus.CounterVec
	keys      *prometheus.CounterVec
	storms    *prometheus.CounterVec
	refusals  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, waiting func() int) *metrics {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "einmal_decisions_total",
			Help: "Decisions on submitted requests, dry runs and replayed answers left out. would: what mode monitor did not do.",
		}, []string{"action", "class", "reason", "purpose", "mode", "would"}),
		keys: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "einmal_idempotency_total",
			Help: "Requests that their idempotency key answered: replayed, mismatch or in_progress.",
		}, []string{"result"}),
		storms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "einmal_storm_repeats_total",
			Help: "Repeats that were not recorded one by one: counted in a run, or refused.",
		}, []string{"result", "purpose"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "einmal_refusals_total",
			Help: "Requests that a rule beside deduplication refused, by the kind of the rule: team, limit, funds.",
		}, []string{"kind", "rule", "purpose"}),
	}
	if r != nil {
		r.MustRegister(m.decisions, m.keys, m.storms, m.refusals, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "einmal_decide_waiting",
			Help: "Requests that wait for the batch in which they are decided.",
		}, func() float64 { return float64(waiting()) }))
	}
	return m
}

func (m *metrics) count(sub *Submission, a Answer, err error) {
	switch {
	case err != nil:
		switch fault.CodeOf(err) {
		case fault.IdempotencyMismatch:
			m.keys.WithLabelValues("mismatch").Inc()
		case fault.InProgress:
			m.keys.WithLabelValues("in_progress").Inc()
		case fault.Storm:
			m.storms.WithLabelValues("refused", sub.served).Inc()
		}
	case a.DryRun:
	case a.Replayed:
		m.keys.WithLabelValues("replayed").Inc()
	default:
		if a.Kind == intent.Counted {
			m.storms.WithLabelValues("counted", sub.served).Inc()
		}
		d := a.Decision
		if by := d.Refusal(); by != nil {
			m.refusals.WithLabelValues(string(by.Kind), by.Rule, sub.served).Inc()
		}
		m.decisions.WithLabelValues(d.Action.String(), d.Class.String(), string(d.Reason), sub.served, string(d.Mode), d.Would.String()).Inc()
	}
}
