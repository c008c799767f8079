package evidence

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// long is a claimed message of three parts, of which the first one is open.
func long() *Case {
	c := claimed()
	c.Parts = 3
	return c.open(1)
}

// held is an answer whose worker goes on.
func held(e Evidence) Evidence {
	e.Hold = 2 * time.Second
	return e
}

func accepted(part uint16) Evidence { return held(about(part, answer(message.OutcomeAccepted))) }

func wantOwed(t *testing.T, c *Case, now clock.Micros, want ...uint16) {
	t.Helper()
	if got := c.Owed(now, false); !slices.Equal(got, want) {
		t.Errorf("%v may be sent, want %v", got, want)
	}
}

// The first part is accepted, and the rest leaves under the same claim.
//
// covers: D5, I9
func TestWorkerGoesOnWithTheRest(t *testing.T) {
	c := long()
	wantOwed(t, c, made)
	c.apply(t, accepted(1))
	wantState(t, c, message.Sending, false)
	if q, at := c.Schedule(made + 2*second); !c.Leased || q != QueueLease || at != made+4*second {
		t.Errorf("leased %v, queue %d until %d", c.Leased, q, at)
	}
	wantOwed(t, c, made+2*second, 2, 3)
	c.open(2).open(3)
	wantOwed(t, c, made+2*second)
	c.apply(t, accepted(3), accepted(2))
	wantState(t, c, message.Accepted, false)
	if c.Leased {
		t.Error("it is leased with nothing left to send")
	}
	wantKinds(t, c, EventOutcome, EventOutcome, EventOutcome)
}

// Whoever does not go on leaves the rest to anybody, at the place in the flow that the message had.
//
// covers: D5, I6
func TestRestIsAnybodys(t *testing.T) {
	for name, c := range map[string]*Case{
		"not held":       long().apply(t, about(1, answer(message.OutcomeAccepted))),
		"by its receipt": long().apply(t, about(1, report("ENROUTE"))),
		"given back":     long().apply(t, accepted(1), Evidence{Kind: Returned, Fence: 1}),
		"found out late": long().apply(t, held(about(1, answer(message.OutcomeUnknown))), accepted(1)),
	} {
		wantState(t, c, message.Pending, false)
		if q, at := c.Schedule(made + 5*second); c.Leased || q != flow || at != made {
			t.Errorf("%s: leased %v, it waits in queue %d until %d", name, c.Leased, q, at)
		}
		c.claim(made + 5*second)
		wantOwed(t, c, made+5*second, 2, 3)
	}
	c := long().apply(t, accepted(1))
	if err := c.Apply(Evidence{Kind: LeaseEnded}, c.ReadyAt); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Pending, false)
}

// An unknown first part keeps the rest back until evidence says that it was taken; a refused one for good.
//
// covers: D9, I5, I7
func TestFirstPartGates(t *testing.T) {
	c := long().apply(t, held(about(1, answer(message.OutcomeUnknown))))
	wantState(t, c, message.Unknown, false)
	wantOwed(t, c, made+3*second)
	if q, _ := c.Schedule(made + 3*second); q != QueueFinality || c.Leased {
		t.Errorf("it waits in queue %d, leased %v", q, c.Leased)
	}
	c.apply(t, about(1, report("DELIVRD")))
	wantState(t, c, message.Pending, false)

	c = long().apply(t, held(about(1, answer(message.OutcomeRejected))))
	wantState(t, c, message.Rejected, true)
	wantOwed(t, c, made+3*second)
}

// A part that was not taken is tried again by itself, under another claim, after its own pause.
//
// covers: D5, I3, I9
func TestOnePartAgain(t *testing.T) {
	c := long().apply(t, accepted(1)).open(2).open(3)
	c.apply(t, held(about(2, answer(message.OutcomeThrottled))), accepted(3))
	wantState(t, c, message.Pending, false)
	wantOwed(t, c, made+4*second) // this fence has opened it
	if q, at := c.Schedule(made + 2*second); q != flow || at != made+3*second || c.Leased {
		t.Errorf("leased %v, it waits in queue %d until %d", c.Leased, q, at)
	}
	if _, at := c.Schedule(made + 3*second); at != made {
		t.Errorf("after the pause it is due at %d, behind all who came later", at)
	}
	c.claim(made + 3*second)
	wantOwed(t, c, made+3*second, 2)
	if n := c.NextAttempt(2); n != 2 {
		t.Errorf("the next attempt of part 2 is number %d", n)
	}
	again := accepted(2)
	again.Attempt = 2
	c.open(2).apply(t, again)
	wantState(t, c, message.Accepted, false)
}

// Parts that are throttled together are one wish for patience, not several.
func TestPausesAreCountedByPart(t *testing.T) {
	c := long().apply(t, accepted(1)).open(2).open(3)
	for part := uint16(2); part <= 3; part++ {
		if err := c.Apply(about(part, answer(message.OutcomeThrottled)), made+3*second); err != nil {
			t.Fatal(err)
		}
	}
	if _, at := c.Schedule(made + 3*second); at != made+4*second {
		t.Errorf("it waits until %d, want %d", at, made+4*second)
	}
}

