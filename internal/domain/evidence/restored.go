package evidence

import (
	"fmt"
	"slices"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Codes of attempts that a restore left without an answer. The gateway itself is their author.
const (
	// CodeRestored is that of an attempt that the store does not remember: it may have been made after the copy was taken.
	CodeRestored = "restored"
	// CodeInCopy is that of an attempt that was open in the copy: its answer may have come after that.
	CodeInCopy = "open_in_copy"
)

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
			a.Outcome, a.Code, a.AnsweredAt, a.Changed = message.OutcomeUnknown, CodeInCopy, now, true
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
	return state.Unfinished() && (asOf == 0 || made <= asOf && (open || valid > asOf))
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

// requeued takes a person's word that what a restore left in doubt was not sent: all of it, what was open in the copy
// as well as what the store does not remember. It may be sent now. What is in no such doubt is not the word's: a part
// that was handed over is not sent again, nor one whose answer was lost in another way. Where that one keeps back all
// the rest, the word is refused: it would change nothing.
func (c *Case) requeued(e Evidence, now clock.Micros) error {
	if c.Final || c.State != message.Unknown || !slices.ContainsFunc(c.Attempts, Attempt.inDoubt) {
		return ErrState
	}
	parts := c.parts()
	for i, a := range c.Attempts {
		if a.inDoubt() {
			parts[i].Outcome = message.OutcomeNotSent
		}
	}
	if message.Fold(c.base(now), parts) == message.Unknown {
		return ErrStillUnknown
	}
	for i := range c.Attempts {
		if a := &c.Attempts[i]; a.inDoubt() {
			a.Outcome, a.AnsweredAt, a.Changed = message.OutcomeNotSent, now, true
		}
	}
	c.step(Event{Kind: EventRequeued, Attempt: c.LastAttempt(), Detail: map[string]string{"by": e.Person, "reason": e.Reason}}, now)
	return nil
}

// inDoubt reports whether a restore left the attempt without an answer, and nothing has settled it since.
func (a Attempt) inDoubt() bool {
	return a.Outcome == message.OutcomeUnknown && (a.Code == CodeRestored || a.Code == CodeInCopy)
}
