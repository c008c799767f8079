package trial

import (
	"errors"
	"fmt"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// advance lets the time pass. What the clock alone does to a message, it does on the way: a validity ends, and the
// time in which receipts may come.
func (w *world) advance(to clock.Micros) {
	for {
		next, at := w.due()
		if next == nil || at > to {
			break
		}
		w.now = max(w.now, at)
		kind := evidence.ReceiptTimeEnded
		if next.State == message.Pending {
			kind = evidence.ValidityEnded
		}
		if w.apply(next, evidence.Evidence{Kind: kind}) != nil {
			break // the message is not where its schedule says: it waits for news
		}
	}
	w.now = max(w.now, to)
}

// due is the message for which the clock does something next, and when.
func (w *world) due() (next *sent, at clock.Micros) {
	for _, m := range w.messages {
		var when clock.Micros
		switch q, _ := m.Schedule(w.now); {
		case m.State == message.Pending:
			when = m.ValidUntil
		case q == evidence.QueueFinality:
			when = m.ReceiptUntil
		default:
			continue
		}
		if next == nil || when < at {
			next, at = m, when
		}
	}
	return next, at
}

// apply takes evidence into a message, and closes its keys if it has left its window.
func (w *world) apply(m *sent, e evidence.Evidence) error {
	err := m.Apply(e, w.now)
	if m.CloseKey {
		for k, h := range w.register {
			if h.owner == m.Case.Message && h.ends > w.now {
				w.register[k] = held{h.owner, w.now}
			}
		}
	}
	m.CloseKey, m.Events, m.Exceptions = false, nil, nil
	return err
}

var errNoMessage = errors.New("the request made no message")

// news brings a message to a state, by what a worker, a provider or a person says.
func (w *world) news(step *policy.Step) error {
	id := ident.Message{}
	if step.Of > 0 {
		id = w.sent[step.Of-1]
	} else if len(w.messages) > 0 {
		id = w.messages[len(w.messages)-1].Case.Message
	}
	if id.IsZero() {
		return errNoMessage
	}
	m := w.message(id)
	was := m.State
	if err := w.bring(m, step.Outcome); err != nil {
		return fmt.Errorf("the message is %s: %w", was, err)
	}
	if m.State != step.Outcome {
		return fmt.Errorf("the message was %s, and stays %s", was, m.State)
	}
	return nil
}

// answers are the states that an attempt's answer, or its lack, brings about.
var answers = map[message.State]message.Outcome{
	message.Accepted: message.OutcomeAccepted, message.Rejected: message.OutcomeRejected,
	message.Unknown: message.OutcomeUnknown, message.Failed: message.OutcomeNotSent,
}

// reports are the states that a receipt brings about.
var reports = map[message.State]message.Delivery{
	message.EnRoute: message.DeliveryEnRoute, message.Delivered: message.DeliveryDelivered,
	message.Undelivered: message.DeliveryUndelivered, message.Expired: message.DeliveryExpired,
}

func (w *world) bring(m *sent, to message.State) error {
	if to == message.Cancelled {
		return w.apply(m, evidence.Evidence{Kind: evidence.Cancel})
	}
	if outcome, ok := answers[to]; ok {
		if err := w.open(m); err != nil {
			return err
		}
		return w.answered(m, outcome, to == message.Failed)
	}
	delivery, ok := reports[to]
	if !ok { // it is being sent
		return w.open(m)
	}
	if m.LastAttempt() == 0 {
		if err := w.open(m); err != nil {
			return err
		}
	}
	if m.AttemptOpen() {
		if err := w.answered(m, message.OutcomeAccepted, false); err != nil {
			return err
		}
	}
	return w.apply(m, evidence.Evidence{Kind: evidence.Receipt, Attempt: m.LastAttempt(), Part: 1, Receipt: &evidence.ReceiptFacts{
		ExternalID: []byte("1"), Reference: -1, Status: to.String(), State: delivery.String(), Final: delivery.Final(), Quality: evidence.ByExternalID,
	}})
}

// open claims a message that is to be sent and opens its next attempt; one that is open is the one that is meant.
func (w *world) open(m *sent) error {
	switch {
	case m.AttemptOpen():
		return nil
	case m.State != message.Pending:
		return evidence.ErrState
	}
	m.State, m.Since, m.Leased, m.Fence = message.Sending, w.now, true, m.Fence+1
	m.Attempts = append(m.Attempts, evidence.Attempt{Attempt: m.NextAttempt(1), Part: 1, Outcome: message.OutcomeOpen, Reference: -1, Fence: m.Fence})
	return nil
}

func (w *world) answered(m *sent, o message.Outcome, giveUp bool) error {
	e := evidence.Evidence{Kind: evidence.Outcome, Attempt: m.LastAttempt(), Part: 1, Outcome: o, GiveUp: giveUp}
	if o == message.OutcomeAccepted {
		e.ExternalID = []byte("1")
	}
	return w.apply(m, e)
}
