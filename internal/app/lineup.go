package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/store"
)

// names are the configured connections, those first whose id spaces others share.
func (c Config) names() []string {
	return slices.SortedFunc(maps.Keys(c.Connections), func(a, b string) int {
		shares := func(name string) int { return oneOr(c.Connections[name].IDSpace == "") }
		if d := shares(a) - shares(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// declareLines makes the lines of the configuration known. Nothing runs yet.
func (a *App) declareLines(ctx context.Context) error {
	var all []*line
	for _, name := range a.cfg.names() {
		l, err := a.declare(ctx, name, a.cfg.Connections[name])
		if err != nil {
			return err
		}
		l.source = a.cfg.connectionsFrom()
		all = append(all, l)
	}
	to := routes{source: fromDefault, otherwise: []route.Rule{{Use: a.cfg.names()[:1]}}}
	if len(a.cfg.Routes) > 0 {
		to.source, to.shown = fromFile, a.cfg.Routes
	}
	a.lines.put(to, all...)
	return nil
}

// loadLines brings what is administered into force on this node: control.Loader. A connection that this node cannot run
// keeps no other from its change.
func (a *App) loadLines(ctx context.Context) error {
	a.lines.changing.Lock()
	defer a.lines.changing.Unlock()
	settings, err := a.store.ConnectionSettings(ctx)
	if err != nil {
		return err
	}
	now := a.lines.now.Load()
	to, err := a.loadRoutes(ctx, now.routes)
	if err != nil {
		return err
	}
	var changed []*line
	for i := range settings {
		have, same := now.administered(&settings[i])
		if same {
			continue
		}
		l, err := a.administeredLine(ctx, &settings[i])
		if err != nil {
			a.log.Error("the settings of a connection cannot be used on this node; it goes on with what it had", "connection", settings[i].Name, "error", err)
			continue
		}
		if have != nil {
			l.keeper = have.keeper
		}
		changed = append(changed, l)
	}
	a.lines.put(to, changed...)
	for _, l := range changed {
		if a.lines.begun {
			l.keeper.set(l)
		}
	}
	if len(changed) > 0 {
		a.receipts.Declared()
	}
	return nil
}

func (a *App) administeredLine(ctx context.Context, c *store.ConnectionSetting) (*line, error) {
	cfg, err := readSettings([]byte(c.Settings))
	if err != nil {
		return nil, err
	}
	l, err := a.declare(ctx, c.Name, cfg)
	if err != nil {
		return nil, err
	}
	l.source, l.settings, l.enabled, l.removed, l.changed = fromAPI, c.Settings, c.Enabled && !c.Removed, c.Removed, c.Changed
	return l, nil
}

// loadRoutes reads the routes that count on this node: the file's, else those that are administered.
func (a *App) loadRoutes(ctx context.Context, now routes) (routes, error) {
	tenants, err := a.store.TenantNames(ctx)
	if err != nil {
		return now, err
	}
	if now.source == fromFile {
		now.rules = a.resolveRoutes(now.shown, tenants)
		return now, nil
	}
	list, err := a.store.Routes(ctx)
	if err != nil {
		return now, err
	}
	to := routes{source: fromDefault, otherwise: now.otherwise, rules: list.Rules, changed: list.Changed}
	if len(list.Rules) > 0 {
		to.source = fromAPI
	}
	for _, r := range list.Rules {
		to.shown = append(to.shown, Route{Purpose: r.Purpose, Tenant: tenants[r.Tenant], Prefix: r.Prefix, Sender: r.Sender, Use: r.Use})
	}
	return to, nil
}

// startLines starts all lines. One of the configuration that cannot be started keeps the gateway from starting; of
// those that are administered the others start.
func (a *App) startLines() error {
	a.lines.changing.Lock()
	defer a.lines.changing.Unlock()
	a.lines.begun = true
	for _, l := range a.lines.all() {
		if !l.enabled {
			continue
		}
		if err := l.keeper.begin(l); err != nil && l.source != fromAPI {
			return fmt.Errorf("connections.%s: %w", l.name, err)
		} else if err != nil {
			a.cannotRun(l, err)
		}
	}
	return nil
}

// cannotRun tells of a connection that this node cannot run as it is set up.
func (a *App) cannotRun(l *line, err error) {
	a.log.Error("a connection cannot be started on this node; what is sent over it waits", "connection", l.name, "error", err)
}

// stopLines stops all of them at the same time, so that each has all of ctx.
func (a *App) stopLines(ctx context.Context) error {
	a.lines.changing.Lock()
	defer a.lines.changing.Unlock()
	all := a.lines.all()
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, l := range all {
		done.Go(func() { errs[i] = l.keeper.end(ctx) })
	}
	done.Wait()
	return errors.Join(errs...)
}
