package app

import (
	"strings"

	"github.com/einmal/einmal/internal/domain/route"
)

// What a line's state is called beside what its provider says.
const (
	stateDisabled = "disabled"
	stateStarting = "starting"
	stateDraining = "draining" // nothing new leaves; answers under way are awaited
)

// status says in a few words how the line is on this node.
func (l *line) status() string {
	r := l.run.Load()
	switch {
	case l.enabled && r != nil:
		return r.carrier.Status()
	case l.enabled && l.trouble() != "":
		return "failed: " + l.trouble()
	case l.enabled:
		return stateStarting
	case l.keeper.draining.Load():
		return stateDraining
	}
	return stateDisabled
}

// trouble says why an enabled line does not run.
func (l *line) trouble() string {
	why, _ := l.problem.Load().(string)
	return why
}

// state is what routes ask for. A line that is not set up rightly, or whose carrier refuses the bind, takes messages
// only where no other can.
func (l *line) state() route.State {
	switch {
	case l == nil || !l.enabled:
		return route.Disabled
	case l.trouble() != "" || strings.HasPrefix(l.status(), "paused"):
		return route.Paused
	}
	return route.Usable
}
