// Package provider is the seam between the gateway and those who carry messages.
//
// A provider has two directions. It is given submissions and reports what became of each; and it is given a
// Sink, into which it puts whatever arrives: receipts, inbound messages, things that it cannot read. Adapters
// translate and never decide: what is final, what may be tried again and what a code means to a message is
// domain code's business.
package provider

import (
	"context"
	"time"
)

// Submission is one part of one attempt, ready for the wire.
type Submission struct {
	// Attempt is the attempt's own id as text. It is stored before the submission is made.
	Attempt string
	// Reference is our own reference: a 16-bit number on SMPP (user_message_reference). HasReference is
	// false when none was free; the submission then goes without.
	Reference    uint16
	HasReference bool

	Source      string // sender as the application names it: alphanumeric, short code or digits
	Destination string // E.164 with the plus sign
	Text        string // UTF-8; of a long message this part's own
	// DataCoding is that of the whole text (SMPP 3.4, section 5.2.19): 0 the default alphabet, 8 UCS-2. It was chosen
	// when the message was made, and holds for each of its parts.
	DataCoding uint8
	Segment    Segment
	NoReceipt  bool // no delivery receipt is wanted: another part's speaks for this one

	// Validity is how long the provider may try; 0 leaves it to the provider. Negative means that it is over:
	// NotSent.
	Validity time.Duration
	// Deadline is the node's own monotonic instant after which no first byte may be written (the lease less a
	// margin). A provider that comes to the submission later reports NotSent and writes nothing. It is always
	// set: the zero time is one that has passed, not "never".
	Deadline time.Time
}

// OutcomeKind is what is known about one submission.
type OutcomeKind int

// The kinds of outcomes. All but Unknown are definite.
const (
	Accepted  OutcomeKind = iota + 1 // the provider took it; ExternalID is its message id, if it gave one
	Rejected                         // definitely not taken; not to be repeated unchanged
	Throttled                        // definitely not taken; may be tried again after a pause
	NotSent                          // no byte was written
	Unknown                          // bytes may have been written and no definite answer came
)

var outcomeNames = map[OutcomeKind]string{
	Accepted: "accepted", Rejected: "rejected", Throttled: "throttled", NotSent: "not_sent", Unknown: "unknown",
}

// String returns the outcome's name in events and metrics.
func (k OutcomeKind) String() string { return outcomeNames[k] }

// LongestID is the longest message id, in octets, that is kept. SMPP allows 64 (3.4, section 5.3.2.12); what is
// longer than this is no id, and would not fit into a store's index.
const LongestID = 255

// Outcome is the answer to a submission, or the lack of one.
type Outcome struct {
	Kind       OutcomeKind
	ExternalID []byte // as received; at most LongestID octets, what is longer is left out
	Code       string // the provider's raw status, such as "0x00000058"; empty if there was none
	CodeName   string // its name, such as "ESME_RTHROTTLED"
	Detail     string // in plain words, without numbers or text of the message
	Bind       string // over which of the connection's binds bytes left; "": over none, or there is one
	// PauseConnection asks for a pause of the whole connection with an alarm: the account or the bind is
	// wrong, and other messages would fare no better.
	PauseConnection bool
	// SlowDown asks for a lower rate of the whole connection.
	SlowDown bool
	// Late marks an answer that came after Unknown had been reported for this submission: evidence.
	Late bool
}

// Report is called with the outcome of a submission: exactly once as long as the process lives, and perhaps
// once more with Late set. It is called from any goroutine, also while Submit is still running, but never by
// Submit itself, so that a caller may hold a lock. It must not block for long.
type Report func(Outcome)

// Provider carries messages of one connection.
type Provider interface {
	// Start connects and goes on reconnecting until ctx ends, which ends the session in order too: answers to
	// what is under way are still awaited. It returns at once. Everything that arrives is given to the sink.
	// Stop is needed all the same.
	Start(ctx context.Context, sink Sink) error
	// Submit hands over one submission. It returns at once. What is more than Free() is NotSent.
	Submit(Submission, Report)
	// Free is how many more submissions may be under way now: 0 while not bound.
	Free() int
	// Changed receives a value (capacity one, never closed) whenever Free may have grown.
	Changed() <-chan struct{}
	// Status says in a few words how the connection is: "bound", "connecting", "paused: …".
	Status() string
	// Stop ends the connection in order: no new submissions (NotSent), answers to those under way are awaited
	// until ctx ends, then the session is unbound. What is unanswered by then is reported Unknown.
	Stop(ctx context.Context) error
}

// RawEvent is something that a provider sent, as received.
type RawEvent struct {
	Payload []byte // the PDU, or the body of the call
	// Framing is how many octets at the start of the payload are the transport's own, and differ when the same thing
	// is sent again: SMPP's header with its sequence number.
	Framing int
	// Headers are relevant transport headers with credentials masked; nil on SMPP.
	Headers map[string]string
	Peer    string // address of the other side
	Bind    string // which session or URL it came over
	// Parsed is the adapter's reading of the payload. It is made before the event is stored and never fails:
	// what cannot be read is Kind Unreadable with a Problem.
	Parsed Parsed
}

// EventKind is what a provider's call is about.
type EventKind string

// The kinds.
const (
	KindReceipt      EventKind = "receipt"      // a final delivery receipt
	KindIntermediate EventKind = "intermediate" // an intermediate notification; never final
	KindInbound      EventKind = "inbound"      // a message from a handset
	KindOther        EventKind = "other"        // acknowledgements by a handset's user or application, alerts
	KindUnreadable   EventKind = "unreadable"   // not understood
)

// Parsed is what an adapter read from an event, values as received. Empty means: not there.
type Parsed struct {
	Kind       EventKind
	EventID    string // the provider's own id of the event, where it gives one
	ExternalID []byte // message id exactly as received
	// Reference is our own reference if the provider echoed one.
	Reference    uint16
	HasReference bool
	Status       string // raw status as received, such as "DELIVRD"
	// State is the normalised state where the connection documents a mapping: en_route, accepted, delivered,
	// undelivered, expired, unknown; else empty.
	State      string
	ErrorCode  string // raw error code
	Source     string // addresses as received
	SourceTON  int
	SourceNPI  int
	Dest       string
	DestTON    int
	DestNPI    int
	SubmitDate string // times as reported, as received
	DoneDate   string
	// SubmittedAt and DoneAt are these as points in time, where the connection declares by which clock; else zero.
	SubmittedAt, DoneAt time.Time
	ErrorMeaning        string // what the connection declares the error code to mean; empty: nothing
	DataCoding          int
	Text                string            // an inbound message's text; for receipts empty
	Extra               map[string]string // other fields as received, by name
	Warnings            []string          // what was odd but did not prevent reading
	Problem             string            // why it is unreadable
	Parser              string            // name and version of the parser, such as "smpp-receipt/1"
}

// Sink takes what a provider sent. Nil means: durable, tell the provider so. An error means: not stored, let
// the provider send it again (HTTP 503, SMPP 0x64).
type Sink interface {
	Take(ctx context.Context, events []RawEvent) error
}
