package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Message is a stored message with its state and attempts.
type Message struct {
	ID            ident.Message
	Tenant        ident.Partition
	Decision      ident.Decision
	CreatedAt     clock.Micros
	Purpose       string
	Kind          string // of the purpose: authentication, alert, …
	PolicyID      string
	Destination   string // E.164
	Sender        string
	Event         intent.Event
	Template      intent.Template
	CorrelationID string
	Connection    int64
	Flow          int64
	IntentKey     intent.Key
	Content       []byte // sealed
	Metadata      []byte // sealed; nil: none
	ValidUntil    clock.Micros
	ReceiptUntil  clock.Micros
	Text          message.Layout

	State    message.State
	Since    clock.Micros
	Final    bool
	Attempts []Attempt // by attempt and part

	Price wallet.MicroUSD // of a part; 0: nothing is paid for it
	Cost  Cost            // what its tenant pays
}

// Delivery is the reported delivery of the message (ReportedDelivery).
func (m *Message) Delivery() string { return ReportedDelivery(m.State, m.Text.Parts, m.Parts()) }

// Parts are its attempts as the fold sees them.
func (m *Message) Parts() []message.Part {
	parts := make([]message.Part, len(m.Attempts))
	for i, a := range m.Attempts {
		parts[i] = message.Part{
			Attempt: a.Attempt.Attempt, Part: a.Part, Outcome: a.Outcome, Delivery: a.Delivery,
			HasExternalID: len(a.ExternalID) > 0, NoReceipt: a.NoReceipt,
		}
	}
	return parts
}

// Progress is how far its parts have come.
func (m *Message) Progress() message.Progress { return message.ProgressOf(m.Text.Parts, m.Parts()) }

// LastAttempt is the number of attempts that were opened, of the part that was tried most often.
func (m *Message) LastAttempt() int {
	if len(m.Attempts) == 0 {
		return 0
	}
	return int(m.Attempts[len(m.Attempts)-1].Attempt.Attempt)
}

// Attempt is a stored part of an attempt (R15).
type Attempt struct {
	evidence.Attempt
	Connection int64
	Node       ident.Node
	OpenedAt   clock.Micros
	Receipt    bool // a delivery receipt was asked for
	// SourceSent and DestinationSent are the addresses as sent, with TON and NPI on SMPP.
	SourceSent, DestinationSent string
}

// Decision is a stored decision with what it was taken on (D14).
type Decision struct {
	intent.Decision
	Tenant         ident.Partition
	Purpose        string
	Destination    string
	Sender         string
	Event          intent.Event
	Template       intent.Template
	CorrelationID  string
	IntentKey      intent.Key
	IdempotencyKey intent.Key // zero: none
	TextKey        intent.Key
	Caller         string
	Run            *Run // nil: it stands for itself alone
	// StateSource is the event by which the compared message had taken PreviousState. Nil: there is no such message,
	// or it was being sent, which a claim does without an event. Lists do not have it.
	StateSource *evidence.Event
}

// Run is what a decision stands for that further repeats were counted with, itself included.
type Run struct {
	Last  clock.Micros
	Count int64
}

// Page bounds a list. Lists go by (created_at, id), the newest first; After is where the page before ended.
type Page struct {
	Limit int
	At    clock.Micros // 0: from the newest on
	ID    [16]byte
}

// MessageFilter narrows a list; zero values do not.
type MessageFilter struct {
	Destination    string
	EventID        string
	CorrelationID  string
	Purpose        string
	States         []message.State // one of these
	ExternalID     string
	IntentKey      intent.Key
	IdempotencyKey intent.Key
	From, Until    clock.Micros
}

// Reader answers questions. Everything is for one tenant: another one's things are not found.
type Reader interface {
	Message(ctx context.Context, tenant ident.Partition, id ident.Message) (*Message, error)
	Messages(ctx context.Context, tenant ident.Partition, f MessageFilter, p Page) ([]*Message, error)
	// Events lists a message's history from its event number after on.
	Events(ctx context.Context, tenant ident.Partition, id ident.Message, after uint32, limit int) ([]evidence.Event, error)
	Decision(ctx context.Context, tenant ident.Partition, id ident.Decision) (*Decision, error)
	// Decisions lists decisions; message narrows it to those about one message.
	Decisions(ctx context.Context, tenant ident.Partition, about ident.Message, p Page) ([]*Decision, error)
	// Receipt and Receipts read the log. Receipts without a match belong to the installation: they are shown
	// to its own tenant, the first one, alone.
	Receipt(ctx context.Context, tenant ident.Partition, id ident.Receipt) (*LoggedReceipt, error)
	Receipts(ctx context.Context, tenant ident.Partition, about ident.Message, p Page) ([]*LoggedReceipt, error)
	// Readings lists how a receipt was read before, the oldest reading first. Whose it is, Receipt says.
	Readings(ctx context.Context, id ident.Receipt) ([]Reading, error)
	Exceptions
}

// FeedEvent is an event with its place in the tenant's feed, and what never changes about its message: no later event
// and no other node makes anything else of it.
type FeedEvent struct {
	Seq     int64
	Message ident.Message
	evidence.Event
	Facts Facts
}

// Facts are what of a message was stored with its decision and never changes.
type Facts struct {
	CreatedAt     clock.Micros
	ValidUntil    clock.Micros
	Decision      ident.Decision
	Purpose       string
	Kind          string // of the purpose
	PolicyID      string
	Destination   string // E.164
	Sender        string
	Event         intent.Event
	Template      intent.Template
	CorrelationID string
	Connection    int64 // that was chosen for it
	IntentKey     intent.Key
	Metadata      []byte // sealed; nil: none
	Parts         int
}

// Feed gives a tenant's committed events a sequence. On a server events become visible out of order, so the sequence
// is given after the commit, to whatever the outbox holds. Where one transaction writes at a time it is given with the
// event, and the outbox holds only what was written while traffic waited.
type Feed interface {
	// Sequence gives numbers to at most limit events of the outbox and returns how many.
	Sequence(ctx context.Context, limit int) (int, error)
	// After lists a tenant's events from a sequence number on.
	After(ctx context.Context, tenant ident.Partition, seq int64, limit int) ([]FeedEvent, error)
	// TrimFeed removes the feed's entries older than the time, at most limit of them. The events stay.
	TrimFeed(ctx context.Context, before clock.Micros, limit int) (int, error)
}
