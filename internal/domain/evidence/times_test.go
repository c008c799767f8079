package evidence

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// A worker is gone: what it had opened may have left, and is never tried again by age alone.
//
// covers: O6, I5
func TestLeaseEnded(t *testing.T) {
	ended := Evidence{Kind: LeaseEnded}

	c := sending(1)
	refuses(t, c, ended, c.ReadyAt-1, ErrState)
	if err := c.Apply(ended, c.ReadyAt); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Unknown, false)
	if a := c.Attempts[0]; a.Outcome != message.OutcomeUnknown || a.AnsweredAt != c.ReadyAt || !a.Changed || c.Leased {
		t.Errorf("the attempt is %+v, leased %v", a, c.Leased)
	}
	if e := c.Events[0]; e.Kind != EventOrphaned || e.Attempt != 1 || e.Detail["open"] != "1" {
		t.Errorf("the history says %+v", e)
	}
	refuses(t, c, ended, receipts, ErrState)

	c = claimed()
	if err := c.Apply(ended, c.ReadyAt); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Pending, false)

	c = claimed()
	if err := c.Apply(ended, valid); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Expired, true)

	for _, c := range []*Case{pending(), sent(message.OutcomeAccepted), sent(message.OutcomeRejected), sent(message.OutcomeThrottled)} {
		refuses(t, c, ended, receipts, ErrState)
	}
}

// An end of a lease touches what is open, and nothing that has an answer.
//
// covers: I9
func TestLeaseEndedWithOnePartAnswered(t *testing.T) {
	c := sending(2).apply(t, about(1, answer(message.OutcomeAccepted)))
	wantState(t, c, message.Sending, false)
	if !c.Leased {
		t.Error("the lease ended with a part still open")
	}
	if err := c.Apply(Evidence{Kind: LeaseEnded}, c.ReadyAt); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Unknown, false)
	if a, b := c.Attempts[0].Outcome, c.Attempts[1].Outcome; a != message.OutcomeAccepted || b != message.OutcomeUnknown {
		t.Errorf("the parts are %s and %s", a, b)
	}
}

// A message that is given back writes no event: nothing has happened to it.
//
// covers: I9
func TestReturned(t *testing.T) {
	c := claimed()
	back := Evidence{Kind: Returned, Fence: c.Fence}
	if err := c.Apply(back, made+second); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, message.Pending, false)
	wantKinds(t, c)
	if c.Leased || c.Since != made+second || c.LastN != 1 {
		t.Errorf("leased %v, since %d, last event %d", c.Leased, c.Since, c.LastN)
	}
	if q, at := c.Schedule(made + second); q != flow || at != made+second {
		t.Errorf("it waits in queue %d until %d", q, at)
	}

	refuses(t, claimed(), Evidence{Kind: Returned, Fence: 2}, made, ErrState) // somebody else's claim
	refuses(t, claimed(), Evidence{Kind: Returned}, made, ErrState)
	refuses(t, sending(1), back, made, ErrState) // an attempt is open
	refuses(t, pending(), Evidence{Kind: Returned}, made, ErrState)
	refuses(t, sent(message.OutcomeAccepted), back, made, ErrState)
}

// covers: D5, D16
func TestValidityEnded(t *testing.T) {
	over := Evidence{Kind: ValidityEnded}
	for _, c := range []*Case{pending(), sent(message.OutcomeThrottled)} {
		refuses(t, c, over, valid-1, ErrState)
		if err := c.Apply(over, valid); err != nil {
			t.Fatal(err)
		}
		wantState(t, c, message.Expired, true)
		if last := c.Events[len(c.Events)-1]; last.Kind != EventExpired || last.From != message.Pending {
			t.Errorf("the history says %+v", last)
		}
		refuses(t, c, over, valid, ErrState)
	}
	for _, c := range []*Case{claimed(), sending(1), sent(message.OutcomeAccepted), sent(message.OutcomeUnknown), sent(message.OutcomeRejected)} {
		refuses(t, c, over, receipts, ErrState)
	}
}

