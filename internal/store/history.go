package store

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// KeyCursor is a position in the register.
type KeyCursor struct {
	Space intent.Space
	Key   intent.Key
}

// Forgotten is what a step has done.
type Forgotten struct {
	Gone int
	// HeldBack is how much longer records are kept than they should be: more messages are needed still than are kept one
	// by one. 0: nothing is held back.
	HeldBack time.Duration
}

// Histories forgets what is old, in small ordered steps. Each method is one transaction. While traffic waits for the
// release of a restored store, and while another node is at it, they do nothing: something that is wrong is then kept
// for longer.
type Histories interface {
	// ForgetMessages looks at no more than limit messages from the cursor on that were made before, in the order of
	// their ids, and forgets those that may go: final since before, holding no key whose window runs (I17) and no money, named
	// by no open exception, and with nothing left to tell an endpoint (I12). With a message go its state, its attempts, and what its ids at the provider stand for. It returns how many went, and the
	// cursor to go on from, zero after the last one.
	ForgetMessages(ctx context.Context, before clock.Micros, from ident.Message, limit int, rules Rules) (gone int, next ident.Message, err error)
	// ForgetRecords forgets no more than limit decisions, receipts and resolved exceptions each that were made before. What
	// belongs to a message that is there is kept, and so are open exceptions with the receipts that they are about. On a
	// server most goes by whole partitions, out of which what is kept is taken row by row.
	ForgetRecords(ctx context.Context, before clock.Micros, limit int) (Forgotten, error)
	// ForgetKeys looks at no more than limit keys of the register from the cursor on, and forgets those whose window
	// ended before, and whose message is final or gone (I17). It returns how many went, and the cursor to go on from,
	// zero after the last one.
	ForgetKeys(ctx context.Context, before clock.Micros, from KeyCursor, limit int) (gone int, next KeyCursor, err error)
	// PartitionHistory makes the partitions that are needed for so long from now on, each as long as that. An engine
	// without partitions has nothing to do.
	PartitionHistory(ctx context.Context, length time.Duration) error
}
