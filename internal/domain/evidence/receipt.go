package evidence

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// receipt applies a receipt that was matched with one part of one attempt.
//
// A receipt proves that the provider took the attempt: if its answer was lost, this is it. It never moves a
// final status (R6), and a repeat changes nothing but the history (R10).
func (c *Case) receipt(e Evidence, now clock.Micros) error {
	a := c.attempt(e.Attempt, e.Part)
	if a == nil {
		return ErrNoAttempt
	}
	ev := Event{Kind: EventReceipt, Attempt: e.Attempt, Part: e.Part, Receipt: e.Receipt.ID, Detail: receiptDetail(e.Receipt)}
	reported, known := message.ParseDelivery(e.Receipt.State)
	if reported.Final() && !e.Receipt.Final {
		reported = message.DeliveryEnRoute // an intermediate notification is never final, whatever it says
		ev.Detail[detailReported] = reported.String()
	}
	was := a.Delivery
	unreadable := !known || reported == message.DeliveryNone
	denied := a.Outcome.Definite() && a.Outcome != message.OutcomeAccepted
	switch {
	case e.Receipt.Repeated && (unreadable || denied):
		ev.Kind = EventRepeated // the first of its kind has an exception already (R10)
	case unreadable:
		ev.Kind = EventConflict
		c.except(exception.Unreadable, e, now, whyUnreadable(e.Receipt))
	case denied:
		ev.Kind = EventConflict
		c.except(exception.Conflicting, e, now, fmt.Sprintf("a receipt says %s for an attempt that was answered with %s", reported, a.Outcome))
	default:
		ev.Kind = c.deliver(a, e, reported, now)
	}
	switch ev.Kind {
	case EventReceipt:
		c.step(ev, now)
	case EventCorrected:
		ev.Detail[detailWas] = was.String()
		c.correct(ev, now)
	default:
		c.note(ev, now)
	}
	return nil
}

// deliver moves the part's delivery and returns what kind of event that was.
func (c *Case) deliver(a *Attempt, e Evidence, reported message.Delivery, now clock.Micros) EventKind {
	c.acceptBy(a, e.Receipt, now)
	kind := EventReceipt
	next, effect := message.Apply(a.Delivery, reported)
	switch effect {
	case message.Repeated, message.Unmoved:
		return EventRepeated
	case message.Late:
		return EventOvertaken
	case message.Conflicting:
		if e.Receipt.Repeated {
			return EventRepeated // as above
		}
		if !e.Receipt.corrects(a.Delivery, reported) {
			c.except(exception.Conflicting, e, now, fmt.Sprintf("a receipt says %s after the part was reported %s", reported, a.Delivery))
			return EventConflict
		}
		kind, next = EventCorrected, reported
	}
	a.Delivery, a.StatusRaw, a.ErrorCode, a.DeliveredAt, a.Changed = next, e.Receipt.Status, e.Receipt.ErrorCode, now, true
	return kind
}

// acceptBy takes the receipt as the answer that was lost or has not come yet.
func (c *Case) acceptBy(a *Attempt, r *ReceiptFacts, now clock.Micros) {
	if a.Outcome != message.OutcomeAccepted {
		if a.Code == CodeInCopy {
			a.Code = "" // the provider's own may come yet
		}
		a.Outcome, a.AnsweredAt, a.Changed = message.OutcomeAccepted, now, true
		c.keepLease(0, now)
	}
	if len(a.ExternalID) == 0 && len(r.ExternalID) > 0 {
		a.ExternalID, a.Changed = r.ExternalID, true
	}
}

func receiptDetail(r *ReceiptFacts) map[string]string {
	d := map[string]string{"status": r.Status, "match": string(r.Quality)}
	if r.State != "" {
		d["state"] = r.State
	}
	if r.ErrorCode != "" {
		d["error_code"] = r.ErrorCode
	}
	if r.Parser != "" {
		d["parser"] = r.Parser
	}
	if !r.Exception.IsZero() {
		d["exception"] = r.Exception.String()
	}
	return d
}

// whyUnreadable says why a receipt whose attempt is known moves nothing.
func whyUnreadable(r *ReceiptFacts) string {
	if r.Problem != "" {
		return r.Problem
	}
	const enough = 40 // of a status that is none
	return fmt.Sprintf("the status %.*q has no documented meaning on this connection", enough, r.Status)
}
