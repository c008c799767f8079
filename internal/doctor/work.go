package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

// lateSeconds is longer than a node that keeps up lets a delivery wait that is due.
const lateSeconds = 60

// webhooks looks for events that nobody could be told.
func (e *examination) webhooks(context.Context) {
	switch {
	case e.store == nil:
	case e.store.Dead > 0:
		var whose []string
		for _, one := range e.store.DeadOf {
			whose = append(whose, fmt.Sprintf("%s %d", one.Tenant, one.Dead))
		}
		e.say("webhooks", Warn, "with an admin key of that tenant (--key-file FILE):  einmal webhook list, and  einmal webhook deliveries ID --state dead",
			"dead letters: %d%s, of tenants: %s", e.store.Dead, orMore(e.store.Dead), strings.Join(whose, ", "))
	default:
		e.ok("webhooks", "there is no dead letter")
	}
}

func orMore(n int) string {
	if n >= sqlstore.MostDead {
		return " or more"
	}
	return ""
}

// deliveries looks at what waits for somebody: a gateway that runs counts it.
func (e *examination) deliveries(context.Context) {
	if e.gateway == nil {
		e.say("work", Warn, "einmal serve", "no gateway was asked: whether traffic waits, and what waits for a person, is not known")
		return
	}
	quiet := true
	for _, one := range []struct {
		metric     string
		most       float64 // that is no reason to say something
		next, text string
		level      Level
	}{
		{"einmal_traffic_held", 0, "einmal restored", "traffic waits: the store went back in time", Fail},
		{"einmal_exceptions_open", 0, "einmal exceptions --all-tenants", "exceptions that wait for a person", Warn},
		{"einmal_history_held_back_seconds", 0, "settle what is unknown or waits for a person: docs/configuration.md, history.keep", "history is kept for longer than it should be, in seconds", Warn},
		{"einmal_webhook_overdue_seconds", lateSeconds, "see whether the node is overloaded", "deliveries to webhooks wait longer than they should", Warn},
	} {
		if v, known := e.gateway.metrics[one.metric]; known && v > one.most {
			quiet = false
			e.say("work", one.level, one.next, "%s (%.0f)", one.text, v)
		}
	}
	if quiet {
		e.ok("work", "traffic flows, and nothing waits for a person")
	}
}
