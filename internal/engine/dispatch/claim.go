package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/store"
)

// claim is a message that this node owns until its deadline.
type claim struct {
	store.Claimed
	deadline time.Time // no first byte is written later
}

// claimer is what the claiming goroutine remembers from claim to claim.
type claimer struct {
	turns flow.Turns
	woken bool          // somebody has news since the last claim
	last  time.Time     // when that was
	vain  int           // claims in a row that got nothing and had not looked at every flow
	over  time.Time     // when there were too many of them
	wait  time.Duration // until somebody has credit who lacked it; 0: nobody did
}

// found says what a round of the claiming loop ended with.
type found int

const (
	foundMore   found = iota // there may be more at once
	foundAll                 // nothing else is due
	foundNoRoom              // nothing more may be claimed now
	foundError               // the store did not answer
)

const (
	// batchRest is how long claims rest at least where credit is lacking: better some messages then than one now.
	batchRest = flow.Ahead / 2
	// maxVain bounds the claims in a row that get nothing, where so many flows wait under a stop or for their time
	// that one claim does not see all of them. The next ones go on behind them after a rest.
	maxVain = 64
)

// claimLoop claims as long as there is work and room for it.
func (d *Dispatcher) claimLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !d.isStopping() && ctx.Err() == nil {
		d.goOn(time.Now())
		if f := d.claimOnce(ctx); f != foundMore {
			d.await(ctx, timer, f)
		}
	}
}

// await waits for what makes another round worth it: a decision, room if there was none, credit if that was lacking,
// and in any case a time, since messages become due by the store's clock alone.
func (d *Dispatcher) await(ctx context.Context, timer *time.Timer, f found) {
	wake, room, changed, wait := d.wake, d.room, d.cfg.Provider.Changed(), d.cfg.Poll
	switch {
	case f == foundAll && d.claimer.wait > 0:
		wait, room, changed = min(wait, max(d.claimer.wait, batchRest)), nil, nil
	case f == foundAll:
		changed = nil
	case f == foundError:
		wake, changed = nil, nil
	}
	timer.Reset(wait)
	select {
	case <-wake:
		d.claimer.woken = true
	case <-changed:
	case <-room:
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
	room := d.ask(asked)
	defer d.asked()
	if room.All == 0 || room.Lower == 0 && !d.worthLooking(asked) {
		return foundNoRoom
	}
	d.claimer.woken, d.claimer.last = false, asked
	got, err := d.cfg.Store.Claim(ctx, store.ClaimSpec{
		Node: d.cfg.Node, Connection: d.cfg.Connection.ID, Room: room, Turns: &d.claimer.turns, Lease: d.cfg.Lease,
		Rates: d.cfg.Connection.Rates.Slowed(d.pause.share(asked)),
	})
	if err != nil {
		d.logError(ctx, "no message could be claimed", err)
		return foundError
	}
	d.claimer.turns.Take(got.Turn)
	d.claimer.wait = got.Wait
	if room.Lower > 0 { // else it looked at codes alone
		d.cfg.Metrics.stopped.WithLabelValues(d.cfg.Connection.Name).Set(float64(got.Stopped))
	}
	d.handOn(got, asked.Add(d.cfg.Lease-d.cfg.Margin))
	return d.claimer.found(got, asked, d.cfg.Poll)
}

// worthLooking reports whether a code may have come, where there is room for nothing else.
func (d *Dispatcher) worthLooking(now time.Time) bool {
	return d.claimer.woken || now.Sub(d.claimer.last) >= d.cfg.Poll
}

func (c *claimer) found(got store.Claims, now time.Time, rest time.Duration) found {
	lookOn := got.Partial && now.Sub(c.over) >= rest
	if len(got.Taken) > 0 {
		c.vain = 0
		if got.More || lookOn {
			return foundMore
		}
		return foundAll
	}
	if lookOn {
		if c.vain++; c.vain < maxVain {
			return foundMore
		}
		c.vain, c.over = 0, now
	}
	if got.More {
		return foundNoRoom
	}
	return foundAll
}

func (d *Dispatcher) handOn(got store.Claims, deadline time.Time) {
	for _, m := range got.Expired { // sooner than the sweep would come to them
		d.owe(store.News{Evidence: evidence.Evidence{Kind: evidence.ValidityEnded, Message: m}, Reference: -1})
	}
	if len(got.Taken) == 0 {
		return
	}
	chaos.At(chaos.ClaimCommitted)
	d.cfg.Metrics.claimed.WithLabelValues(d.cfg.Connection.Name).Add(float64(len(got.Taken)))
	claims := make([]claim, len(got.Taken))
	for i, c := range got.Taken {
		claims[i] = claim{c, deadline}
		d.reserved.add(c, 1)
	}
	d.claims.put(claims...)
}

// roomFor is how many messages may be claimed now. Parts that are left of messages in hand have their places first.
func (d *Dispatcher) roomFor(now time.Time) flow.Room {
	return d.roomBeside(now, &d.rest.load)
}

// roomBeside is the room that is left beside what is reserved, and what others wait for.
func (d *Dispatcher) roomBeside(now time.Time, others *load) flow.Room {
	if !d.slots.valid(now) || d.pause.on(now) || d.unsettled.Load() >= maxUnsettled {
		return flow.Room{}
	}
	return flow.Window{
		Free:   d.cfg.Provider.Free(),
		Flying: int(d.flying.all.Load()), FlyingLower: int(d.flying.lower.Load()),
		Reserved:      int(d.reserved.all.Load() + others.all.Load()),
		ReservedLower: int(d.reserved.lower.Load() + others.lower.Load()),
		Pace:          d.pause.share(now),
	}.Room()
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
