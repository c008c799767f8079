// Package check holds what clients and operators were told, what the store keeps and what the message centre took
// against each other: the invariants of a gateway that was killed, paused, restarted and restored.
//
// Each invariant is a function of its own over a History, and returns what contradicts it, a sentence each. What
// is looked at was read when no fault was injected any more and nothing was under way.
package check

import (
	"fmt"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// Ask is an intent that a client has. Its text is its own alone and has its Mark so often that each part of it has
// one, so that the message centre's ledger names the intent. Its window is open for longer than the test runs.
type Ask struct {
	Event   string // its name, and the id of its business event; no two intents share one
	Purpose string // empty: it names none, and no event (D18)
	To      string // E.164; the last two digits choose what the message centre does
	Text    string
	// Meant is how often a client that had its answer asked for it again, where it names no purpose: each may be a
	// message of its own.
	Meant int
}

// Unnamed reports that its requests name neither purpose nor event.
func (a *Ask) Unnamed() bool { return a.Purpose == "" }

// Ack is a submission that was answered with 2xx.
type Ack struct {
	Ask      *Ask
	Key      string // Idempotency-Key; empty: none
	Status   int
	Message  ident.Message
	Decision ident.Decision
	At       time.Time // when the client had it
}

// Message is a stored message with its history.
type Message struct {
	*store.Message
	Events []evidence.Event
}

// Restore is a jump of the store: it has forgotten what was done after the copy was taken.
type Restore struct{ Copied, Back clock.Micros }

// History is everything that is known at the end.
type History struct {
	Tenant   ident.Partition
	Keyer    intent.Keyer // under the installation's identity key
	Echo     bool         // the message centre echoes own references, and the connection declares it
	Together bool         // the parts of a long message leave at once
	Lease    time.Duration

	// What clients and operators know.
	Asks      []*Ask
	Acks      []Ack
	Refused   []*Ask          // requests that had to be refused with 4xx
	Cancelled []ident.Message // cancellations that were answered with 2xx
	Acts      Acts

	// What the store keeps.
	Messages    []*Message
	Decisions   []*store.Decision
	Receipts    []*store.LoggedReceipt
	Exceptions  []*store.ExceptionView
	Stops       []store.Stop
	Policies    []store.PolicyVersion // that were in force, the newest first
	Work        []store.DueReceipt    // receipts on the list of work that are due
	Incarnation store.Incarnation
	Feed        map[FeedEvent]int // how often each event is in the feed

	// Ledger is what the message centre did, in its order.
	Ledger     []simulator.Entry
	Faults     []Fault      // those injected; cuts are in the ledger
	FaultsOver clock.Micros // since when no fault is injected
	Stopped    clock.Micros // when the last gateway was told to stop
	Restores   []Restore

	// Of a prepaid tenant beside the load.
	Paid       []Paid
	PaidLedger []simulator.Entry        // its lines alone
	Money      []store.WalletDifference // that the store's own proof has found, of all tenants

	index *index // see find
}

// FeedEvent names an event.
type FeedEvent struct {
	Message ident.Message
	N       uint32
}

// Invariant is a check with the id under which docs and requirements name it.
type Invariant struct {
	ID    string
	Check func(*History) []string
}

// Invariants are all checks, in their order.
func Invariants() []Invariant {
	return []Invariant{
		{"I1", I1AckedExists}, {"I1", I1ActsStand}, {"I2", I2OneMessage}, {"I3", I3OneAccept}, {"I4", I4LedgerIsKnown},
		{"I5", I5NoBlindRetry}, {"I6", I6NothingStuck}, {"I7", I7NothingFalse}, {"I7", I7UnknownHasAReason}, {"I7", I7WholeTexts}, {"I8", I8HistoriesAreWhole},
		{"I9", I9OneAttemptOneAccept}, {"I10", I10MoneyFits}, {"I11", I11AllOrNone}, {"I11", I11Runs}, {"I13", I13ReceiptsHaveEffect},
		{"I13", I13ExceptionsAreTrue}, {"I16", I16InTime}, {"I19", I19NoJumpUnseen}, {"I19", I19NothingAgain},
		{"D6", D6InForce}, {"D19", D19StopsHold},
	}
}

// All runs every check and returns what contradicts, each with its invariant's id before it.
func All(h *History) []string {
	var all []string
	for _, i := range Invariants() {
		for _, v := range i.Check(h) {
			all = append(all, i.ID+": "+v)
		}
	}
	return all
}

// findings gathers what contradicts an invariant.
type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// forgotten reports whether the store has forgotten what was done at that moment: it was restored from an older copy.
func (h *History) forgotten(at clock.Micros) bool {
	for _, r := range h.Restores {
		if r.Copied <= at && at < r.Back {
			return true
		}
	}
	return false
}
