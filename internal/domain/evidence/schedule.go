package evidence

import (
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
)

// Schedule says in which queue the case waits now, and until when.
func (c *Case) Schedule(now clock.Micros) (Queue, clock.Micros) {
	switch {
	case c.Final:
		return QueueNone, 0
	case c.State == message.Pending:
		return Queue(c.Flow), c.dueAt(now)
	case c.State == message.Sending:
		return QueueLease, c.ReadyAt
	}
	return QueueFinality, c.ReceiptUntil
}

// dueAt is when a pending message may be claimed. One of which a part has left keeps its place in its flow: a
// handset waits for the rest.
func (c *Case) dueAt(now clock.Micros) clock.Micros {
	paused := c.pausedUntil()
	if paused <= now && c.Parts > 1 && c.progress().Taken > 0 {
		return c.CreatedAt
	}
	return max(now, paused)
}

// Owed lists the parts that may be sent now. A fence opens each part once: one that ended without having been sent
// waits for another claim.
func (c *Case) Owed(now clock.Micros, together bool) []uint16 {
	if now >= c.ValidUntil {
		return nil
	}
	owed := message.Owed(c.base(now), c.parts(), together)
	return slices.DeleteFunc(owed, func(part uint16) bool {
		return slices.ContainsFunc(c.Attempts, func(a Attempt) bool { return a.Part == part && a.Fence == c.Fence })
	})
}

// NextAttempt is the number of the part's next attempt.
func (c *Case) NextAttempt(part uint16) uint16 {
	next := uint16(1)
	for _, a := range c.Attempts {
		if a.Part == part {
			next = max(next, a.Attempt+1)
		}
	}
	return next
}

// pausedUntil is when the next attempt may begin. It is computed from the attempts, so that evidence which comes
// during a pause does not end it. The part that was told to wait most often says how long.
func (c *Case) pausedUntil() clock.Micros {
	type kind struct {
		part    uint16
		outcome message.Outcome
	}
	var until clock.Micros
	count, last := map[kind]int{}, map[kind]clock.Micros{}
	for _, a := range c.Attempts {
		if a.Outcome == message.OutcomeThrottled || a.Outcome == message.OutcomeNotSent {
			k := kind{a.Part, a.Outcome}
			count[k], last[k] = count[k]+1, max(last[k], a.AnsweredAt)
		}
	}
	for k, n := range count {
		until = max(until, last[k].Add(pause(k.outcome, n)))
	}
	return until
}

// pause is how long a message waits before its next attempt, after the n-th of its attempts that ended so: a
// second after the provider asked for patience, a quarter of one after an attempt that was not written, doubled
// each time, at most half a minute. The message's own validity bounds it.
func pause(o message.Outcome, n int) time.Duration {
	const most = 30 * time.Second
	first := time.Second
	if o == message.OutcomeNotSent {
		first = 250 * time.Millisecond
	}
	if n > 8 {
		return most
	}
	return min(first<<max(n-1, 0), most)
}
