package check

import (
	"github.com/einmal/einmal/internal/domain/message"
)

// I6NothingStuck checks that nothing is pending, being sent, or waiting for an answer that cannot come any more.
func I6NothingStuck(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		if !message.CanBeFinal(m.State) && m.State != message.EnRoute {
			f.add("%s is still %s", m.ID, m.State)
		}
		for _, a := range m.Attempts {
			if a.Outcome == message.OutcomeOpen {
				f.add("attempt %d of %s is still open", a.Attempt.Attempt, m.ID)
			}
		}
	}
	return f
}

// I8HistoriesAreWhole checks that events are numbered densely, every step is in the transition table, and the state
// is both where the last event left it and what the attempts fold to.
func I8HistoriesAreWhole(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		state := message.State(0)
		for i, e := range m.Events {
			if e.N != uint32(i+1) { // a handful
				f.add("%s: event %d has the number %d", m.ID, i+1, e.N)
			}
			claimed := state == message.Pending && e.From == message.Sending // a claim writes no event
			if e.From != state && !claimed {
				f.add("%s: event %d goes from %s, but the one before ended at %s", m.ID, e.N, e.From, state)
			}
			if e.From != 0 && e.From != e.To && !message.Allowed(e.From, e.To) {
				f.add("%s: event %d goes from %s to %s", m.ID, e.N, e.From, e.To)
			}
			state = e.To
		}
		if m.State != state && !(m.State == message.Sending && state == message.Pending) {
			f.add("%s is %s, and its events end at %s", m.ID, m.State, state)
		}
		if folded := fold(m); m.State != folded {
			f.add("%s is %s, and its attempts make it %s", m.ID, m.State, folded)
		}
	}
	return f
}

// fold computes a state from a message's attempts. What was taken back, and what was never sent in time, is known
// from the state alone.
func fold(m *Message) message.State {
	parts := make([]message.Part, len(m.Attempts))
	for i, a := range m.Attempts {
		parts[i] = message.Part{Attempt: a.Attempt.Attempt, Part: a.Part, Outcome: a.Outcome, Delivery: a.Delivery, HasExternalID: len(a.ExternalID) > 0}
	}
	return message.Fold(message.Base{
		Parts: 1, Cancelled: m.State == message.Cancelled, Expired: m.State == message.Expired, Leased: m.State == message.Sending,
	}, parts)
}
