package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// LoggedReceipt is a provider's call as it is stored before it has any effect (R1). Values are as received.
type LoggedReceipt struct {
	ID         ident.Receipt
	Connection int64
	IDSpace    int64
	Kind       string // provider.EventKind
	Payload    []byte // sealed, as received
	Headers    string // JSON, credentials masked
	Peer       string
	Bind       string
	EventID    string
	ExternalID []byte
	Reference  int32 // -1: none
	Status     string
	State      string // normalised
	ErrorCode  string
	Source     string
	Dest       string
	SubmitDate string
	DoneDate   string
	Parsed     string // JSON: the other fields as read, warnings, problem
	Parser     string // name and version
	EventKey   [16]byte

	// Set by the store.
	Seq        int64
	ReceivedAt clock.Micros
}

// ReceiptLog is the append-only log of what providers sent, with the list of what has no effect yet.
type ReceiptLog interface {
	// LogReceipts appends. They are put on the list of work, to be settled by the caller at once or, should it
	// die, by whoever finds them after retryAfter. Seq and ReceivedAt are filled in.
	LogReceipts(ctx context.Context, rs []*LoggedReceipt, retryAfter time.Duration) error
	// SettleLogged appends receipts and settles news, theirs among it, in one transaction: Settle for what is not stored
	// yet. Such a receipt is on the list of work only if it waits, or got an error of its own. After an error of the
	// call nothing is stored: LogReceipts and Settle find out which of them is wrong.
	SettleLogged(ctx context.Context, logged []*LoggedReceipt, news []News, rules Rules) ([]Settled, error)
	// DueReceipts lists receipts on the list of work whose time has come: those that were never settled, and
	// those whose grace is over (waited).
	DueReceipts(ctx context.Context, limit int) ([]DueReceipt, error)
	// PostponeReceipts puts off receipts that could not be settled, so that those behind them have their turn.
	PostponeReceipts(ctx context.Context, rs []Postponed) error
	// GiveUpReceipts takes receipts off the list that could not be settled however often it was tried, and tells a
	// person. They stay in the log, and can be read again.
	GiveUpReceipts(ctx context.Context, rs []*LoggedReceipt, detail string) error
	// FinishReceipts takes receipts off the list that need no effect, such as inbound messages.
	FinishReceipts(ctx context.Context, ids []ident.Receipt) error
	// AwaitedIDs lists the message ids of a connection's attempts whose messages may still get a receipt, looking at
	// no more than scan messages from the cursor on; it returns the cursor to go on from, zero after the last one.
	AwaitedIDs(ctx context.Context, connection int64, from Cursor, scan int) ([]AwaitedID, Cursor, error)
}

// AwaitedID is the message id of one part of one attempt.
type AwaitedID struct {
	Message       ident.Message
	Attempt, Part uint16
	ExternalID    []byte
	Answered      bool // the id is the answer's; else a receipt brought it
}

// DueReceipt is a stored receipt on the list of work.
type DueReceipt struct {
	LoggedReceipt
	Waited bool // it was settled as waiting, and its grace is over
	Tries  int  // how often it was put off
}

// Postponed is a receipt that is put off.
type Postponed struct {
	ID  ident.Receipt
	For time.Duration
}

// NewsOf is a stored receipt as Settle takes it. Whether the connection echoes our reference is the caller's to
// add.
func NewsOf(r *LoggedReceipt) News {
	facts := &evidence.ReceiptFacts{
		ID: r.ID, ExternalID: r.ExternalID, Reference: r.Reference, Status: r.Status, State: r.State,
		Final: r.Kind == "receipt", ErrorCode: r.ErrorCode, Handset: r.Source, DoneDate: r.DoneDate, Parser: r.Parser,
	}
	if r.Kind == "unreadable" {
		facts.Problem = r.problem()
	}
	return News{
		Evidence: evidence.Evidence{Kind: evidence.Receipt, Receipt: facts},
		IDSpace:  r.IDSpace, Connection: r.Connection, Reference: -1, EventKey: r.EventKey, HandsetE164: evidence.HandsetE164(r.Source),
	}
}

// Parsed is what was read from a call beside the columns, the form of LoggedReceipt.Parsed.
type Parsed struct {
	SourceTON  int               `json:"source_ton"`
	SourceNPI  int               `json:"source_npi"`
	DestTON    int               `json:"dest_ton"`
	DestNPI    int               `json:"dest_npi"`
	DataCoding int               `json:"data_coding"`
	Extra      map[string]string `json:"extra,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"`
	Problem    string            `json:"problem,omitempty"`
	// Dates as points in time, where the connection declares its clock, and what it declares of the error code.
	SubmittedAt  time.Time `json:"submitted_at,omitzero"`
	DoneAt       time.Time `json:"done_at,omitzero"`
	ErrorMeaning string    `json:"error_meaning,omitempty"`
}

// Reading is r.Parsed, empty if there is none.
func (r *LoggedReceipt) Reading() Parsed {
	var p Parsed
	if json.Unmarshal([]byte(r.Parsed), &p) != nil {
		return Parsed{}
	}
	return p
}

// problem is what kept the parser from reading a receipt.
func (r *LoggedReceipt) problem() string {
	if p := r.Reading().Problem; p != "" {
		return p
	}
	return "the event is in a format that is not known"
}
