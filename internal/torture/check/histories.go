package check

import (
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
)

// retriedAfter is after which time a receipt has had its effect whose gateway died before: its place on the list of
// work is due after five seconds, then it may have to wait for its message id, two seconds here, and somebody looks
// every second.
const retriedAfter = 10 * time.Second

// I6NothingStuck checks that nothing is pending, being sent, or waiting for an answer that cannot come any more, and
// no receipt is left without an effect.
func I6NothingStuck(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		if !message.CanBeFinal(m.State) && m.State != message.EnRoute {
			f.add("%s is still %s", m.ID, m.State)
		}
		for _, a := range m.Attempts {
			if a.Outcome == message.OutcomeOpen {
				f.add("attempt %d of part %d of %s is still open", a.Attempt.Attempt, a.Part, m.ID)
			}
		}
	}
	for _, r := range h.Work {
		if r.ReceivedAt.Add(retriedAfter) < h.Stopped {
			f.add("%s has had no effect", r.ID)
		}
	}
	return f
}

// I8HistoriesAreWhole checks that events are numbered densely, every step is in the transition table or a person's
// correction, and the state is both where the last event left it and what the attempts fold to.
func I8HistoriesAreWhole(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		state := message.State(0)
		for i, e := range m.Events {
			if e.N != uint32(i+1) { // a handful
				f.add("%s: event %d has the number %d", m.ID, i+1, e.N)
			}
			if e.From != state && !inHand(state, e.From) {
				f.add("%s: event %d goes from %s, but the one before ended at %s", m.ID, e.N, e.From, state)
			}
			if e.From != 0 && e.From != e.To && !mayStep(e) {
				f.add("%s: event %d (%s) goes from %s to %s", m.ID, e.N, e.Kind, e.From, e.To)
			}
			state = e.To
		}
		if m.State != state && !inHand(state, m.State) {
			f.add("%s is %s, and its events end at %s", m.ID, m.State, state)
		}
		if folded := fold(m); m.State != folded {
			f.add("%s is %s, and its attempts make it %s", m.ID, m.State, folded)
		}
		f.finalMoves(m)
	}
	return f
}

// inHand reports a claim, or that the worker has given the message back: neither writes an event.
func inHand(from, to message.State) bool {
	return from == message.Pending && to == message.Sending || from == message.Sending && to == message.Pending
}

func mayStep(e evidence.Event) bool {
	switch e.Kind {
	case evidence.EventResolved, evidence.EventRebuilt, evidence.EventCorrected:
		return message.Corrects(e.From, e.To)
	}
	return message.Allowed(e.From, e.To)
}

// finalMoves checks that no arrival of a receipt moves the final status of a part: of each part of an attempt one
// final receipt was applied, and any other is there with a person's word.
func (f *findings) finalMoves(m *Message) {
	final := map[attemptKey]int{}
	for _, e := range m.Events {
		d, _ := message.ParseDelivery(e.Detail["state"])
		if k := (attemptKey{m.ID, e.Attempt, e.Part}); e.Kind == evidence.EventReceipt && d.Final() {
			if final[k]++; final[k] == 2 {
				f.add("%s: two final receipts moved part %d of attempt %d", m.ID, e.Part, e.Attempt)
			}
		}
	}
}

// fold computes a state from a message's attempts. What was taken back, and what can never be sent, is known from the
// state alone; of what was not sent in time some parts may have been, and the clock was looked at with the last event.
func fold(m *Message) message.State {
	late := len(m.Events) > 0 && m.Events[len(m.Events)-1].At >= m.ValidUntil && m.ValidUntil > 0
	return message.Fold(message.Base{
		Parts: m.Text.Parts, Leased: m.State == message.Sending,
		Cancelled: m.State == message.Cancelled, Expired: m.State == message.Expired || late, Failed: m.State == message.Failed,
	}, m.Parts())
}

// settledIn is the longest that anything due may wait when no fault is injected any more, beside a lease.
const settledIn = time.Minute

// I16InTime checks on the store's clock that everything that was due when the faults ended was settled within one
// lease and a minute. What began later has as long from then: the last thing that was learned about it.
func I16InTime(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		last := max(h.FaultsOver, m.CreatedAt)
		for _, e := range m.Events {
			if overdue := e.At.Sub(last); overdue > h.Lease+settledIn && h.FaultsOver > 0 && settles(e.Kind) {
				f.add("%s: event %d (%s) came %s after what was before it", m.ID, e.N, e.Kind, overdue)
			}
			last = max(last, e.At)
		}
	}
	return f
}

// settles reports whether an event comes by itself, and not when a person wants it.
func settles(k evidence.EventKind) bool {
	switch k {
	case evidence.EventOutcome, evidence.EventOrphaned, evidence.EventExpired, evidence.EventReceipt, evidence.EventFailed:
		return true
	}
	return false
}
