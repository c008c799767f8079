// Package store is the seam to the truth. Whether something happens twice is decided here and nowhere else.
//
// Store is the sum of small contracts. Methods of a flow take slices, since a batch costs one fsync, and take
// the pure function that decides as an argument: they lock, read, fold and write, and never decide. Every
// method is one transaction, committed durably when it returns nil. All of them lock in one order:
//
//	policy_head (share) → intake by receipt → external ids by (space, kind, id) → registers by (space, key)
//	→ messages by id → attempts → flows, exceptions, other singletons → wallets by tenant
//
// Wallets come last: whoever has one locked waits for nothing but its commit. (A decision that was outrun locks them after
// its registers, and from there on only makes rows of its own.)
//
// Whoever changes policy_head waits for all who share it, and locks nothing else. What is administered is changed under
// the lock of its tenant's row, then of a leased number's, or of the head of the routes and then a connection's, with the
// control count last; no flow locks these.
//
// Who claims deliveries to webhooks or notes their results locks these, by (webhook, sequence), and nothing else.
//
// Transactions run on a context of their own: a caller that goes away does not undo what others are waiting
// for in the same batch. Errors are faults (fault.Unavailable, NotFound, State, InProgress); anything else is
// a defect and comes as fault.Internal.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Store is all of it. An adapter implements every part; a user takes the part that it needs.
type Store interface {
	Decider
	Dispatcher
	Settler
	Resolver
	Rereader
	ReceiptLog
	Reader
	Feed
	Webhooks
	Deliveries
	Registry
	Policies
	Keys
	Administration
	Slots
	Incarnations
	Stops
	Watcher
	Backlogs
	Controls
	Histories
	Connections
	Wallets
	// Now is the store's clock.
	Now(ctx context.Context) (clock.Micros, error)
	// Ping reports whether the store answers and its schema is this release's.
	Ping(ctx context.Context) error
	Close() error
}

// Submission is a request with what is stored if it is allowed.
type Submission struct {
	*intent.Request
	Flow int64 // immutable number of the flow (Registry.EnsureFlow)
	// ReceiptTime is how long after the validity receipts may come on that connection; 0: evidence.ReceiptTime.
	ReceiptTime time.Duration
	Content     []byte // sealed Content of the message
	Metadata    []byte // sealed; echoed to the tenant; nil: none
	// OwnKey is the wrapped key of a message of kind authentication, which is destroyed when the code ends;
	// nil: Content is sealed under the tenant's key of the day.
	OwnKey    []byte
	OwnKeyFor time.Duration // how long OwnKey is kept, from the decision
	// Caller is who asked: the API key's id. It is part of the audit.
	Caller string
}

// Decided is the answer to one submission.
type Decided struct {
	intent.Result
	Err error // a fault of this submission alone, such as InProgress
}

// DecideFunc is intent.Decide.
type DecideFunc func(*intent.Request, *intent.Facts) intent.Result

// Decider reserves intents and makes messages.
type Decider interface {
	// Decide decides a batch in its order, in one transaction. A nil error says that every result without an
	// Err of its own is durable. ErrPolicyChanged: the head is another policy; nothing was decided.
	Decide(ctx context.Context, batch []Submission, decide DecideFunc) ([]Decided, error)
	// AnswersSent ends the keys that messages hold until their answers got out (D18). Each key at most once.
	AnswersSent(ctx context.Context, sent []AnswerSent) error
	// Preview decides without locks and writes nothing (dry_run). While the store is held it takes what is not finished
	// for unknown.
	Preview(ctx context.Context, s Submission, decide DecideFunc) (intent.Result, error)
}

// AnswerSent is an answer that got out to its caller: the key under which that was waited for, and its message.
type AnswerSent struct {
	Key     intent.Key
	Message ident.Message
}

// ErrPolicyChanged says that a request was prepared under a policy that is not in force any more: prepare it
// again under Policies.PolicyHead.
var ErrPolicyChanged = errors.New("the policy in force has changed")

// ClaimSpec says which work a node wants.
type ClaimSpec struct {
	Node       ident.Node
	Connection int64
	Room       flow.Room
	Rates      flow.Rates  // of the connection and of its senders; nil: none
	Turns      *flow.Turns // whose turn it is; read, not changed; nil: from the beginning
	Lease      time.Duration
}

// Claims is what a claim got.
type Claims struct {
	Taken   []Claimed       // in the order in which they are to leave
	Expired []ident.Message // their validity was over when their turn came: they were left where they are
	Turn    flow.Turn       // for the node's Turns
	// More says that flows with credit may have more than was taken. Partial says that not every flow was looked
	// at; with nothing taken the next claim, under the turns of this one, looks at others.
	More, Partial bool
	Stopped       int           // flows with work, of those looked at, that a stop holds
	Wait          time.Duration // until the first credit that was lacking; 0: none was
}

// Claimed is a message that a node owns until its lease ends.
type Claimed struct {
	Message ident.Message
	Flow    int64
	Fence   int64
	// Most is how many of its parts may be opened at once, of those that are owed; 0 counts as 1.
	Most int
}

