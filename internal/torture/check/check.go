// Package check holds what clients were told, what the store keeps and what the message centre took against each
// other: the invariants of a gateway that was killed, paused and restarted.
//
// Each invariant is a function of its own over a History, and returns what contradicts it, a sentence each. What
// is looked at was read when no fault was injected any more and nothing was under way.
package check

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider/simulator"
	"github.com/einmal/einmal/internal/store"
)

// Ask is an intent that a client has. Its text is its own alone, in each of its parts, so that the message centre's
// ledger names the intent. Its window is open for longer than the test runs.
type Ask struct {
	Event   string // id of the business event; no two intents share one
	Purpose string
	To      string // E.164; the last two digits choose what the message centre does
	Text    string
}

// Ack is a submission that was answered with 2xx.
type Ack struct {
	Ask      *Ask
	Key      string // Idempotency-Key; empty: none
	Status   int
	Message  ident.Message
	Decision ident.Decision
}

// Message is a stored message with its history.
type Message struct {
	*store.Message
	Events []evidence.Event
}

// History is everything that is known at the end.
type History struct {
	Tenant ident.Partition
	Keyer  intent.Keyer // under the installation's identity key

	// What the client knows.
	Asks      []*Ask
	Acks      []Ack
	Refused   []string        // events of requests that had to be refused with 4xx
	Cancelled []ident.Message // cancellations that were answered with 2xx

	// What the store keeps.
	Messages   []*Message
	Decisions  []*store.Decision
	Receipts   []*store.LoggedReceipt
	Exceptions []*store.ExceptionView
	Feed       map[FeedEvent]int // how often each event is in the feed

	// Ledger is what the message centre did, in its order.
	Ledger []simulator.Entry
	// MayBeUnknown is for how many messages the faults injected may have lost the answer for good, beside those
	// that the message centre itself leaves without one: the attempts that were open at a kill, summed up.
	MayBeUnknown int

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
		{"I1", I1AckedExists}, {"I2", I2OneMessage}, {"I3", I3OneAccept}, {"I4", I4LedgerIsKnown},
		{"I5", I5NoBlindRetry}, {"I6", I6NothingStuck}, {"I7", I7NothingFalse}, {"I8", I8HistoriesAreWhole},
		{"I9", I9OneAttemptOneAccept}, {"I11", I11AllOrNone}, {"I13", I13ReceiptsHaveEffect},
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
