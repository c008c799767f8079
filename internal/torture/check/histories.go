package check

import (
	"github.com/einmal/einmal/internal/domain/evidence"
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
			if e.From != state && !claimed(state, e.From) {
				f.add("%s: event %d goes from %s, but the one before ended at %s", m.ID, e.N, e.From, state)
			}
			if e.From != 0 && e.From != e.To && !allowed(&e) {
				f.add("%s: event %d goes from %s to %s", m.ID, e.N, e.From, e.To)
			}
			state = e.To
		}
		if m.State != state && !claimed(state, m.State) {
			f.add("%s is %s, and its events end at %s", m.ID, m.State, state)
		}
		if folded := fold(m); m.State != folded {
			f.add("%s is %s, and its attempts make it %s", m.ID, m.State, folded)
		}
	}
	return f
}

// claimed reports whether one state follows the other without an event: a claim writes none, and neither does its end
// without an attempt, also where parts of a long message have left before.
func claimed(from, to message.State) bool {
	return from == message.Pending && to == message.Sending || from == message.Sending && to == message.Pending
}

// allowed reports whether an event may take a message where it does: a person's word may take it further.
func allowed(e *evidence.Event) bool {
	return message.Allowed(e.From, e.To) || e.Kind == evidence.EventResolved && message.Corrects(e.From, e.To)
}

// fold computes a state from a message's attempts. What was taken back, and what was never sent in time, is known
// from the state alone.
func fold(m *Message) message.State {
	return message.Fold(message.Base{
		Parts: m.Text.Parts, Cancelled: m.State == message.Cancelled, Expired: m.State == message.Expired,
		Failed: m.State == message.Failed, Leased: m.State == message.Sending,
	}, m.Parts())
}
