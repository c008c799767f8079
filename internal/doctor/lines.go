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
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Connections)) {
		k := e.cfg.Connections[name]
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
