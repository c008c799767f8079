package check

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// Acts are what operators were told is done.
type Acts struct {
	Policies []string // versions that came into force
	Stopped  []ident.Stop
	Lifted   []ident.Stop
	Resolved map[ident.Exception]exception.State
}

// I1ActsStand checks that what an operator was told is done stays so.
func I1ActsStand(h *History) []string {
	var f findings
	inForce := map[string]bool{}
	for _, p := range h.Policies {
		inForce[p.ID()] = true
	}
	for _, id := range h.Acts.Policies {
		if !inForce[id] {
			f.add("%s was said to be in force and never was", id)
		}
	}
	stops := map[ident.Stop]*store.Stop{}
	for i := range h.Stops {
		stops[h.Stops[i].ID] = &h.Stops[i]
	}
	for _, id := range h.Acts.Stopped {
		if stops[id] == nil {
			f.add("the stop %s was acked and does not exist", id)
		}
	}
	for _, id := range h.Acts.Lifted {
		if s := stops[id]; s == nil || s.LiftedAt == 0 {
			f.add("the stop %s was said to be lifted and is not", id)
		}
	}
	states := map[ident.Exception]exception.State{}
	for _, x := range h.Exceptions {
		states[x.ID] = x.State
	}
	for id, want := range h.Acts.Resolved {
		if states[id] != want {
			f.add("the exception %s was said to be %s and is %q", id, want, states[id])
		}
	}
	return f
}

// D6InForce checks that each decision was taken under the version that was in force at its moment.
func D6InForce(h *History) []string {
	var f findings
	from, until := map[string]clock.Micros{}, map[string]clock.Micros{}
	for i, p := range h.Policies { // the newest first
		if from[p.ID()] = p.At; i > 0 {
			until[p.ID()] = h.Policies[i-1].At
		}
	}
	for _, d := range h.Decisions {
		begun, known := from[d.PolicyID]
		if ended := until[d.PolicyID]; !known || d.At < begun || ended != 0 && d.At > ended {
			f.add("%s was decided under %s, which was not in force then", d.ID, d.PolicyID)
		}
	}
	return f
}

// D19StopsHold checks that nothing of a stop's scope was begun while it was in force. What was claimed before may be
// opened as long as its lease lasts; later parts of a long message wait for the stop's end as well.
func D19StopsHold(h *History) []string {
	var f findings
	for i := range h.Stops {
		s := &h.Stops[i]
		for _, m := range h.Messages {
			if s.Scope.Purpose != "" && s.Scope.Purpose != m.Purpose {
				continue
			}
			for _, a := range m.Attempts {
				if a.OpenedAt > s.At.Add(h.Lease) && (s.LiftedAt == 0 || a.OpenedAt < s.LiftedAt) {
					f.add("attempt %d of %s was opened under the stop %s", a.Attempt.Attempt, m.ID, s.ID)
				}
			}
		}
	}
	return f
}

// I19NoJumpUnseen checks that the store is in the life that it has to be in, one more for each restore, and that
// traffic does not wait: a kill never looks like a restore, and a restore never like a kill.
func I19NoJumpUnseen(h *History) []string {
	var f findings
	if want := 1 + len(h.Restores); h.Incarnation.N != want || h.Incarnation.Held() {
		f.add("the store is in its incarnation %d, want %d%s", h.Incarnation.N, want, held(&h.Incarnation))
	}
	return f
}

func held(i *store.Incarnation) string {
	if !i.Held() {
		return ""
	}
	return fmt.Sprintf(", and held: %s", i.Why)
}
