package api

import (
	"context"

	"github.com/einmal/einmal/internal/ground/fault"
)

// /healthz, /readyz and /metrics ask for no key: what asks is a load balancer, a supervisor or a scraper, which
// have none. They tell nothing about messages or tenants, and the gateway listens on loopback unless it is told
// otherwise.

// HealthView says how the gateway is.
type HealthView struct {
	Status string `json:"status" doc:"ok, or ready."`
}

// health answers as long as the process can.
func (a *API) health(context.Context, *struct{}) (HealthView, error) {
	return HealthView{Status: "ok"}, nil
}

// readiness answers 503 with the reason while something is missing.
func (a *API) readiness(ctx context.Context, _ *struct{}) (HealthView, error) {
	if err := a.cfg.Ready(ctx); err != nil {
		if fault.CodeOf(err) != fault.Unavailable {
			err = fault.Wrap(err, fault.Unavailable, "the gateway is not ready")
		}
		return HealthView{}, err
	}
	return HealthView{Status: "ready"}, nil
}
