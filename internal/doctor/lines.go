package doctor

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/app"
)

// connections looks at the binds. The gateway that runs knows of its own; without one they are tried where that is asked
// for, since a bind may cost another node its own.
func (e *examination) connections(ctx context.Context) {
	all := maps.Clone(e.cfg.Connections)
	e.administered(all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k := all[name]
		check := "connection " + name
		bound, known, standby := 0.0, false, false
		if e.gateway != nil {
			bound, known = e.gateway.metric(`einmal_connection_bound{connection=%q}`, name)
			slots, shared := e.gateway.metric(`einmal_bind_slots{connection=%q}`, name)
			standby = shared && slots == 0
		}
		switch {
		case known && bound > 0:
			e.ok(check, "it is bound")
		case known && standby:
			e.say(check, Warn, "einmal doctor on the nodes that have the binds; see einmal_bind_slots in docs/metrics.md", "this node stands by: it has none of the binds that nodes share, or does not reach the store")
		case known:
			e.say(check, Fail, "look for \"not bound\" in the gateway's log, which says why", "it is not bound: no message leaves by it")
		case k.Simulated():
			e.ok(check, "it is the simulated carrier, and needs no bind")
		case e.Bind:
			e.tryBind(ctx, check, name, k)
		default:
			e.say(check, Warn, "einmal doctor --bind   (which may end the bind of a node that runs elsewhere)", "no gateway was asked and no bind was tried: whether it works is not known")
		}
	}
}

// administered adds the connections that are kept in the store. The configuration's goes before one of its name.
func (e *examination) administered(all map[string]app.Connection) {
	if e.store == nil {
		return
	}
	for _, one := range e.store.Administered {
		check := "connection " + one.Name
		if _, ours := all[one.Name]; ours {
			e.say(check, Warn, "einmal connection remove "+one.Name+"   (once it is not in the configuration), or take it out of the configuration", "it is in the configuration and in the store: the configuration's counts on this node")
			continue
		}
		k, err := app.StoredConnection(one.Settings)
		switch {
		case !one.Enabled:
			e.ok(check, "it is disabled")
		case err != nil:
			e.say(check, Fail, "einmal connection change "+one.Name, "its settings cannot be used: %s", oneLine(err))
		default:
			all[one.Name] = k
		}
	}
}

// routes looks for rules that lead to nothing that is enabled: what they fit is refused. Those of the configuration were
// checked with it.
func (e *examination) routes(context.Context) {
	if e.store == nil || len(e.cfg.Routes) > 0 || len(e.store.Routes) == 0 {
		return
	}
	enabled := map[string]bool{}
	for name := range e.cfg.Connections {
		enabled[name] = true
	}
	for _, one := range e.store.Administered {
		enabled[one.Name] = enabled[one.Name] || one.Enabled
	}
	sound := true
	for i, uses := range e.store.Routes {
		if !slices.ContainsFunc(uses, func(name string) bool { return enabled[name] }) {
			sound = false
			e.say("routes", Fail, "einmal connection enable NAME, or  einmal route set",
				"rule %d leads to no connection that is enabled (%s): messages that it fits are refused", i+1, strings.Join(uses, ", "))
		}
	}
	if sound {
		e.ok("routes", "each rule of the store leads to a connection that is enabled: %d", len(e.store.Routes))
	}
}

func (e *examination) tryBind(ctx context.Context, check, name string, k app.Connection) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	status, err := k.TryBind(ctx, name)
	switch {
	case err != nil:
		e.say(check, Fail, "see address, system_id, password and tls of the connection", "a bind could not be tried: %s", oneLine(err))
	case status == "bound":
		e.ok(check, "a bind was tried, and works")
	default:
		e.say(check, Fail, "see address, system_id, password and tls of the connection", "a bind was tried, and does not work: %s", strings.TrimPrefix(status, "paused: "))
	}
}
