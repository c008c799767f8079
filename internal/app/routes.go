package app

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
)

// route chooses a message's connection.
func (a *App) route(context.Context, route.Question) (outbound.Connection, error) {
	all := a.lines.all()
	if len(all) == 0 {
		return outbound.Connection{}, fault.New(fault.Unavailable, "no connection is there over which it could be sent")
	}
	return all[0].outbound(), nil
}

func (l *line) outbound() outbound.Connection {
	return outbound.Connection{ID: l.id, Long: l.cfg.Long.limits(), ReceiptTime: time.Duration(l.cfg.Receipts.Time)}
}
