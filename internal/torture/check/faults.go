package check

import (
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// Fault is a time in which answers may have been lost for good: a kill's moment, a pause, the moment of a cut.
type Fault struct{ From, To clock.Micros }

// faultLag is how long before it is noticed a process may have died, and how long after a cut submissions may still go
// to the connection.
const faultLag = time.Second

// faults are those that were injected, and the cuts of the message centre, which it writes down as it cuts.
func (h *History) faults() []Fault {
	all := slices.Clone(h.Faults)
	for i := range h.Ledger {
		if l := &h.Ledger[i]; Cuts("+" + l.Destination) {
			at := clock.FromTime(l.At)
			all = append(all, Fault{at, at})
		}
	}
	return all
}

// explains reports whether an attempt whose outcome is unknown was under way at the time of the fault.
func (f Fault) explains(m *Message, a *store.Attempt) bool {
	return a.OpenedAt <= f.To.Add(faultLag) && calledUnknown(m, a) >= f.From.Add(-faultLag)
}

// calledUnknown is when an attempt's outcome was first called unknown: by itself, or together with whatever else of the
// message a dead worker had open.
func calledUnknown(m *Message, a *store.Attempt) clock.Micros {
	i := slices.IndexFunc(m.Events, func(e evidence.Event) bool {
		return e.Kind == evidence.EventOrphaned && e.At >= a.OpenedAt ||
			e.Kind == evidence.EventOutcome && e.Attempt == a.Attempt.Attempt && e.Part == a.Part
	})
	if i < 0 {
		return 0
	}
	return m.Events[i].At
}

// I7UnknownHasAReason checks that no outcome is unknown in the end but those whose answer a fault or the message centre
// has lost for good.
func I7UnknownHasAReason(h *History) []string {
	var f findings
	faults := h.faults()
	for _, m := range h.Messages {
		if h.unsettled(m.Destination) {
			continue
		}
		for i := range m.Attempts {
			a := &m.Attempts[i]
			if a.Outcome == message.OutcomeUnknown && !slices.ContainsFunc(faults, func(one Fault) bool { return one.explains(m, a) }) {
				f.add("no fault explains why the outcome of attempt %d of part %d of %s is unknown", a.Attempt.Attempt, a.Part, m.ID)
			}
		}
	}
	return f
}
