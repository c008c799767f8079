package intent

import (
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Facts is what the store read under its locks, and what the requests before this one in the batch changed.
type Facts struct {
	Now clock.Micros
	// Answered are the decisions that hold the batch's idempotency keys.
	Answered map[Key]*Answered
	// Holders are the messages that hold the batch's intent and variant keys.
	Holders map[Key]*Holder
	// Repeats count how often the holders' keys were asked for again.
	Repeats map[Key]*Repeats
	// Wallets are those of the batch's tenants. Who has none pays nothing.
	Wallets map[ident.Partition]*wallet.Wallet
}

// Answered is a decision that holds an idempotency key.
type Answered struct {
	Decision     Decision
	Fingerprint  Fingerprint
	Ends         clock.Micros
	MessageFinal bool
}

// live reports whether the key still answers: at least until it is IdempotencyLife old and its message final.
func (a *Answered) live(now clock.Micros) bool { return now < a.Ends || !a.MessageFinal }

// Holder is a message that holds a key until Ends.
type Holder struct {
	Message MessageFacts
	Ends    clock.Micros
}

// MessageFacts is what a decision has to know of an existing message.
type MessageFacts struct {
	ID          ident.Message
	Connection  int64 // that was chosen for it
	State       message.State
	Since       clock.Micros // when it took that state
	Final       bool
	AttemptOpen bool
	Attempts    int
	Delivery    string
	TextKey     Key
	// EventBound says that the window under which the key was taken is bound to the event ("while"); else it
	// is a duration.
	EventBound bool
}

// Live reports whether the window is open (D6). A duration also covers every state that is not final; an
// event-bound window ends at its upper bound even so, except while an attempt is open. A transition out of an
// event-bound window has written its moment to Ends already.
func (h *Holder) Live(now clock.Micros) bool {
	if now < h.Ends {
		return true
	}
	if h.Message.EventBound {
		return h.Message.AttemptOpen
	}
	return !h.Message.Final
}
