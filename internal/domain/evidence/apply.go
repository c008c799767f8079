package evidence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Errors of evidence that does not fit the case. Nothing has changed then.
var (
	ErrNoAttempt = errors.New("evidence about an attempt that does not exist")
	ErrState     = errors.New("the message's state does not permit this")
	// ErrNoMeaning: nobody knows what the receipt's status stands for.
	ErrNoMeaning = errors.New("the receipt's status has no documented meaning")
	// ErrHasMeaning: what a person says that the evidence stands for, it says itself.
	ErrHasMeaning = errors.New("the evidence says itself what it stands for")
	// ErrSettled: it is known what became of the attempts that a person has a word on.
	ErrSettled = errors.New("the outcome is known")
	// ErrHandedOver: the message waits, and yet a provider has a part of it, or may have.
	ErrHandedOver = errors.New("a part of the message was handed to a provider")
	// ErrStillUnknown: nothing of the message would be sent, since one of its parts has no answer that no restore explains.
	ErrStillUnknown = errors.New("a part that is in no doubt of a restore's has no answer, and the rest is not sent")
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
	case Resolved:
		return c.resolved(e, now)
	case Rebuilt:
		return c.rebuilt(e, now)
	case Declared:
		return c.declared(e, now)
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
		c.contradicted(ev, e, now)
		return nil
	}
	if next == a.Outcome {
		if c.answeredAtLast(a, e) {
			c.note(ev, now)
		}
		return nil
	}
	a.Outcome, a.AnsweredAt, a.Code, a.CodeName, a.Changed = next, now, e.Code, e.CodeName, true
	if next == message.OutcomeAccepted {
		a.ExternalID = e.ExternalID
	}
	c.keepLease(e.Hold, now)
	if e.GiveUp {
		c.giveUp(ev, now)
		return nil
	}
	c.step(ev, now)
	return nil
}

// contradicted keeps an answer that contradicts what is known, and tells a person, once: the same answer comes again
// where the commit that kept it was lost.
func (c *Case) contradicted(ev Event, e Evidence, now clock.Micros) {
	words := c.Contradiction(e)
	if slices.Contains(c.Told, words) {
		return
	}
	c.Told = append(c.Told, words)
	ev.Kind = EventConflict
	c.except(exception.Conflicting, e, now, words)
	c.note(ev, now)
}

// Contradiction is what a person is told of an answer that contradicts what is known of its attempt; "" where it
// does not.
func (c *Case) Contradiction(e Evidence) string {
	a := c.attempt(e.Attempt, e.Part)
	if a == nil {
		return ""
	}
	if _, conflict := message.Merge(a.Outcome, e.Outcome); !conflict {
		return ""
	}
	return fmt.Sprintf("the provider answered %s after attempt %d, part %d was known to be %s", e.Outcome, e.Attempt, e.Part, a.Outcome)
}

// giveUp ends a message of which nobody can send anything more. What a provider has, or may have, is not denied.
func (c *Case) giveUp(ev Event, now clock.Micros) {
	base := c.base(now)
	base.Failed = true
	to := message.Fold(base, c.parts())
	if to == message.Failed {
		ev.Kind = EventFailed
	}
	c.move(to, ev, now)
}

// keepLease leaves a long message to its worker while answers are awaited, and for as long as the worker wants to
// hold it if parts are left that may be sent at once. Any other lease ends with the answer.
func (c *Case) keepLease(hold time.Duration, now clock.Micros) {
	c.GoOn = 0
	if c.Leased && hold > 0 && now >= c.pausedUntil() {
		c.GoOn = len(c.Owed(now, false))
	}
	if !c.Leased || c.AttemptOpen() {
		return
	}
	if c.Leased = c.GoOn > 0; c.Leased {
		c.ReadyAt = now.Add(hold)
	}
}

// answeredAtLast keeps the answer to an attempt that a receipt has settled before it came: its code, and its message
// id, which is the attempt's; a receipt may write it otherwise. It reports whether anything of it is new.
func (c *Case) answeredAtLast(a *Attempt, e Evidence) bool {
	first := a.Code == "" && e.Code != ""
	fills := len(a.ExternalID) == 0 && len(e.ExternalID) > 0
	if e.Outcome != message.OutcomeAccepted || a.Outcome != e.Outcome || !first && !fills {
		return false
	}
	a.Code, a.CodeName, a.Changed = e.Code, e.CodeName, true
	if len(e.ExternalID) > 0 {
		a.ExternalID = e.ExternalID
	}
	return true
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
	c.step(Event{Kind: EventExpired}, now)
	return nil
}

// cancel takes the message back. What a provider has is never called back: a long message of which a part may have
// left goes on.
func (c *Case) cancel(e Evidence, now clock.Micros) error {
	base := c.base(now)
	base.Cancelled = true
	switch {
	case !message.CanCancel(c.State):
		return ErrState
	case c.State == message.Pending && message.Fold(base, c.parts()) != message.Cancelled:
		return ErrHandedOver
	}
	c.move(message.Cancelled, Event{Kind: EventCancelled, Detail: map[string]string{"by": e.Person, "reason": e.Reason}}, now)
	return nil
}

// receiptTimeEnded closes a message for which no receipt is awaited any more; it keeps its state's name. That some
// parts of a long one were reported as delivered and others not at all is for a person: one of its receipts is lost,
// or the connection sends fewer than it was asked for.
func (c *Case) receiptTimeEnded(now clock.Micros) error {
	if c.Final || now < c.ReceiptUntil || c.AttemptOpen() || c.toBeSent() {
		return ErrState
	}
	if p := c.progress(); p.Delivered > 0 && (c.State == message.Accepted || c.State == message.EnRoute) {
		c.except(exception.Missing, Evidence{}, now,
			fmt.Sprintf("receipts report %d of %d parts as delivered, and nothing final of the others", p.Delivered, p.Parts))
	}
	c.step(Event{Kind: EventClosed}, now)
	return nil
}

func answerDetail(e Evidence) map[string]string {
	d := map[string]string{"outcome": e.Outcome.String()}
	for k, v := range map[string]string{"code": e.Code, "name": e.CodeName, "detail": e.Detail, "bind": e.Bind, "external_id": string(e.ExternalID)} {
		if v != "" {
			d[k] = v
		}
	}
	return d
}
