package message

import (
	"testing"

	"pgregory.net/rapid"
)

// walk is a message to which facts happen one at a time, under the rules that the gateway keeps: an attempt is
// opened under a lease and only for a part that is due, or for a retry; a message is cancelled or expires while
// nothing is under way; receipts come for parts that a provider may have.
type walk struct {
	base  Base
	parts []Part
	state State
}

// step checks the fold after one fact.
func (w *walk) step(t *rapid.T, fact string) {
	next := Fold(w.base, w.parts)
	if next != w.state && !Allowed(w.state, next) {
		t.Fatalf("%s moved the message from %s to %s: %+v %+v", fact, w.state, next, w.base, w.parts)
	}
	if next != w.state && w.state == Delivered {
		t.Fatalf("%s moved a delivered message to %s", fact, next)
	}
	w.state = next
}

// due lists the parts whose last attempt leaves them to be sent.
func (w *walk) due() []uint16 {
	var all []uint16
	for n := uint16(1); int(n) <= w.base.Parts; n++ {
		if last := w.last(n); last.Outcome == 0 || last.Outcome == OutcomeThrottled || last.Outcome == OutcomeNotSent {
			all = append(all, n)
		}
	}
	return all
}

func (w *walk) last(part uint16) (last Part) {
	for _, p := range w.parts {
		if p.Part == part && p.Attempt > last.Attempt {
			last = p
		}
	}
	return last
}

func (w *walk) open(part uint16) {
	w.parts = append(w.parts, Part{Attempt: w.last(part).Attempt + 1, Part: part, Outcome: OutcomeOpen})
}

func (w *walk) lease(t *rapid.T) {
	if w.state != Pending && !w.base.Leased {
		return // nothing to claim
	}
	w.base.Leased = !w.base.Leased
	w.step(t, "lease")
}

func (w *walk) attempt(t *rapid.T) {
	due := w.due()
	if len(due) == 0 || !w.base.Leased || w.base.Cancelled || w.base.Expired || w.state != Sending && w.state != Unknown {
		return // nothing to send
	}
	w.open(rapid.SampledFrom(due).Draw(t, "part"))
	w.step(t, "attempt")
}

func (w *walk) resend(t *rapid.T) {
	if !Allowed(w.state, RetryDue) || w.state == Sending || w.base.Cancelled || w.base.Expired || len(w.due()) > 0 {
		return // no retry
	}
	w.state = RetryDue
	w.open(uint16(rapid.IntRange(1, w.base.Parts).Draw(t, "part")))
	w.step(t, "resend")
}

func (w *walk) outcome(t *rapid.T) {
	if len(w.parts) == 0 {
		return // no attempt
	}
	p := &w.parts[rapid.IntRange(0, len(w.parts)-1).Draw(t, "attempt")]
	p.Outcome, _ = Merge(p.Outcome, anyOutcome().Draw(t, "learned"))
	w.step(t, "outcome")
}

func (w *walk) receipt(t *rapid.T) {
	if len(w.parts) == 0 {
		return // no attempt
	}
	p := &w.parts[rapid.IntRange(0, len(w.parts)-1).Draw(t, "attempt")]
	if p.Outcome != OutcomeAccepted && p.Outcome != OutcomeOpen && p.Outcome != OutcomeUnknown {
		return // the provider does not have it
	}
	before := p.Delivery
	p.Delivery, _ = Apply(p.Delivery, anyDelivery().Draw(t, "reported"))
	if before.Final() && p.Delivery != before {
		t.Fatalf("final %s moved to %s", before, p.Delivery)
	}
	w.step(t, "receipt")
}

func (w *walk) cancel(t *rapid.T) {
	if !CanCancel(w.state) {
		return // not cancellable
	}
	w.base.Cancelled = true
	w.step(t, "cancel")
}

func (w *walk) expire(t *rapid.T) {
	if w.state != Pending {
		return // something is under way
	}
	w.base.Expired = true
	w.step(t, "expiry")
}

// Each single fact moves the state along the table or leaves it.
//
// covers: D5, R6, R10
func TestFoldStaysInTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &walk{base: Base{Parts: rapid.IntRange(1, 3).Draw(t, "parts")}, state: Pending}
		facts := map[string]func(*rapid.T){
			"lease": w.lease, "attempt": w.attempt, "resend": w.resend, "outcome": w.outcome,
			"receipt": w.receipt, "cancel": w.cancel, "expire": w.expire,
		}
		// Claims and attempts come more often, since the others need them.
		names := []string{"lease", "lease", "attempt", "attempt", "attempt", "resend", "outcome", "outcome", "receipt", "receipt", "cancel", "expire"}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 20, 60).Draw(t, "facts") {
			facts[name](t)
			w.check(t)
		}
	})
}

// check holds the state against the facts: no false no and no false yes, and no dependence on their order.
func (w *walk) check(t *rapid.T) {
	mixed := rapid.Permutation(w.parts).Draw(t, "order")
	if got := Fold(w.base, mixed); got != w.state {
		t.Fatalf("%s or %s, by the order of the facts: %+v", w.state, got, w.parts)
	}
	taken, possible := 0, 0
	for _, p := range w.parts {
		if p.Outcome == OutcomeAccepted || reported(p) {
			taken++
		}
		if p.Outcome == OutcomeOpen || mayBeTaken(p) {
			possible++
		}
	}
	switch w.state {
	case Rejected, Cancelled:
		if w.base.Parts == 1 && possible > 0 {
			t.Fatalf("%s, though a provider has it or may have it: %+v", w.state, w.parts)
		}
	case Accepted, EnRoute, Delivered, Undelivered:
		if taken == 0 {
			t.Fatalf("%s, though no provider has it: %+v", w.state, w.parts)
		}
	}
}
