package dispatch

import (
	"sync/atomic"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/store"
)

// load counts messages at one place between the claim and the answer.
type load struct{ all, lower atomic.Int64 }

// add counts a message of a claim, or no longer.
func (l *load) add(c store.Claimed, n int64) {
	if !urgent(c) {
		l.lower.Add(n)
	}
	l.all.Add(n)
}

// urgent reports whether a message is of the lane that overtakes.
func urgent(c store.Claimed) bool { return flow.PlaceOf(c.Flow).Lane == flow.Urgent }
