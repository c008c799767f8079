package app

import (
	"context"

	"github.com/einmal/einmal/internal/engine/control"
)

// administered is the table of what this node keeps a copy of, and reads again when it was changed through any node.
func (a *App) administered() *control.Watcher {
	return control.New(control.Config{Store: a.store, Log: a.log, Loaders: []control.Loader{
		{Name: "tenants", Load: a.tenants.load},
		{Name: "connections and routes", Load: a.loadLines},
		{Name: "prices", Load: a.prices.load},
	}})
}

// changed puts in force here what was changed through this node. If that cannot be, the watcher does it within a second,
// as on every other node.
func (a *App) changed(ctx context.Context) {
	if err := a.control.Load(context.WithoutCancel(ctx)); err != nil {
		a.log.Warn("what was just changed is not in force on this node yet; it asks each second", "error", err)
	}
}
