package evidence

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// CodeRestored is the code of an attempt that the store does not remember: the store went back in time, and the
// attempt may have been made after the copy was taken. The gateway itself is its author.
const CodeRestored = "restored"

// restored takes a message into doubt after its store went back in time: whatever was not finished in the copy
// may have gone on since. Attempts without an answer are unknown, and each part that was still to be sent gets an
// attempt of which nothing is known, so that a receipt or a person can settle it like any other.
func (c *Case) restored(e Evidence, now clock.Micros) error {
	if !InDoubt(c.State, c.CreatedAt, c.ValidUntil, c.AttemptOpen(), e.AsOf) {
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
	lost := c.dueParts()
	for _, part := range lost {
		c.Attempts = append(c.Attempts, Attempt{
			Attempt: c.NextAttempt(part), Part: part, Outcome: message.OutcomeUnknown, Reference: -1, Code: CodeRestored, AnsweredAt: now, New: true,
		})
	}
	detail := map[string]string{"open": fmt.Sprint(open), "lost": fmt.Sprint(len(lost))}
	c.step(Event{Kind: EventRestored, Attempt: c.LastAttempt(), Detail: detail}, now)
	return nil
}

// InDoubt reports whether something of a message may have left after the copy was taken at asOf (0: not known when).
// Nothing can have left of one that was taken later than that, since the copy cannot hold it, nor of one whose
// validity was over by then, unless an attempt was open.
func InDoubt(state message.State, made, valid clock.Micros, open bool, asOf clock.Micros) bool {
	switch state {
	case message.Pending, message.Sending, message.RetryDue:
		return asOf == 0 || made <= asOf && (open || valid > asOf)
	}
	return false
}

// dueParts lists the parts of a message that is to be sent of which an attempt may come next.
func (c *Case) dueParts() []uint16 {
	last := make([]*Attempt, max(c.Parts, 1))
	for i := range c.Attempts {
		if a := &c.Attempts[i]; a.Part >= 1 && int(a.Part) <= len(last) {
			if l := last[a.Part-1]; l == nil || a.Attempt >= l.Attempt {
				last[a.Part-1] = a
			}
		}
	}
	var due []uint16
	for i, a := range last {
		if c.isDue(a) {
			due = append(due, uint16(i+1))
		}
	}
	return due
}

// isDue reports whether an attempt follows the last one of a part; nil: there was none.
func (c *Case) isDue(last *Attempt) bool {
	if last == nil {
		return true
	}
	retried := c.State == message.RetryDue
	switch last.Outcome {
	case message.OutcomeThrottled, message.OutcomeNotSent:
		return true
	case message.OutcomeRejected:
		return retried
	case message.OutcomeAccepted:
		return retried && last.Delivery.Final() && last.Delivery != message.DeliveryDelivered
	}
	return false
}

// requeued takes a person's word that what a restore left in doubt was not sent: it may be sent now.
func (c *Case) requeued(e Evidence, now clock.Micros) error {
	if c.Final || c.State != message.Unknown {
		return ErrState
	}
	n := 0
	for i := range c.Attempts {
		if a := &c.Attempts[i]; a.Code == CodeRestored && a.Outcome == message.OutcomeUnknown {
			a.Outcome, a.AnsweredAt, a.Changed = message.OutcomeNotSent, now, true
			n++
		}
	}
	if n == 0 {
		return ErrState
	}
	c.step(Event{Kind: EventRequeued, Attempt: c.LastAttempt(), Detail: map[string]string{"by": e.Person, "reason": e.Reason}}, now)
	return nil
}
