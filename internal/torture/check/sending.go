package check

import (
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// I3OneAccept checks that the message centre accepted each message at most once. This release authorises no resend.
func I3OneAccept(h *History) []string {
	var f findings
	for _, a := range h.Asks {
		if n := h.accepted(a.Event); n > 1 {
			f.add("the message centre accepted %s %d times", a.Event, n)
		}
	}
	return f
}

// I4LedgerIsKnown checks that each entry of the ledger belongs, by text, destination, reference and time, to an
// attempt that exists in the store.
func I4LedgerIsKnown(h *History) []string {
	var f findings
	for i := range h.Ledger {
		if _, a := h.carried(&h.Ledger[i]); a == nil {
			f.add("line %d of the ledger (%s) belongs to no attempt", i+1, h.Ledger[i].Outcome)
		}
	}
	return f
}

// I5NoBlindRetry checks that a later attempt was opened only after the one before it was known not to have been
// accepted.
func I5NoBlindRetry(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		for i := 1; i < len(m.Attempts); i++ {
			before, later := &m.Attempts[i-1], &m.Attempts[i]
			no := before.Outcome == message.OutcomeThrottled || before.Outcome == message.OutcomeNotSent
			if !no || later.OpenedAt < before.AnsweredAt {
				f.add("%s: attempt %d was opened although attempt %d is %s, or was not answered then",
					m.ID, later.Attempt.Attempt, before.Attempt.Attempt, before.Outcome)
			}
		}
	}
	return f
}

// I7NothingFalse checks that there is no false no and no false yes. Unknown alone allows both, and there are no
// more unknowns than the faults explain.
func I7NothingFalse(h *History) []string {
	var f findings
	unknown := 0
	for _, m := range h.Messages {
		n := h.accepted(m.Event.ID)
		switch m.State {
		case message.Accepted, message.EnRoute, message.Delivered, message.Undelivered:
			if n == 0 {
				f.add("%s is %s and was never accepted", m.ID, m.State)
			}
		case message.Unknown:
			if !ambiguous(m.Destination) {
				unknown++
			}
		default:
			if n > 0 {
				f.add("%s is %s and was accepted", m.ID, m.State)
			}
		}
	}
	if unknown > h.MayBeUnknown {
		f.add("%d messages are unknown; the faults explain %d", unknown, h.MayBeUnknown)
	}
	return f
}

// attemptKey names one part of one attempt.
type attemptKey struct {
	message       ident.Message
	attempt, part uint16
}

// definite says with which ledger entry a definite outcome agrees; "": with none at all.
var definite = map[message.Outcome]simulator.Outcome{
	message.OutcomeAccepted: simulator.Accepted, message.OutcomeRejected: simulator.Rejected,
	message.OutcomeThrottled: simulator.Throttled, message.OutcomeNotSent: "",
}

// I9OneAttemptOneAccept checks that an attempt left at most once, and its definite outcome is what the message
// centre did.
func I9OneAttemptOneAccept(h *History) []string {
	var f findings
	left := map[attemptKey][]simulator.Outcome{}
	for i := range h.Ledger {
		if m, a := h.carried(&h.Ledger[i]); a != nil {
			k := attemptKey{m.ID, a.Attempt.Attempt, a.Part}
			left[k] = append(left[k], h.Ledger[i].Outcome)
		}
	}
	for _, m := range h.Messages {
		for i := range m.Attempts {
			a := &m.Attempts[i]
			f.compare(m, a, left[attemptKey{m.ID, a.Attempt.Attempt, a.Part}])
		}
	}
	return f
}

func (f *findings) compare(m *Message, a *store.Attempt, left []simulator.Outcome) {
	want, known := definite[a.Outcome]
	var got simulator.Outcome
	if len(left) > 0 {
		got = left[0]
	}
	switch {
	case len(left) > 1:
		f.add("attempt %d of %s left %d times", a.Attempt.Attempt, m.ID, len(left))
	case known && got != want:
		f.add("attempt %d of %s is %s; the ledger says %q", a.Attempt.Attempt, m.ID, a.Outcome, got)
	}
}
