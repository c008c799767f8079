package flow

import (
	"maps"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
)

// Rates are the rates of a connection, as the time between two messages: by sender, and the connection's own
// under "". What has none is not in it.
type Rates map[string]time.Duration

// Slowed are the rates with the connection's own at a share of it, from 0 to 1. Its senders' stay.
func (r Rates) Slowed(share float64) Rates {
	every, ok := r[""]
	if !ok || share >= 1 {
		return r
	}
	slowed := maps.Clone(r)
	slowed[""] = time.Duration(float64(every) / share)
	return slowed
}

// Ahead is how far credit may be used before its time: so much may leave at once after a silence. A tenth of a
// second's worth is fine enough for carriers that count by the second, and long enough for batches. The urgent
// lane may go as far again, so that a campaign at its rate does not hold a code.
const Ahead = 100 * time.Millisecond

// Credit is what may still be sent. Each message moves the time until which the credit is spent by the time
// between two; nothing may go further ahead of the clock than Ahead.
type Credit struct {
	Every time.Duration // between two messages
	Spent clock.Micros  // until when
}

// ahead is how far Spent may go beyond the clock: one message at least.
func (c *Credit) ahead(lane int) time.Duration {
	most := max(Ahead, c.Every)
	if lane == Urgent {
		most *= 2
	}
	return most
}

// spent is Spent as it counts now. What lies further ahead than anything may is of a slower rate that was in force
// then, or of a clock that has stepped back.
func (c *Credit) spent(now clock.Micros) clock.Micros {
	return min(max(c.Spent, now), now.Add(c.ahead(Urgent)))
}

// Wait is how long the next message of a lane has to wait for its credit; 0 or less: not at all.
func (c *Credit) Wait(now clock.Micros, lane int) time.Duration {
	return c.spent(now).Add(c.Every).Sub(now.Add(c.ahead(lane)))
}

// Purse is the credit of a connection and of its senders, under the senders' names and "".
type Purse map[string]*Credit

// Wait is how long a sender's next message has to wait. What has no rate waits for nothing.
func (p Purse) Wait(now clock.Micros, lane int, sender string) time.Duration {
	var wait time.Duration
	for _, c := range p.of(sender) {
		wait = max(wait, c.Wait(now, lane))
	}
	return wait
}

// Spend takes the credit of one message if there is enough.
func (p Purse) Spend(now clock.Micros, lane int, sender string) bool {
	if p.Wait(now, lane, sender) > 0 {
		return false
	}
	for _, c := range p.of(sender) {
		c.Spent = c.spent(now).Add(c.Every)
	}
	return true
}

// GiveBack returns the credit of messages that were not there.
func (p Purse) GiveBack(n int, sender string) {
	for _, c := range p.of(sender) {
		c.Spent = c.Spent.Add(-time.Duration(n) * c.Every)
	}
}

// of are the credits that a sender's message needs.
func (p Purse) of(sender string) []*Credit {
	if len(p) == 0 {
		return nil
	}
	var all []*Credit
	for _, name := range [...]string{"", sender} {
		if c := p[name]; c != nil {
			all = append(all, c)
		}
		if sender == "" {
			break
		}
	}
	return all
}