// No receipt is awaited any more: the message is over, and keeps its state's name.
//
// covers: D5, D16, I7
func TestReceiptTimeEnded(t *testing.T) {
	over := Evidence{Kind: ReceiptTimeEnded}
	for _, c := range []*Case{sent(message.OutcomeAccepted), sent(message.OutcomeUnknown), sent(message.OutcomeAccepted).apply(t, report("ENROUTE"))} {
		state, since := c.State, c.Since
		refuses(t, c, over, receipts-1, ErrState)
		if err := c.Apply(over, receipts); err != nil {
			t.Fatal(err)
		}
		wantState(t, c, state, true)
		if last := c.Events[len(c.Events)-1]; last.Kind != EventClosed || c.Since != since {
			t.Errorf("the history says %+v; since %d", last, c.Since)
		}
		refuses(t, c, over, receipts, ErrState)
	}
	for _, c := range []*Case{pending(), claimed(), sending(1), sent(message.OutcomeThrottled), sent(message.OutcomeRejected)} {
		refuses(t, c, over, receipts, ErrState)
	}
	for _, s := range []message.State{message.Held, message.RetryDue} {
		c := pending()
		c.State = s
		refuses(t, c, over, receipts, ErrState)
	}
	open := sending(2).apply(t, about(1, answer(message.OutcomeAccepted)))
	refuses(t, open, over, receipts, ErrState)
	open.State = message.Accepted // whatever the state says: an answer is awaited
	refuses(t, open, over, receipts, ErrState)
}

// What comes after the end still counts, and the message stays over, also by a clock that was set back.
//
// covers: D9, I7
func TestEvidenceAfterTheEnd(t *testing.T) {
	c := sent(message.OutcomeUnknown)
	for _, e := range []Evidence{{Kind: ReceiptTimeEnded}, report("DELIVRD")} {
		if err := c.Apply(e, receipts); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, c, message.Delivered, true)
	wantExceptions(t, c)

	c = sent(message.OutcomeAccepted)
	if err := c.Apply(Evidence{Kind: ReceiptTimeEnded}, receipts); err != nil {
		t.Fatal(err)
	}
	wantState(t, c.apply(t, report("ENROUTE")), message.EnRoute, true)
}

// covers: D5, D10
func TestCancel(t *testing.T) {
	wish := Evidence{Kind: Cancel, Person: "ann", Reason: "wrong order"}
	held, due := pending(), pending()
	held.State, due.State = message.Held, message.RetryDue
	for _, c := range []*Case{pending(), sent(message.OutcomeNotSent), held, due} {
		c.Events = nil
		from := c.State
		if err := c.Apply(wish, made+5*second); err != nil {
			t.Fatal(err)
		}
		wantState(t, c, message.Cancelled, true)
		e := c.Events[0]
		if e.Kind != EventCancelled || e.From != from || e.At != made+5*second || e.Detail["by"] != "ann" || e.Detail["reason"] != "wrong order" {
			t.Errorf("the history says %+v", e)
		}
		refuses(t, c, wish, made+6*second, ErrState)
	}
	for _, c := range []*Case{
		claimed(), sending(1), sent(message.OutcomeAccepted), sent(message.OutcomeUnknown), sent(message.OutcomeRejected),
		sent(message.OutcomeAccepted).apply(t, report("DELIVRD")),
	} {
		refuses(t, c, wish, made+5*second, ErrState)
	}
}

// A step that the table does not have is not taken, whatever the attempts say; a person is told.
//
// covers: I8
func TestStepThatCannotBe(t *testing.T) {
	c := sending(1)
	c.State = message.Replaced
	c.apply(t, answer(message.OutcomeAccepted))
	wantState(t, c, message.Replaced, true)
	wantKinds(t, c, EventConflict)
	wantExceptions(t, c, exception.Conflicting)
	if e := c.Events[0]; e.N != 2 || e.To != message.Replaced || e.From != message.Replaced {
		t.Errorf("the history says %+v", e)
	}
	if a := c.Attempts[0]; a.Outcome != message.OutcomeAccepted {
		t.Errorf("the evidence is lost: %+v", a)
	}
}

// Events are numbered on from the last one, with the moment and the states around.
//
// covers: I8
func TestEventsAreNumbered(t *testing.T) {
	c := sending(1)
	c.LastN = 41
	c.apply(t, answer(message.OutcomeAccepted), report("ENROUTE"), report("DELIVRD"))
	states := []message.State{message.Sending, message.Accepted, message.EnRoute, message.Delivered}
	for i, e := range c.Events {
		if e.N != uint32(42+i) || e.At != made+second*clock.Micros(2+i) || e.From != states[i] || e.To != states[i+1] || e.Attempt != 1 || e.Part != 1 {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if c.LastN != 44 || len(c.Events) != 3 {
		t.Errorf("the last of %d events is %d", len(c.Events), c.LastN)
	}
}
