package store

import (
	"context"

	"github.com/einmal/einmal/internal/domain/flow"
)

// Backlog is how much of a store's work is not over, for those who watch it.
type Backlog struct {
	Pending    [flow.Lanes]int // of the connection, by lane
	Awaited    int             // handed over; a receipt may come
	Unknown    int             // of the Awaited, those that the provider may or may not have
	Exceptions int             // open
	Untold     int             // deliveries to webhooks that wait or are under way, also of endpoints that are switched off
	Dead       int             // dead letters of webhooks
}

// Backlogs counts. It is asked every few seconds, whatever waits, and costs no more than its bound.
type Backlogs interface {
	// Backlog counts at most so many of each. Where more are Awaited, Unknown is of those whose time for receipts ends
	// last.
	Backlog(ctx context.Context, connection int64, most int) (Backlog, error)
}
