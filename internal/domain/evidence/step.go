package evidence

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// step folds the attempts into the message's state and records what happened.
func (c *Case) step(ev Event, now clock.Micros) {
	c.move(message.Fold(c.base(now), c.parts()), ev, now)
}

func (c *Case) parts() []message.Part {
	parts := make([]message.Part, len(c.Attempts))
	for i, a := range c.Attempts {
		parts[i] = message.Part{
			Attempt: a.Attempt, Part: a.Part, Outcome: a.Outcome, Delivery: a.Delivery,
			HasExternalID: len(a.ExternalID) > 0, NoReceipt: a.NoReceipt,
		}
	}
	return parts
}

// base is what the fold needs to know beside the attempts. A message that has failed, expired or was cancelled stays
// so: what is learned later sends nothing more.
func (c *Case) base(now clock.Micros) message.Base {
	return message.Base{
		Parts: c.Parts, Leased: c.Leased,
		Cancelled: c.State == message.Cancelled,
		Expired:   c.State == message.Expired || !c.Leased && now >= c.ValidUntil,
		Failed:    c.State == message.Failed,
	}
}

// move takes the message to a state and numbers the event. The table is the referee: a step that it does not
// have is a defect or evidence that cannot be, and either way the message stays where it is, the evidence is
// kept, and a person is told.
func (c *Case) move(to message.State, ev Event, now clock.Micros) {
	if to != c.State && !message.Allowed(c.State, to) {
		c.except(exception.Conflicting, Evidence{Attempt: ev.Attempt, Part: ev.Part}, now,
			fmt.Sprintf("evidence would take the message from %s to %s, which cannot be", c.State, to))
		ev.Kind, to = EventConflict, c.State
	}
	c.record(ev, to, now)
	out := c.leftWindow()
	if c.State != to {
		c.State, c.Since = to, now
	}
	c.Final = c.Final || !c.owed(now)
	c.followKey(out)
}

// followKey says what becomes of the message's key: it ends when the message leaves its window, and goes on when it is
// inside again, after a correction, or a receipt that nobody awaited any more. out says that it was outside.
func (c *Case) followKey(out bool) {
	switch left := c.leftWindow(); {
	case !out && left:
		c.CloseKey, c.OpenKey = true, false
	case out && !left:
		c.CloseKey, c.OpenKey = false, true
	}
}

// note records evidence that moves nothing: not the state, and not to where the clock alone would take it.
func (c *Case) note(ev Event, now clock.Micros) { c.record(ev, c.State, now) }

func (c *Case) record(ev Event, to message.State, now clock.Micros) {
	c.LastN++
	ev.N, ev.From, ev.To, ev.At = c.LastN, c.State, to, now
	c.Events = append(c.Events, ev)
}

// leftWindow reports whether the message is out of a window that is bound to the event: every state that is not
// final is inside, and of the final ones those that the policy lists (D6).
func (c *Case) leftWindow() bool { return c.EventBound && c.Final && !c.inWhile(c.State) }

// owed reports whether something may still happen to the message: an attempt, or a receipt.
func (c *Case) owed(now clock.Micros) bool {
	switch c.State {
	case message.Cancelled, message.Declined, message.Replaced:
		return false
	}
	if c.toBeSent() {
		return true
	}
	if now >= c.ReceiptUntil {
		return c.AttemptOpen()
	}
	for i := range c.Attempts {
		a := &c.Attempts[i]
		if a.mayBeTaken() && !a.Delivery.Final() && (!a.NoReceipt || a.Outcome != message.OutcomeAccepted) {
			return true
		}
	}
	return false
}

// mayBeTaken reports whether the provider took the attempt, or may have.
func (a *Attempt) mayBeTaken() bool {
	return a.Outcome == message.OutcomeOpen || a.Outcome == message.OutcomeUnknown || a.Outcome == message.OutcomeAccepted
}

// toBeSent reports whether an attempt may still come.
func (c *Case) toBeSent() bool {
	switch c.State {
	case message.Pending, message.Sending, message.Held, message.RetryDue:
		return true
	}
	return false
}

func (c *Case) except(k exception.Kind, e Evidence, now clock.Micros, detail string) {
	x := exception.Exception{
		Kind: k, Tenant: c.Tenant, Connection: c.Connection, At: now,
		Message: c.Message, Attempt: e.Attempt, Part: e.Part, Event: c.LastN + 1, Detail: detail, State: exception.Open,
	}
	if e.Receipt != nil {
		x.Receipt = e.Receipt.ID
	}
	c.Exceptions = append(c.Exceptions, x)
}
