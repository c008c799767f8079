// Package evidence says what follows from what is learned about a message: an answer or its lack, a receipt,
// an end of a lease, of the validity, of the time in which receipts may come.
//
// It is pure. The store locks a message, gives its Case to Apply with each piece of evidence, and writes what
// has changed. The state of a message is never set: it is folded from its attempts (message.Fold).
package evidence

import (
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// ReceiptTime is how long after its validity a message may still get a receipt, on a connection that says nothing else;
// then it is final as it is.
const ReceiptTime = 72 * time.Hour

// EventLife is how long a logical event is remembered after its first receipt: longer than any provider sends one
// again, and shorter than the time after which providers use their ids again.
const EventLife = 30 * 24 * time.Hour

// Case is a message under its lock.
type Case struct {
	// What never changes.
	Message      ident.Message
	Tenant       ident.Partition
	Connection   int64
	Parts        int
	CreatedAt    clock.Micros
	ValidUntil   clock.Micros
	ReceiptUntil clock.Micros // after it no receipt is awaited
	EventBound   bool         // the window is bound to the event
	While        []message.State
	Flow         int64

	// What does.
	State    message.State
	Since    clock.Micros // when it took that state
	Final    bool
	Leased   bool
	Fence    int64
	ReadyAt  clock.Micros // when it is due in its queue
	Attempts []Attempt
	LastN    uint32 // number of the last event

	// What Apply found, for the store to write.
	Events     []Event
	Exceptions []exception.Exception
	CloseKey   bool // the message has left its window: its register key ends now
	GoOn       int  // so many parts may be opened now by the worker whose answer it was, under the claim that it holds
	OpenKey    bool // it is inside again, after a correction: its key goes on, if it is still the message's

	// Told are the conflicts of answers that a person was told of already, in the words of their exceptions.
	Told []string
	// Effects are what the receipts of a part that was rebuilt do as they are read now; those that say nothing have none.
	Effects map[ident.Receipt]message.Effect
}

// Attempt is one part of one attempt.
type Attempt struct {
	Attempt, Part uint16
	Outcome       message.Outcome
	Delivery      message.Delivery
	ExternalID    []byte // as received; nil: none
	Reference     int32  // own reference; -1: none
	NoReceipt     bool   // none was asked for, and nobody let one stand: another part's speaks for it
	Fence         int64  // of the claim under which it was opened
	Code          string // raw status of the answer
	CodeName      string
	AnsweredAt    clock.Micros
	StatusRaw     string // of the receipt that moved Delivery
	ErrorCode     string
	DeliveredAt   clock.Micros // when that receipt was received
	Changed       bool
	New           bool // it is not stored yet: see Case.restored
}

// EventKind is what happened. The spellings are stored and public.
type EventKind string

// The kinds of events.
const (
	EventTaken     EventKind = "taken"     // a message was made
	EventOutcome   EventKind = "outcome"   // an attempt's answer, or the lack of one
	EventLate      EventKind = "late"      // an answer after the attempt was called unknown
	EventReceipt   EventKind = "receipt"   // a receipt was applied
	EventRepeated  EventKind = "repeated"  // a receipt said again what was known
	EventOvertaken EventKind = "overtaken" // an intermediate receipt after a final one
	EventConflict  EventKind = "conflict"  // evidence against what is final
	EventCorrected EventKind = "corrected" // a receipt replaced a final one, as the connection documents
	EventOrphaned  EventKind = "orphaned"  // a worker died with the message in hand
	EventFailed    EventKind = "failed"    // it was not sent and never can be
	EventExpired   EventKind = "expired"   // the validity ended before it was sent
	EventCancelled EventKind = "cancelled" // somebody cancelled it while pending
	EventClosed    EventKind = "closed"    // no receipt is awaited any more
	EventRestored  EventKind = "restored"  // the store went back in time while it was not finished
	EventRequeued  EventKind = "requeued"  // a person said that it was not sent, after a restore
	EventResolved  EventKind = "resolved"  // a person resolved an exception, or said what became of an attempt
	EventRebuilt   EventKind = "rebuilt"   // receipts were read again, and say something else
)

// Event is one line of a message's history. Events of a message are numbered from 1 without a gap.
type Event struct {
	N             uint32
	At            clock.Micros
	Kind          EventKind
	From, To      message.State
	Attempt, Part uint16
	Receipt       ident.Receipt
	Detail        map[string]string // no number, no text of a message
}

// attempt finds an attempt's part.
func (c *Case) attempt(attempt, part uint16) *Attempt {
	i := slices.IndexFunc(c.Attempts, func(a Attempt) bool { return a.Attempt == attempt && a.Part == part })
	if i < 0 {
		return nil
	}
	return &c.Attempts[i]
}

// AttemptOpen reports whether an attempt's outcome is still awaited by a worker.
func (c *Case) AttemptOpen() bool {
	return slices.ContainsFunc(c.Attempts, func(a Attempt) bool { return a.Outcome == message.OutcomeOpen })
}

// LastAttempt is the number of the last attempt, 0 if there is none.
func (c *Case) LastAttempt() uint16 {
	var last uint16
	for _, a := range c.Attempts {
		last = max(last, a.Attempt)
	}
	return last
}

func (c *Case) inWhile(s message.State) bool { return slices.Contains(c.While, s) }

// progress is how far the parts have come.
func (c *Case) progress() message.Progress { return message.ProgressOf(c.Parts, c.parts()) }

// Queue is where a message waits for the next thing that is due. A number from FirstFlow on is a flow.
type Queue int64

// The queues that are no flows.
const (
	QueueNone     Queue = 0  // nothing is due
	QueueLease    Queue = 1  // claimed; due when the lease has ended
	QueueFinality Queue = 2  // handed over; due when no receipt is awaited any more
	FirstFlow     Queue = 16 // flows are numbered from here
)
