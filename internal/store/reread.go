package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Rereading says who has receipts read again, and why.
type Rereading struct {
	Person, Reason string
	Dry            bool // look at what would change, and change nothing
}

// RereadEffect is what came of reading one receipt again. The spellings are public.
type RereadEffect string

// The effects.
const (
	RereadNothing  RereadEffect = "nothing"  // all is as it was
	RereadApplied  RereadEffect = "applied"  // it had its effect on a message at last
	RereadRebuilt  RereadEffect = "rebuilt"  // its message is not reported as it was
	RereadExcepted RereadEffect = "excepted" // a person is told of it, in other words than before or for the first time
	RereadSettled  RereadEffect = "settled"  // its exception is resolved, and nothing else follows
	RereadWaits    RereadEffect = "waits"    // it has had no effect yet, and will have it as it is read now
)

// Reread is what became of one receipt.
type Reread struct {
	Receipt  ident.Receipt
	Changed  bool // it is read otherwise than before
	Effect   RereadEffect
	Message  ident.Message // whose state From and To are; none: no message is concerned
	From, To message.State
	Err      error
}

// Rereader has stored receipts read again, after a parser, a setting or a rule was mended (R9).
type Rereader interface {
	// LogFrom lists a connection's calls in the order in which they were received, from the place on; 0: everybody's.
	LogFrom(ctx context.Context, connection int64, from LogPlace, limit int) ([]*LoggedReceipt, error)
	// Reread takes receipts as they are read now: with the ids and payloads of the log and new readings. Former
	// readings are kept. Receipts that had no effect have theirs; the parts that others had one on are computed again
	// from their histories. What stays as it was is not written.
	Reread(ctx context.Context, rs []*LoggedReceipt, by Rereading, rules Rules) ([]Reread, error)
}

// Reading is how a receipt was read before it was read again.
type Reading struct {
	LoggedReceipt // what was read, and by what; the rest is not in it
	Until         clock.Micros
	By, Reason    string // who had it read again, and why
}

// LogPlace is a place in the log: what was received then or later, and behind this one.
type LogPlace struct {
	At clock.Micros
	ID ident.Receipt
}
