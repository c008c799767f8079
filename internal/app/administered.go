package app

import "github.com/einmal/einmal/internal/engine/control"

// administered is the table of what this node keeps a copy of, and reads again when it was changed through any node.
func (a *App) administered() *control.Watcher {
	return control.New(control.Config{Store: a.store, Log: a.log, Loaders: []control.Loader{}})
}
