package evidence

import (
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
)

// Charges says where the charge of each part of each attempt is, for a message that costs something. It depends on
// nothing but the case, so that what is stored can be held against it at any time.
//
// An attempt that may have left is held until evidence says more, also after the message is final: unknown keeps the
// money. A part that may still be sent is held under the number that its next attempt will have, so that whoever opens
// it finds it paid.
func (c *Case) Charges() map[wallet.Part]wallet.State {
	all := map[wallet.Part]wallet.State{}
	for i := range c.Attempts {
		a := &c.Attempts[i]
		all[wallet.Part{Attempt: a.Attempt, Part: a.Part}] = chargeOf(a.Outcome)
	}
	if !c.mayGoOn() {
		return all
	}
	for _, part := range c.dueParts() {
		all[wallet.Part{Attempt: c.NextAttempt(part), Part: part}] = wallet.Held
	}
	return all
}

// mayGoOn reports whether parts that are due may still leave. Of a long message whose first part has no answer the rest
// waits for it, as long as the message is not final.
func (c *Case) mayGoOn() bool {
	return c.toBeSent() || c.State == message.Unknown && !c.Final
}

func chargeOf(o message.Outcome) wallet.State {
	switch o {
	case message.OutcomeAccepted:
		return wallet.Settled
	case message.OutcomeRejected, message.OutcomeThrottled, message.OutcomeNotSent:
		return wallet.Released
	}
	return wallet.Held // open, or unknown
}
