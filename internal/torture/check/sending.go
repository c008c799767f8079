package check

import (
	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// I3OneAccept checks that the message centre accepted each segment of a message at most once. This release authorises
// no resend.
func I3OneAccept(h *History) []string {
	var f findings
	for _, a := range h.Asks {
		for segment, n := range h.accepts(a.Event) {
			if n > 1 {
				f.add("the message centre accepted segment %d of %s %d times", segment, a.Event, n)
			}
		}
	}
	return f
}

// I4LedgerIsKnown checks that each entry of the ledger belongs, by text, destination, reference and time, to an
// attempt that exists in the store, and that all segments of a message say that they belong together.
func I4LedgerIsKnown(h *History) []string {
	var f findings
	joined := map[ident.Message]simulator.Segment{}
	for i := range h.Ledger {
		e := &h.Ledger[i]
		m, a := h.carried(e)
		switch {
		case a == nil:
			f.add("line %d of the ledger (%s) belongs to no attempt", i+1, e.Outcome)
		case (e.Segment != nil) != (m.Text.Parts > 1) || e.Segment != nil && int(e.Segment.Total) != m.Text.Parts:
			f.add("line %d of the ledger is segment %+v of %s, which has %d parts", i+1, e.Segment, m.ID, m.Text.Parts)
		case e.Segment != nil:
			first, known := joined[m.ID]
			if known && first.Reference != e.Segment.Reference {
				f.add("segments of %s have the references %d and %d", m.ID, first.Reference, e.Segment.Reference)
			}
			joined[m.ID] = *e.Segment
		}
	}
	return f
}

// I5NoBlindRetry checks that a later attempt of a part was opened only after the one before it was known not to have
// been accepted, and another part than the first only after that was known to have been.
func I5NoBlindRetry(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		last := map[uint16]*store.Attempt{}
		for i := range m.Attempts {
			later := &m.Attempts[i]
			if before := last[later.Part]; before != nil {
				no := before.Outcome == message.OutcomeThrottled || before.Outcome == message.OutcomeNotSent
				if !no || later.OpenedAt < before.AnsweredAt {
					f.add("%s: attempt %d of part %d was opened although attempt %d is %s, or was not answered then",
						m.ID, later.Attempt.Attempt, later.Part, before.Attempt.Attempt, before.Outcome)
				}
			}
			last[later.Part] = later
		}
		f.gated(m, last[1])
	}
	return f
}

// gated holds the parts of a message against its first one's last attempt.
func (f *findings) gated(m *Message, first *store.Attempt) {
	for i := range m.Attempts {
		a := &m.Attempts[i]
		made := a.Code != evidence.CodeRestored // else it is one that nobody remembers
		if made && a.Part > 1 && (first == nil || first.Outcome != message.OutcomeAccepted || a.OpenedAt < first.AnsweredAt) {
			f.add("%s: part %d was opened before the first was known to be accepted", m.ID, a.Part)
		}
	}
}

// I7NothingFalse checks that there is no false no and no false yes. Unknown alone allows both, and there are no
// more unknowns than the faults explain. A long message that failed is one of which the message centre took some
// parts and not all.
func I7NothingFalse(h *History) []string {
	var f findings
	unknown := 0
	for _, m := range h.Messages {
		n := len(h.accepts(m.Event.ID)) // segments
		switch m.State {
		case message.Accepted, message.EnRoute, message.Delivered:
			if n < max(m.Text.Parts, 1) {
				f.add("%s is %s, and %d of its %d parts were accepted", m.ID, m.State, n, m.Text.Parts)
			}
		case message.Undelivered:
			if n == 0 {
				f.add("%s is %s and was never accepted", m.ID, m.State)
			}
		case message.Unknown:
			if !ambiguous(m.Destination) {
				unknown++
			}
		case message.Failed:
			if n == max(m.Text.Parts, 1) {
				f.add("%s is %s and was accepted as a whole", m.ID, m.State)
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
		f.add("attempt %d of part %d of %s left %d times", a.Attempt.Attempt, a.Part, m.ID, len(left))
	case known && got != want:
		f.add("attempt %d of part %d of %s is %s; the ledger says %q", a.Attempt.Attempt, a.Part, m.ID, a.Outcome, got)
	}
}
