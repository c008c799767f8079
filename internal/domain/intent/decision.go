package intent

import (
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Action is what is done with a request (D4). The numbers are stored; they are never given to another action.
type Action uint8

// The actions of this release.
const (
	Allow    Action = 1
	Suppress Action = 2
	// Refused: a rule beside deduplication does not let it through (3 and 4 are kept for review and replacement).
	Refused Action = 5
)

var actionNames = map[Action]string{Allow: "allow", Suppress: "suppress", Refused: "refused"}

// String returns the action's name in the API.
func (a Action) String() string { return actionNames[a] }

// Class is what a request is (D3). The numbers are stored.
type Class uint8

// The classes.
const (
	NewIntent          Class = 1 // something that was not asked for before
	TechnicalDuplicate Class = 2 // the same intent again, an unwanted repeat
	ControlledRetry    Class = 3 // the same intent again after a failure
	LegitimateRepeat   Class = 4 // the same event with a provable material change
)

var classNames = map[Class]string{
	NewIntent: "new_intent", TechnicalDuplicate: "technical_duplicate",
	ControlledRetry: "controlled_retry", LegitimateRepeat: "legitimate_repeat",
}

// String returns the class's name in the API.
func (c Class) String() string { return classNames[c] }

// Reason says why, from a closed list. It is stored, shown and a metric's label.
type Reason string

// Reasons for an allow.
const (
	ReasonNoEquivalent Reason = "no_equivalent"           // nothing equivalent is known
	ReasonWindowEnded  Reason = "window_ended"            // an equivalent one is known; its window is over
	ReasonOtherText    Reason = "other_text_is_a_version" // same intent, other text, and the policy makes that a new version
)

// ReasonRetryNotPermitted suppresses a repeat after a failure, where no retry rule permits it.
const ReasonRetryNotPermitted Reason = "retry_not_permitted"

// sameIntent is the reason for suppressing a repeat, by the state of the message that exists.
func sameIntent(s message.State) Reason { return Reason("same_intent_" + s.String()) }

// Decision is the record of one decision (D14).
type Decision struct {
	ID            ident.Decision
	At            clock.Micros
	Action        Action
	Class         Class
	Reason        Reason
	Rule          string // such as "order_confirmation.window"; of a refusal the guard's
	PolicyID      string
	Explanation   string       // one or two plain sentences
	WindowEnds    clock.Micros // 0: it is not known yet, or nothing is inside
	SameText      *bool        // nil: there was nothing to compare with
	PreviousState message.State
	Text          message.Layout // of the request's text; what ties its parts together is the message's
	Message       Snapshot

	Mode policy.Mode
	// Would is what deduplication would have done: where the mode "monitor" let the request through, and where a guard
	// refused it. 0: what it said was done.
	Would Action
	// Guards are what the rules beside deduplication said, in their order up to the first that refused; none of a repeat.
	Guards []Guard
	// Compared is the message that the request was compared with; zero: there was none.
	Compared ident.Message
	// MatchedKey is the key under which that message was found, where it is not the request's intent key: that of
	// an older policy version (D6), that of the intent with this very text (D17), or that of an answer under way (D18).
	MatchedKey Key
	MappedBy   string // the policy's rule that gave purpose and event; "": none
}

// Snapshot is what a decision's answer says of a message. It is stored with the decision, so that a replay
// gives the same body again.
type Snapshot struct {
	ID         ident.Message
	Connection int64 // that was chosen for it
	State      message.State
	Delivery   string // reported delivery; empty: nothing reported
	Attempts   int
}

// Kind tells a decision of its own from the other answers: those that an idempotency key gives before one, and those
// to repeats in a storm.
type Kind uint8

// The kinds of results.
const (
	Decided    Kind = iota + 1 // this request was decided
	Replayed                   // the same request under the same idempotency key: its decision again
	Mismatched                 // another request under the same idempotency key; nothing was decided
	Counted                    // a repeat in a run: the decision's id is the run's, and it has no record of its own
	Stormed                    // a repeat too many: refused, and counted in the run
)

// Result is what Decide returns for one request.
type Result struct {
	Kind      Kind
	Decision  Decision
	Differing []string // for Mismatched: the members that differ
	// RetryAfter is for Stormed: how long until repeats are answered again.
	RetryAfter time.Duration
	// Price is what a part of the message that is made costs; that of every part is held. 0: nothing is paid.
	Price wallet.MicroUSD
	// Reserve are the keys that this request holds from now on.
	Reserve []Reservation
}

// Space is a register's name space. The numbers are stored, and locks are taken in their order.
type Space int16

// The spaces of the register.
const (
	SpaceIdempotency Space = 1
	SpaceIntent      Space = 2
	SpaceEvent       Space = 6 // logical events of receipts
)

// Reservation is a key that a request takes. Owner is a decision's id in the idempotency space and a
// message's elsewhere.
type Reservation struct {
	Space Space
	Key   Key
	Owner [16]byte
	Ends  clock.Micros
}