// What ends a message of which a part has left: neither "rejected" nor "expired" would be true, and its receipts
// are awaited all the same.
//
// covers: D5, D16, I7
func TestFailedInPart(t *testing.T) {
	refused := long().apply(t, accepted(1)).open(2).open(3).apply(t, accepted(3), held(about(2, answer(message.OutcomeRejected))))
	late := long().apply(t, about(1, answer(message.OutcomeAccepted)))
	if err := late.Apply(Evidence{Kind: ValidityEnded}, valid); err != nil {
		t.Fatal(err)
	}
	gone := held(about(2, answer(message.OutcomeNotSent)))
	gone.GiveUp = true
	unreadable := long().apply(t, accepted(1)).open(2).apply(t, gone)
	for name, c := range map[string]*Case{"refused": refused, "too late": late, "text gone": unreadable} {
		wantState(t, c, message.Failed, false)
		if q, at := c.Schedule(made + 50*second); q != QueueFinality || at != receipts {
			t.Errorf("%s: it waits in queue %d until %d", name, q, at)
		}
		if !c.progress().Partial() {
			t.Errorf("%s: it is not partial: %+v", name, c.progress())
		}
		wantOwed(t, c, made+50*second)
		for i := range c.Attempts {
			if a := &c.Attempts[i]; a.Outcome == message.OutcomeAccepted {
				c.apply(t, about(a.Part, report("DELIVRD")))
			}
		}
		wantState(t, c, message.Failed, true)
		wantExceptions(t, c)
	}
	if last := unreadable.Events[1]; last.Kind != EventFailed || last.Part != 2 {
		t.Errorf("the history says %+v", last)
	}
	// A part that is known to be lost says more than the time that kept the others back.
	late = long().apply(t, about(1, answer(message.OutcomeAccepted)))
	for _, e := range []Evidence{{Kind: ValidityEnded}, about(1, report("UNDELIV"))} {
		if err := late.Apply(e, valid); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, late, message.Undelivered, true)
}

// What a provider has is never called back.
//
// covers: D5, D10
func TestNoCancelOnceAPartHasLeft(t *testing.T) {
	wish := Evidence{Kind: Cancel, Person: "ann", Reason: "wrong order"}
	refuses(t, long().apply(t, about(1, answer(message.OutcomeAccepted))), wish, made+3*second, ErrHandedOver)
	c := long().apply(t, about(1, answer(message.OutcomeThrottled)), wish)
	wantState(t, c, message.Cancelled, true)
}

// C26, run E: one part of three is reported, and nothing of the others when the time for it ends.
//
// covers: D5, R6, C26
func TestC26MissingReceipts(t *testing.T) {
	c := sending(3).apply(t, accepted(1), accepted(2), accepted(3), about(1, report("DELIVRD")))
	wantState(t, c, message.Accepted, false)
	if p := c.progress(); !p.Partial() || p.Delivered != 1 {
		t.Errorf("it has come as far as %+v", p)
	}
	if err := c.Apply(Evidence{Kind: ReceiptTimeEnded}, receipts); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Accepted, true)
	wantExceptions(t, c, exception.Missing)
	if d := c.Exceptions[0].Detail; d != "receipts report 1 of 3 parts as delivered, and nothing final of the others" {
		t.Errorf("it says %q", d)
	}
	none := sending(2).apply(t, accepted(1), accepted(2))
	if err := none.Apply(Evidence{Kind: ReceiptTimeEnded}, receipts); err != nil {
		t.Fatal(err)
	}
	wantExceptions(t, none) // a provider that sends none at all is no puzzle
}

// C26, run C: one receipt speaks for all parts.
//
// covers: D5, R14, C26
func TestC26OneReceipt(t *testing.T) {
	c := sending(3)
	c.Attempts[1].NoReceipt, c.Attempts[2].NoReceipt = true, true
	c.apply(t, accepted(1), accepted(2), accepted(3), about(1, report("DELIVRD")))
	wantState(t, c, message.Delivered, true)
	wantExceptions(t, c)
}

// Whatever the order in which answers and receipts of the parts come, the message ends in one state.
//
// covers: D5, I8, R5
func TestPartsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Evidence
		for part := uint16(1); part <= 3; part++ {
			o := rapid.SampledFrom([]message.Outcome{message.OutcomeAccepted, message.OutcomeRejected, message.OutcomeUnknown, message.OutcomeAccepted}).Draw(t, "outcome")
			all = append(all, about(part, answer(o)))
			if status := rapid.SampledFrom([]string{"", "DELIVRD", "UNDELIV", "EXPIRED", "ENROUTE"}).Draw(t, "status"); status != "" && o != message.OutcomeRejected {
				all = append(all, about(part, report(status)))
			}
		}
		one, other := sending(3).applied(t, all), sending(3).applied(t, rapid.Permutation(all).Draw(t, "order"))
		if one.State != other.State || one.Final != other.Final || one.progress() != other.progress() || len(one.Exceptions)+len(other.Exceptions) > 0 {
			t.Fatalf("%s (final %v) or %s (final %v), by the order of\n%+v", one.State, one.Final, other.State, other.Final, all)
		}
	})
}

// applied gives the case its evidence at one moment.
func (c *Case) applied(t *rapid.T, all []Evidence) *Case {
	for _, e := range all {
		if err := c.Apply(e, made+second); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
