package evidence

import (
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Kind says what a piece of evidence is.
type Kind uint8

// The kinds.
const (
	Outcome          Kind = iota + 1 // an attempt's answer, or the lack of one
	Receipt                          // a receipt that was matched with an attempt
	LeaseEnded                       // the worker that had the message is gone
	Returned                         // the worker gives the message back; it opened no attempt
	ValidityEnded                    // the message waited too long
	ReceiptTimeEnded                 // no receipt is awaited any more
	Cancel                           // somebody wants it not to be sent
	Restored                         // the store went back in time
	Requeued                         // a person says that what a restore left in doubt was not sent
	Resolved                         // a person resolves an exception
	Rebuilt                          // receipts of the part were read again
	Declared                         // a person says what became of attempts whose outcome nobody knows
)

// Evidence is one thing learned about one message.
type Evidence struct {
	Kind    Kind
	Message ident.Message

	// For Outcome and Receipt: which part of which attempt. For Declared, too; 0: any.
	Attempt, Part uint16

	// For Outcome; for Declared accepted or not_sent alone.
	Outcome    message.Outcome
	ExternalID []byte
	Code       string
	CodeName   string
	Detail     string
	Bind       string // over which of the connection's binds it left, where there are several
	Late       bool
	GiveUp     bool // with OutcomeNotSent: no attempt can ever succeed, the message has failed
	// Hold is how long the worker keeps its claim on a long message, to go on with the parts that are left; 0: it
	// does not go on, and they are anybody's.
	Hold time.Duration

	// For Returned: the fence under which the message was claimed.
	Fence int64

	// For Receipt.
	Receipt *ReceiptFacts

	// For Cancel, Requeued, Resolved and Declared.
	Person, Reason string
	// For Resolved, beside Receipt, or Outcome and ExternalID of a late answer: what the person makes of it. State is
	// what the receipt stands for, where its own status says nothing; "" where it does.
	Exception ident.Exception
	Action    exception.Action
	State     string

	// For Rebuilt, beside Person, Reason, and Receipt as it is read now: the message's history, whether the receipt
	// belongs to another attempt or to none, and its message id as it was read before.
	History  []Past
	Moved    bool
	FormerID []byte
	ToldOf   map[ident.Receipt]bool // receipts of which a person was told already

	// For Restored: when the copy was taken; 0: not known.
	AsOf clock.Micros
}

// ReceiptFacts is a stored receipt as far as its effect depends on it. Values are as received.
type ReceiptFacts struct {
	ID           ident.Receipt
	ExternalID   []byte
	Reference    int32                // own reference as echoed; -1: none
	EchoDeclared bool                 // the connection declares that it echoes our reference
	TwoBases     bool                 // it declares that receipts write ids in another base than answers
	Corrections  []message.Correction // it documents
	Status       string
	State        string // normalised status; empty: no documented mapping
	Final        bool   // the event says that it is a final receipt
	ErrorCode    string
	Handset      string // the handset's address, digits as received
	DoneDate     string
	Repeated     bool            // its logical event is known already
	Exception    ident.Exception // that it settles by having an effect at last; none: it never was one
	Quality      Quality
	Problem      string // why it could not be read; empty: it could
	Parser       string // what read it, in which version
}
