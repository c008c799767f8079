package message

import (
	"testing"

	"pgregory.net/rapid"
)

// walk is a message to which facts happen one at a time, under the rules that the gateway keeps: an attempt is
// opened under a lease and only for a part that is due, or for a retry; a message is cancelled or expires while
// nothing is under way; receipts come for parts that a provider may have.
type walk struct {
	base     Base
	together bool // the first part does not gate the rest
	silent   bool // a receipt is asked for with the first part alone
	parts    []Part
	state    State
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

func (w *walk) last(part uint16) (last Part) {
	for _, p := range w.parts {
		if p.Part == part && p.Attempt > last.Attempt {
			last = p
		}
	}
	return last
}

func (w *walk) open(part uint16) {
	w.parts = append(w.parts, Part{Attempt: w.last(part).Attempt + 1, Part: part, Outcome: OutcomeOpen, NoReceipt: w.silent && part > 1})
}

func (w *walk) lease(t *rapid.T) {
	if w.state != Pending && !w.base.Leased {
		return // nothing to claim
	}
	w.base.Leased = !w.base.Leased
	w.step(t, "lease")
}

func (w *walk) attempt(t *rapid.T) {
	owed := Owed(w.base, w.parts, w.together)
	if len(owed) == 0 || !w.base.Leased || w.state != Sending {
		return // nothing to send
	}
	w.open(rapid.SampledFrom(owed).Draw(t, "part"))
	w.step(t, "attempt")
}

func (w *walk) resend(t *rapid.T) {
	if !Allowed(w.state, RetryDue) || w.state == Sending || w.base.over() || count(w.base, w.parts).due > 0 {
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
	taken := w.base
	taken.Cancelled = true
	if !CanCancel(w.state) || Fold(taken, w.parts) != Cancelled {
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

// giveUp: nobody can open the text any more.
func (w *walk) giveUp(t *rapid.T) {
	if w.state != Pending {
		return // something is under way
	}
	w.base.Failed = true
	w.step(t, "giving up")
}

// Each single fact moves the state along the table or leaves it.
//
// covers: D5, R6, R10
func TestFoldStaysInTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &walk{base: Base{Parts: rapid.IntRange(1, 3).Draw(t, "parts")}, state: Pending}
		w.together, w.silent = rapid.Bool().Draw(t, "together"), rapid.Bool().Draw(t, "silent")
		facts := map[string]func(*rapid.T){
			"lease": w.lease, "attempt": w.attempt, "resend": w.resend, "outcome": w.outcome,
			"receipt": w.receipt, "cancel": w.cancel, "expire": w.expire, "give up": w.giveUp,
		}
		// Claims and attempts come more often, since the others need them.
		names := []string{"lease", "lease", "attempt", "attempt", "attempt", "resend", "outcome", "outcome", "receipt", "receipt", "cancel", "expire", "give up"}
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
		if possible > 0 {
			t.Fatalf("%s, though a provider has it or may have it: %+v", w.state, w.parts)
		}
	case Delivered:
		if p := ProgressOf(w.base.Parts, w.parts); p.Delivered < p.Parts || p.Partial() {
			t.Fatalf("delivered, though %+v", p)
		}
	case Accepted, EnRoute, Undelivered:
		if taken == 0 {
			t.Fatalf("%s, though no provider has it: %+v", w.state, w.parts)
		}
	}
}
