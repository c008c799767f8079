package evidence

import (
	"cmp"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Past is one line of a message's history, with its receipt as it is read now.
type Past struct {
	Event
	Now *ReceiptFacts // nil: the line is about no receipt, or its receipt is gone from the log
}

// Names of an event's details that a rebuild reads again.
const (
	detailReported = "reported" // what a receipt was taken for, where that is not its state
	detailMoved    = "moved"    // the receipt that was read again belongs to another attempt, or to none
	detailDelivery = "delivery" // what is reported of the part now
	detailWas      = "was"      // what was before
)

// rebuilt computes what is reported of one part again, from its history with the receipts as they are read now (R9).
// Where that is what is known already, nothing is written. What a person has said stays said.
func (c *Case) rebuilt(e Evidence, now clock.Micros) error {
	a := c.attempt(e.Attempt, e.Part)
	if a == nil {
		return ErrNoAttempt
	}
	f := refold{part: e, denied: a.Outcome.Definite() && a.Outcome != message.OutcomeAccepted, effects: map[ident.Receipt]message.Effect{}}
	f.leave(e)
	for i := range e.History {
		f.take(&e.History[i])
	}
	c.Effects = f.effects
	outcome, id := f.settled(a)
	if f.is == a.Delivery && outcome == a.Outcome && string(id) == string(a.ExternalID) {
		return nil
	}
	ev := Event{Kind: EventRebuilt, Attempt: e.Attempt, Part: e.Part, Detail: rebuildDetail(e, a.Delivery, f.is)}
	if e.Receipt != nil {
		ev.Receipt = e.Receipt.ID
	}
	c.adopt(a, &f, now)
	if outcome != a.Outcome {
		a.Outcome, a.AnsweredAt = outcome, now
		c.keepLease(0, now)
	}
	a.ExternalID = id
	for _, p := range f.conflicts {
		c.except(exception.Conflicting, Evidence{Attempt: e.Attempt, Part: e.Part, Receipt: p.Now}, now,
			"read again, a receipt contradicts the one that was first: it says "+p.Now.State)
	}
	c.correct(ev, now)
	return nil
}

// settled is what the receipts prove of an attempt that the provider itself has not answered, and by which message id.
// Without any it is again one whose answer was lost; an id that a receipt brought is the one that it is read to have.
func (f *refold) settled(a *Attempt) (message.Outcome, []byte) {
	e := f.part
	renamed := e.Receipt != nil && !e.Moved && a.Code == "" && len(e.Receipt.ExternalID) > 0 && string(a.ExternalID) == string(e.FormerID)
	switch {
	case a.Outcome.Definite() && a.Outcome != message.OutcomeAccepted:
		return a.Outcome, a.ExternalID
	case f.answered && renamed:
		return a.Outcome, e.Receipt.ExternalID
	case f.answered:
		return a.Outcome, a.ExternalID
	case f.proof == nil && a.Outcome == message.OutcomeAccepted:
		return message.OutcomeUnknown, nil
	case f.proof == nil:
		return a.Outcome, a.ExternalID
	case renamed:
		return message.OutcomeAccepted, e.Receipt.ExternalID
	case len(a.ExternalID) == 0 && len(f.proof.Now.ExternalID) > 0:
		return message.OutcomeAccepted, f.proof.Now.ExternalID
	}
	return message.OutcomeAccepted, a.ExternalID
}

// adopt gives the part what the fold found.
func (c *Case) adopt(a *Attempt, f *refold, now clock.Micros) {
	a.Delivery, a.Changed = f.is, true
	a.StatusRaw, a.ErrorCode, a.DeliveredAt = "", "", 0
	if f.by != nil {
		a.StatusRaw, a.ErrorCode, a.DeliveredAt = f.by.Now.Status, f.by.Now.ErrorCode, f.by.At
	}
}

func rebuildDetail(e Evidence, was, is message.Delivery) map[string]string {
	d := map[string]string{"by": e.Person, "reason": e.Reason, detailDelivery: is.String(), detailWas: was.String()}
	if e.Moved {
		d[detailMoved] = "true"
	}
	if e.Receipt != nil {
		d["status"], d["parser"] = e.Receipt.Status, e.Receipt.Parser
		if e.Receipt.State != "" {
			d["state"] = e.Receipt.State
		}
	}
	return d
}

// refold is the fold of one part's receipts, twice: as it was when each of them came, and as it is with what they are
// read as now. The first says which of them had been set aside, and why; nothing of that is stored.
type refold struct {
	part     Evidence
	denied   bool // the attempt was refused, as far as is known
	was, is  message.Delivery
	by       *Past // the receipt that made it what it is
	answered bool  // the provider's own answer is in the history
	proof    *Past // the first receipt that proves that the provider took it

	left      map[ident.Receipt]uint32 // receipts that belong elsewhere since the event of this number
	effects   map[ident.Receipt]message.Effect
	conflicts []*Past // that conflict now, and did not before
}

// leave finds receipts that belong to another attempt by now, in earlier rebuilds and the one at hand, and those of
// which a person has said that nothing follows from them.
func (f *refold) leave(e Evidence) {
	f.left = map[ident.Receipt]uint32{}
	for _, p := range e.History {
		moved := p.Kind == EventRebuilt && p.Detail[detailMoved] != ""
		dismissed := p.Kind == EventResolved && p.Detail["action"] == string(exception.Dismiss) && !p.Receipt.IsZero()
		if f.about(&p.Event) && (moved || dismissed) {
			f.left[p.Receipt] = p.N
		}
	}
	if e.Moved {
		f.left[e.Receipt.ID] = ^uint32(0)
	}
}

func (f *refold) about(ev *Event) bool { return ev.Attempt == f.part.Attempt && ev.Part == f.part.Part }

// take folds one line.
func (f *refold) take(p *Past) {
	if !f.about(&p.Event) {
		return
	}
	switch p.Kind {
	case EventOutcome, EventLate:
		f.answered = f.answered || p.Detail["outcome"] == message.OutcomeAccepted.String()
	case EventRebuilt:
		f.was, _ = message.ParseDelivery(p.Detail[detailDelivery])
	case EventResolved:
		f.resolved(p)
	case EventReceipt, EventRepeated, EventOvertaken, EventConflict, EventCorrected:
		f.receipt(p)
	}
}

func (f *refold) prove(p *Past) {
	if f.proof == nil && p.Now != nil {
		f.proof = p
	}
}

// recorded is what a receipt was taken for when it came.
func recorded(e *Event) (message.Delivery, bool) {
	d, known := message.ParseDelivery(cmp.Or(e.Detail[detailReported], e.Detail["state"]))
	return d, known && d != message.DeliveryNone
}

// resolved folds a person's word: it stands, whatever its receipt is read as now.
func (f *refold) resolved(p *Past) {
	f.answered = f.answered || p.tookIt()
	if p.Detail["action"] != string(exception.Attach) {
		return
	}
	if p.Receipt.IsZero() {
		f.answered = true
		return
	}
	said, known := recorded(&p.Event)
	if !known {
		return
	}
	f.prove(p)
	for _, d := range []*message.Delivery{&f.was, &f.is} {
		next, _ := message.Apply(*d, said)
		if said.Final() {
			next = said
		}
		if d == &f.is && next == said {
			f.by = p
		}
		*d = next
	}
	f.effects[p.Receipt] = message.Applied
}

// receipt folds one that arrived. What was set aside when it came, since the attempt was known to be refused, is set
// aside still; what could not be read then counts as it is read now.
func (f *refold) receipt(p *Past) {
	setAside := false
	if said, readable := recorded(&p.Event); readable {
		next, effect := message.Apply(f.was, said)
		setAside = effect == message.Applied && p.Kind != EventReceipt
		switch p.Kind {
		case EventReceipt:
			f.was = next
		case EventCorrected:
			f.was = said
		}
	}
	if p.Now == nil || p.N < f.left[p.Receipt] || setAside && !(p.Kind == EventConflict && p.Now.State != p.Detail["state"]) {
		return
	}
	reported, known := standsFor(Evidence{Receipt: p.Now})
	if !known || f.denied {
		return
	}
	f.prove(p)
	next, effect := message.Apply(f.is, reported)
	if effect == message.Conflicting && p.Kind != EventRepeated && p.Now.corrects(f.is, reported) {
		next, effect = reported, message.Applied
	}
	f.is, f.effects[p.Receipt] = next, effect
	switch {
	case effect == message.Applied:
		f.by = p
	case effect == message.Conflicting && p.Kind != EventConflict && !f.part.ToldOf[p.Receipt]:
		f.conflicts = append(f.conflicts, p)
	}
}