// Opened is an attempt of a part that is committed: its bytes may leave now.
type Opened struct {
	Claimed
	Tenant        ident.Partition
	Attempt, Part uint16
	Text          message.Layout
	NoReceipt     bool  // no receipt is asked for
	Reference     int32 // own reference; -1: none was free
	Sender        string
	Destination   string // E.164
	Content       []byte // sealed
	OwnKey        []byte // wrapped own key, where the message has one
	ValidUntil    clock.Micros
	OpenedAt      clock.Micros
}

// OpenSpec says for whom attempts are opened.
type OpenSpec struct {
	Node       ident.Node
	Connection int64
	IDSpace    int64
	// WithReference asks for a free 16-bit reference for each attempt; LookBack is how long an attempt without
	// a message id keeps its own.
	WithReference bool
	LookBack      time.Duration
	// Addressing gives the addresses as they are sent, with TON and NPI in SMPP (R15), for the attempt's record.
	// Nil: as asked for.
	Addressing func(sender, destination string) (source, dest string)
	// AnswerBy is how long the worker may wait for the answer before the attempt counts as orphaned.
	AnswerBy time.Duration
	// Together lets all parts of a long message leave at once. Else the first has to be taken before the others do.
	Together bool
	// OneReceipt asks for a receipt with the first part alone.
	OneReceipt bool
	// Rates are what parts are paid from that are opened after the first one under a claim: the claim has paid for one.
	// What has no credit is not opened.
	Rates flow.Rates
}

// Dispatcher hands out work.
type Dispatcher interface {
	// Claim takes messages that are due: state pending, validity not over, no stop in force that holds their flow,
	// credit left where there is a rate. How many of which flow is flow.Deal's to say. Messages that another
	// transaction has locked are passed over.
	Claim(ctx context.Context, spec ClaimSpec) (Claims, error)
	// OpenAttempts opens an attempt of the parts that are owed (evidence.Case.Owed) for each claim whose fence is
	// still the message's and whose lease runs. Claims that are lost are left out of the answer. A message's parts
	// come in their order. It may be called again under one claim as long as parts are owed. Parts of a long message
	// after its first are left out that a stop holds, which was set since the claim: give the message back.
	OpenAttempts(ctx context.Context, spec OpenSpec, claims []Claimed) ([]Opened, error)
	// Due lists messages of a queue (evidence.QueueLease, QueueFinality) whose time has come, oldest first. Those that
	// another transaction has locked are passed over.
	Due(ctx context.Context, q evidence.Queue, limit int) ([]ident.Message, error)
	// DueValidity lists pending messages whose validity is over, looking at no more than scan rows from the
	// cursor on; it returns the cursor to go on from, zero after the last row.
	DueValidity(ctx context.Context, from Cursor, scan int) ([]ident.Message, Cursor, error)
}

// Cursor is a position in the queue.
type Cursor struct {
	Queue   evidence.Queue
	ReadyAt clock.Micros
	Message ident.Message
}

// News is one thing learned: an outcome, a receipt, an end of a time, a wish.
type News struct {
	evidence.Evidence // for a receipt: Message, Attempt and Part are found by correlation

	// IDSpace is where external ids and references of the connection live.
	IDSpace    int64
	Connection int64
	// Reference is the own reference of an attempt whose outcome this is, to be freed; -1: none.
	Reference int32

	// For a receipt.
	EventKey  intent.Key // of its logical event
	GraceOver bool       // the time to wait for a match is over: an exception is due
	// HandsetE164 is the handset's number if it could be read, to look for the attempt whose answer was lost.
	HandsetE164 string
	// Tenant is checked for a Cancel: another tenant's message is not found. Nil: the gateway itself asks.
	Tenant *ident.Partition
}

// Settled says what became of one piece of news.
type Settled struct {
	Message  ident.Message // none: a receipt without a match
	Case     *evidence.Case
	Waiting  bool // a receipt that waits for its message id to become known
	Known    bool // it had been settled before: nothing was done
	Repeated bool // its logical event had been registered by another receipt
	Err      error
}

// Rules are the pure functions that Settle runs between reading and writing.
type Rules struct {
	Correlate func(r *evidence.ReceiptFacts, byID, byReference []evidence.Candidate) evidence.Match
	// Profiles gives what is declared of a connection's receipts, by its number. Nil: nothing is, of any.
	Profiles func(connection int64) evidence.Profile
	// Grace is how long a receipt waits for its message id to become known.
	Grace time.Duration
	// LookBack is how far back an attempt without an answer is looked for, to pair it with a receipt.
	LookBack time.Duration
	// Redact returns the sealed payload of a receipt without the text that it quotes. It is called for receipts
	// of messages of kind authentication alone, and what it returns replaces the payload in the log (D15).
	// Nothing quoted: it returns nil.
	Redact func(r *LoggedReceipt) ([]byte, error)
}

// Profile is what is declared of a connection's receipts.
func (r Rules) Profile(connection int64) (p evidence.Profile) {
	if r.Profiles != nil {
		p = r.Profiles(connection)
	}
	return p
}

// Settler takes in what is learned.
type Settler interface {
	Settle(ctx context.Context, news []News, rules Rules) ([]Settled, error)
}
