package evidence

import (
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// resolved takes a person's word on an exception. It alone, and a rebuild, may move what is final (R6): where the
// person says that evidence stands, it stands also against what was known before. Whatever the person says is an
// event of its own.
func (c *Case) resolved(e Evidence, now clock.Micros) error {
	ev := Event{Kind: EventResolved, Attempt: e.Attempt, Part: e.Part, Detail: resolutionDetail(e)}
	if e.Receipt != nil {
		ev.Receipt = e.Receipt.ID
	}
	if e.Action != exception.Attach {
		c.note(ev, now)
		return nil
	}
	a := c.attempt(e.Attempt, e.Part)
	if a == nil {
		return ErrNoAttempt
	}
	if e.State != "" && e.speaks() {
		return ErrHasMeaning
	}
	stand := c.letAnswerStand
	if e.Receipt != nil {
		stand = c.letReceiptStand
	}
	if err := stand(a, e, now); err != nil {
		return err
	}
	c.correct(ev, now)
	return nil
}

// letReceiptStand gives the part what the receipt reports, whatever was known: the provider took it, and this became
// of it. An intermediate report says less than a final one, and does not undo it. A final one speaks for its part, also
// where another part's receipt did, since none was asked for.
func (c *Case) letReceiptStand(a *Attempt, e Evidence, now clock.Micros) error {
	reported, known := standsFor(e)
	if !known {
		return ErrNoMeaning
	}
	c.acceptBy(a, e.Receipt, now)
	next, _ := message.Apply(a.Delivery, reported)
	if reported.Final() {
		next = reported
	}
	if next == reported {
		a.Delivery, a.StatusRaw, a.ErrorCode, a.DeliveredAt, a.Changed = next, e.Receipt.Status, e.Receipt.ErrorCode, now, true
		a.NoReceipt = a.NoReceipt && !reported.Final()
	}
	return nil
}

// speaks reports whether evidence says by itself what it stands for. A person decides whether that is true, and puts
// no other words in its mouth.
func (e Evidence) speaks() bool {
	e.State = ""
	if e.Receipt == nil {
		return true // an answer
	}
	_, known := standsFor(e)
	return known
}

// standsFor is what a receipt reports: what the person says that it does, else what is documented.
func standsFor(e Evidence) (message.Delivery, bool) {
	name := e.State
	if name == "" {
		name = e.Receipt.State
	}
	reported, known := message.ParseDelivery(name)
	if e.State == "" && reported.Final() && !e.Receipt.Final {
		reported = message.DeliveryEnRoute
	}
	return reported, known && reported != message.DeliveryNone
}

// letAnswerStand gives the attempt the answer that contradicted it. What could make it be sent again is no such
// answer, and a part of which receipts were applied was not refused.
func (c *Case) letAnswerStand(a *Attempt, e Evidence, now clock.Micros) error {
	accepted := e.Outcome == message.OutcomeAccepted
	if !accepted && (e.Outcome != message.OutcomeRejected || a.Delivery != message.DeliveryNone) {
		return ErrState
	}
	a.Outcome, a.AnsweredAt, a.Code, a.CodeName, a.Changed = e.Outcome, now, e.Code, e.CodeName, true
	if accepted && len(e.ExternalID) > 0 {
		a.ExternalID = e.ExternalID
	}
	c.keepLease(0, now)
	return nil
}

// correct takes the message to where its attempts are now, final or not. A message that was final sends nothing
// more: another may have taken its place.
func (c *Case) correct(ev Event, now clock.Micros) {
	base := c.base(now)
	base.Failed = base.Failed || c.Final
	to := message.Fold(base, c.parts())
	if !message.Corrects(c.State, to) {
		to = c.State
	}
	c.record(ev, to, now)
	out := c.leftWindow()
	if c.State != to {
		c.State, c.Since = to, now
	}
	c.Final = !c.owed(now)
	c.followKey(out)
}

func resolutionDetail(e Evidence) map[string]string {
	d := map[string]string{"by": e.Person, "reason": e.Reason, "action": string(e.Action), "exception": e.Exception.String()}
	set := func(name, value string) {
		if value != "" {
			d[name] = value
		}
	}
	if e.Receipt == nil {
		set("outcome", e.Outcome.String())
		return d
	}
	set("status", e.Receipt.Status)
	set("error_code", e.Receipt.ErrorCode)
	set("state", e.Receipt.State)
	set("state", e.State)
	if reported, known := standsFor(e); known && reported.String() != d["state"] {
		d[detailReported] = reported.String()
	}
	return d
}
