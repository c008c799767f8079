package check

import (
	"strings"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// I3OneAccept checks that the message centre accepted each part of each message at most once. This release authorises
// a resend of what a restore has left in doubt alone, by a person's word.
func I3OneAccept(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		for part, n := range h.acceptedOf(m) {
			if n > 1+resends(m) {
				f.add("the message centre accepted part %d of %s %d times; %d resends were authorised", part, m.ID, n, resends(m))
			}
		}
	}
	for _, a := range h.Asks {
		for part, n := range h.accepted(a) {
			all, forgiven := len(h.about(a)), 0
			for _, m := range h.about(a) {
				forgiven += resends(m)
			}
			if n > all+forgiven && len(h.Restores) == 0 {
				f.add("the message centre accepted part %d of %s %d times; it has %d messages", part, a.Event, n, all)
			}
		}
	}
	return f
}

// resends counts how often a person let a message be sent again.
func resends(m *Message) (n int) {
	for _, e := range m.Events {
		if e.Kind == evidence.EventRequeued {
			n++
		}
	}
	return n
}

// I4LedgerIsKnown checks that each entry of the ledger belongs, by text, part, destination, reference and time, to an
// attempt that exists in the store, unless the store has forgotten that time; and that all parts of a message say that
// they belong together.
func I4LedgerIsKnown(h *History) []string {
	var f findings
	joined := map[*Message]simulator.Segment{}
	for i, l := range h.find().lines {
		m, s := l.message, l.Segment
		switch {
		case l.attempt == nil && h.forgotten(clock.FromTime(l.At)):
		case l.attempt == nil:
			f.add("line %d of the ledger (%s) belongs to no attempt", i+1, l.Outcome)
		case (s != nil) != (m.Text.Parts > 1) || s != nil && int(s.Total) != m.Text.Parts:
			f.add("line %d of the ledger is segment %+v of %s, which has %d parts", i+1, s, m.ID, m.Text.Parts)
		case s != nil:
			first, known := joined[m]
			if known && first.Reference != s.Reference {
				f.add("segments of %s have the references %d and %d", m.ID, first.Reference, s.Reference)
			}
			joined[m] = *s
		}
	}
	return f
}

// I5NoBlindRetry checks that a later attempt of a part was opened only after the one before it was known not to have
// been accepted, and the rest of a long message only after the first part was known to have been.
func I5NoBlindRetry(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		before := map[uint16]*store.Attempt{}
		for i := range m.Attempts {
			later := &m.Attempts[i]
			if b := before[later.Part]; b != nil && !provedUnsent(b, later.OpenedAt) {
				f.add("%s: attempt %d of part %d was opened although attempt %d is %s, or was not answered then",
					m.ID, later.Attempt.Attempt, later.Part, b.Attempt.Attempt, b.Outcome)
			}
			before[later.Part] = later
			if later.Part > 1 && later.OpenedAt != 0 && !h.Together && !firstWasTaken(m, later.OpenedAt) {
				f.add("%s: part %d was opened before the first was known to be taken", m.ID, later.Part)
			}
		}
	}
	return f
}

// provedUnsent reports that an attempt was known not to have been taken at that moment.
func provedUnsent(a *store.Attempt, at clock.Micros) bool {
	no := a.Outcome == message.OutcomeThrottled || a.Outcome == message.OutcomeNotSent
	return no && a.AnsweredAt <= at
}

func firstWasTaken(m *Message, at clock.Micros) bool {
	for _, a := range m.Attempts {
		if a.Part == 1 && a.Outcome == message.OutcomeAccepted && a.AnsweredAt <= at {
			return true
		}
	}
	return false
}

// I7NothingFalse checks that there is no false no and no false yes. Unknown alone allows both: see I7UnknownHasAReason.
func I7NothingFalse(h *History) []string {
	var f findings
	for _, m := range h.Messages {
		parts, all := len(h.acceptedOf(m)), max(m.Text.Parts, 1)
		switch m.State {
		case message.Accepted, message.EnRoute, message.Delivered:
			if parts < all {
				f.add("%s is %s, and %d of its %d parts were accepted", m.ID, m.State, parts, all)
			}
		case message.Undelivered:
			if parts == 0 {
				f.add("%s is %s and was never accepted", m.ID, m.State)
			}
		case message.Unknown:
		case message.Failed:
			if parts == all {
				f.add("%s is %s and all of it was accepted", m.ID, m.State)
			}
		default:
			if parts > 0 {
				f.add("%s is %s and was accepted", m.ID, m.State)
			}
		}
	}
	return f
}

// I7WholeTexts checks that what a message's parts carried is its text, of each message of which all parts were taken.
func I7WholeTexts(h *History) []string {
	var f findings
	carried := map[*Message]map[uint16]string{}
	for _, l := range h.find().lines {
		if l.message == nil || l.Outcome != simulator.Accepted {
			continue
		}
		if carried[l.message] == nil {
			carried[l.message] = map[uint16]string{}
		}
		carried[l.message][number(l.Entry)] = l.text
	}
	for m, parts := range carried {
		var whole strings.Builder
		for n := range max(m.Text.Parts, 1) {
			whole.WriteString(parts[uint16(n+1)]) // at most 255
		}
		if ask := h.find().asked[m]; len(parts) == max(m.Text.Parts, 1) && whole.String() != ask.Text {
			f.add("the parts of %s do not make its text", m.ID)
		}
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

// I9OneAttemptOneAccept checks that an attempt left at most once, its definite outcome is what the message centre
// did, and no fence opened a part twice.
func I9OneAttemptOneAccept(h *History) []string {
	var f findings
	left := map[attemptKey][]simulator.Outcome{}
	for _, l := range h.find().lines {
		if l.attempt != nil {
			k := attemptKey{l.message.ID, l.attempt.Attempt.Attempt, l.attempt.Part}
			left[k] = append(left[k], l.Outcome)
		}
	}
	for _, m := range h.Messages {
		fences := map[[2]int64]bool{}
		for i := range m.Attempts {
			a := &m.Attempts[i]
			f.compare(m, a, left[attemptKey{m.ID, a.Attempt.Attempt, a.Part}])
			k := [2]int64{int64(a.Part), a.Fence}
			if fences[k] && a.Code != evidence.CodeRestored {
				f.add("%s: part %d was opened twice under fence %d", m.ID, a.Part, a.Fence)
			}
			fences[k] = true
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
	case known && got != want && a.Code != evidence.CodeRestored && a.Code != evidence.CodeInCopy: // a person's word, or nobody's
		f.add("attempt %d of part %d of %s is %s; the ledger says %q", a.Attempt.Attempt, a.Part, m.ID, a.Outcome, got)
	}
}
