package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/store"
)

// claim is a message that this node owns until its deadline.
type claim struct {
	store.Claimed
	deadline time.Time // no first byte is written later
}

// found says what a round of the claiming loop ended with.
type found int

const (
	foundMore   found = iota // there may be more at once
	foundAll                 // nothing else is due
	foundNoRoom              // nothing more may be claimed now
	foundError               // the store did not answer
)

// claimLoop claims as long as there is work and room for it.
func (d *Dispatcher) claimLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !d.isStopping() && ctx.Err() == nil {
		if f := d.claimOnce(ctx); f != foundMore {
			d.rest(ctx, timer, f)
		}
	}
}

// rest waits for what makes another round worth it: a decision if there was no work, room if there was none,
// and in any case a time, since messages become due by the store's clock alone.
func (d *Dispatcher) rest(ctx context.Context, timer *time.Timer, f found) {
	wake, changed := d.wake, d.cfg.Provider.Changed()
	wait := d.cfg.Poll
	switch {
	case f == foundAll && d.flows.asked:
		wait = min(wait, flowsRest)
		changed = nil
	case f == foundAll:
		changed = nil
	case f == foundError:
		wake, changed = nil, nil
	}
	timer.Reset(wait)
	select {
	case <-wake:
		d.flows.asked = true
	case <-changed:
	case <-d.room:
	case <-timer.C:
	case <-d.stopping:
	case <-ctx.Done():
	}
}

// claimOnce runs one claim and hands on what it got.
func (d *Dispatcher) claimOnce(ctx context.Context) found {
	// The instant is taken before the store is asked: the lease that it gives ends later than we believe, never
	// earlier.
	asked := time.Now()
	limit := d.roomFor(asked)
	if limit <= 0 {
		return foundNoRoom
	}
	if err := d.refreshFlows(ctx, asked); err != nil {
		d.logError(ctx, "the list of flows could not be read", err)
		return foundError
	}
	if len(d.flows.list) == 0 {
		return foundAll
	}
	perFlow := d.perFlow(limit)
	got, err := d.cfg.Store.Claim(ctx, store.ClaimSpec{
		Node: d.cfg.Node, Connection: d.cfg.Connection.ID, Flows: d.flows.order(),
		Limit: limit, PerFlow: perFlow, Lease: d.cfg.Lease,
	})
	if err != nil {
		d.logError(ctx, "no message could be claimed", err)
		return foundError
	}
	return d.handOn(got, asked.Add(d.cfg.Lease-d.cfg.Margin), limit, perFlow)
}

func (d *Dispatcher) handOn(got []store.Claimed, deadline time.Time, limit, perFlow int) found {
	capped := d.flows.took(got, perFlow)
	if len(got) == 0 {
		return foundAll
	}
	chaos.At(chaos.ClaimCommitted)
	d.cfg.Metrics.claimed.WithLabelValues(d.cfg.Connection.Name).Add(float64(len(got)))
	claims := make([]claim, len(got))
	for i, c := range got {
		claims[i] = claim{c, deadline}
	}
	d.reserved.Add(int64(len(claims)))
	d.claims.put(claims...)
	if len(got) < limit && !capped {
		return foundAll
	}
	return foundMore
}

// roomFor is how many messages may be claimed now.
func (d *Dispatcher) roomFor(now time.Time) int {
	if !d.slot.held(now) || d.pause.on(now) || d.unsettled.Load() >= maxUnsettled {
		return 0
	}
	return min(d.cfg.Provider.Free()-int(d.reserved.Load()), maxBatch)
}

// perFlow leaves the neighbours of a flow that has thousands waiting half of every claim.
func (d *Dispatcher) perFlow(limit int) int {
	if len(d.flows.list) == 1 {
		return limit
	}
	return (limit + 1) / 2
}

// lateEvery is how often late claims are told of at most: a store that is slow makes thousands of them.
const lateEvery = time.Minute

// lateness counts claims that came too late for an attempt, from one telling to the next.
type lateness struct {
	mu    sync.Mutex
	told  time.Time
	count int
}

func (l *lateness) add(n int, now time.Time) (count int, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count += n
	if l.count == 0 || !l.told.IsZero() && now.Sub(l.told) < lateEvery {
		return 0, false
	}
	count, l.count, l.told = l.count, 0, now
	return count, true
}

// noteLate tells of claims whose deadline was over before an attempt could be opened. Nothing is lost, but the
// messages are claimed and given back in a circle, and none of them leaves.
func (d *Dispatcher) noteLate(n int, now time.Time) {
	d.cfg.Metrics.late.WithLabelValues(d.cfg.Connection.Name).Add(float64(n))
	if count, tell := d.late.add(n, now); tell {
		d.log().Warn("claimed messages came too late for an attempt and are given back; the store is slower than the lease allows",
			"count", count, "lease", d.cfg.Lease, "margin", d.cfg.Margin)
	}
}
