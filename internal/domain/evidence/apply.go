package evidence

import (
	"errors"
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Errors of evidence that does not fit the case. Nothing has changed then.
var (
	ErrNoAttempt = errors.New("evidence about an attempt that does not exist")
	ErrState     = errors.New("the message's state does not permit this")
)

// Apply takes one piece of evidence into the case.
func (c *Case) Apply(e Evidence, now clock.Micros) error {
	switch e.Kind {
	case Outcome:
		return c.outcome(e, now)
	case Receipt:
		return c.receipt(e, now)
	case LeaseEnded:
		return c.leaseEnded(now)
	case Returned:
		return c.returned(e, now)
	case ValidityEnded:
		return c.validityEnded(now)
	case ReceiptTimeEnded:
		return c.receiptTimeEnded(now)
	case Cancel:
		return c.cancel(e, now)
	case Restored:
		return c.restored(e, now)
	case Requeued:
		return c.requeued(e, now)
	}
	return fmt.Errorf("evidence of an unknown kind %d", e.Kind)
}

// outcome merges an answer. The attempt takes its first definite outcome from whoever learns it (I9); what
// contradicts it later is kept and shown to a person.
func (c *Case) outcome(e Evidence, now clock.Micros) error {
	a := c.attempt(e.Attempt, e.Part)
	if a == nil {
		return ErrNoAttempt
	}
	next, conflict := message.Merge(a.Outcome, e.Outcome)
	ev := Event{Kind: EventOutcome, Attempt: e.Attempt, Part: e.Part, Detail: answerDetail(e)}
	if e.Late {
		ev.Kind = EventLate
	}
	if conflict {
		ev.Kind = EventConflict
		c.except(exception.Conflicting, e, now, fmt.Sprintf("the provider answered %s after the attempt was known to be %s", e.Outcome, a.Outcome))
		c.note(ev, now)
		return nil
	}
	if next == a.Outcome {
		c.fillExternalID(a, e)
		return nil // said before, or nothing new
	}
	a.Outcome, a.AnsweredAt, a.Code, a.CodeName, a.Changed = next, now, e.Code, e.CodeName, true
	c.fillExternalID(a, e)
	c.Leased = c.Leased && c.AttemptOpen()
	if e.GiveUp && !c.mayBeTaken() {
		ev.Kind = EventFailed
		c.move(message.Failed, ev, now)
		return nil
	}
	c.step(ev, now)
	return nil
}

// mayBeTaken reports whether an attempt was taken by the provider, or may have been.
func (c *Case) mayBeTaken() bool {
	return slices.ContainsFunc(c.Attempts, func(a Attempt) bool {
		return a.Outcome == message.OutcomeOpen || a.Outcome == message.OutcomeUnknown || a.Outcome == message.OutcomeAccepted
	})
}

// fillExternalID keeps an id that came after the outcome was already known by a receipt without one.
func (c *Case) fillExternalID(a *Attempt, e Evidence) {
	if a.Outcome == message.OutcomeAccepted && len(a.ExternalID) == 0 && len(e.ExternalID) > 0 {
		a.ExternalID, a.Changed = e.ExternalID, true
	}
}

// leaseEnded takes the message from a worker that is gone. An attempt that it had opened may have left: its
// outcome is unknown, and age alone never sends it again (O6).
func (c *Case) leaseEnded(now clock.Micros) error {
	if c.State != message.Sending || now < c.ReadyAt {
		return ErrState
	}
	c.Leased = false
	open := 0
	for i := range c.Attempts {
		if a := &c.Attempts[i]; a.Outcome == message.OutcomeOpen {
			a.Outcome, a.AnsweredAt, a.Changed = message.OutcomeUnknown, now, true
			open++
		}
	}
	c.step(Event{Kind: EventOrphaned, Attempt: c.LastAttempt(), Detail: map[string]string{"open": fmt.Sprint(open)}}, now)
	return nil
}

// returned takes back a message whose worker opened no attempt under this claim. Like the claim it writes no
// event: nothing has happened to the message.
func (c *Case) returned(e Evidence, now clock.Micros) error {
	if c.State != message.Sending || c.Fence != e.Fence || c.AttemptOpen() {
		return ErrState
	}
	c.Leased, c.State, c.Since = false, message.Pending, now
	return nil
}

func (c *Case) validityEnded(now clock.Micros) error {
	if c.State != message.Pending || now < c.ValidUntil {
		return ErrState
	}
	c.move(message.Expired, Event{Kind: EventExpired}, now)
	return nil
}

func (c *Case) cancel(e Evidence, now clock.Micros) error {
	if !message.CanCancel(c.State) {
		return ErrState
	}
	c.move(message.Cancelled, Event{Kind: EventCancelled, Detail: map[string]string{"by": e.Person, "reason": e.Reason}}, now)
	return nil
}

// receiptTimeEnded closes a message for which no receipt is awaited any more; it keeps its state's name.
func (c *Case) receiptTimeEnded(now clock.Micros) error {
	if c.Final || now < c.ReceiptUntil || c.AttemptOpen() || c.toBeSent() {
		return ErrState
	}
	c.step(Event{Kind: EventClosed}, now)
	return nil
}

func answerDetail(e Evidence) map[string]string {
	d := map[string]string{"outcome": e.Outcome.String()}
	for k, v := range map[string]string{"code": e.Code, "name": e.CodeName, "detail": e.Detail, "external_id": string(e.ExternalID)} {
		if v != "" {
			d[k] = v
		}
	}
	return d
}
