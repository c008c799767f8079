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

// Histories forgets what is old, in small ordered steps. Each method is one transaction. While traffic waits for the
// release of a restored store, and while another node is at it, they do nothing: something that is wrong is then kept
// for longer.
type Histories interface {
	// ForgetMessages looks at no more than limit messages from the cursor on that were made before, in the order of
	// their ids, and forgets those that may go: final since before, and holding no key whose window runs (I17). With a
	// message go its state, its attempts, and what its ids at the provider stand for. It returns how many went, and the
	// cursor to go on from, zero after the last one.
	ForgetMessages(ctx context.Context, before clock.Micros, from ident.Message, limit int, rules Rules) (gone int, next ident.Message, err error)
	// ForgetRecords forgets no more than limit decisions, receipts and exceptions each that were made before, and before
	// the oldest message that is still there. On a server most go by whole partitions, which cost nothing.
	ForgetRecords(ctx context.Context, before clock.Micros, limit int) (gone int, err error)
	// ForgetKeys looks at no more than limit keys of the register from the cursor on, and forgets those whose window
	// ended before, and whose message is final or gone (I17). It returns how many went, and the cursor to go on from,
	// zero after the last one.
	ForgetKeys(ctx context.Context, before clock.Micros, from KeyCursor, limit int) (gone int, next KeyCursor, err error)
	// PartitionHistory makes the partitions that are needed for so long from now on, each as long as that. An engine
	// without partitions has nothing to do.
	PartitionHistory(ctx context.Context, length time.Duration) error
}
