package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/store"
)

// slot is the node's right to use the connection's bind, until an instant on its own monotonic clock.
type slot struct {
	mu    sync.Mutex
	have  store.Slot
	taken bool
	until time.Time // no write begins later

	// The two below belong to the goroutine that keeps the slot.
	missed time.Time // when none was free for the first time; zero: the last one asked for was
	told   bool      // of its having lasted long
}

// validUntil is the zero time while there is no slot.
func (s *slot) validUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.until
}

func (s *slot) held(now time.Time) bool { return now.Before(s.validUntil()) }

func (s *slot) current() (store.Slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have, s.taken
}

func (s *slot) set(have store.Slot, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have, s.taken, s.until = have, true, until
}

func (s *slot) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken, s.until = false, time.Time{}
}

// keepSlot takes a slot and renews it, four times in a lease. The lease counts from before the store was asked.
// While the store cannot be asked the slot ends by itself, and with it the submissions.
func (d *Dispatcher) keepSlot(ctx context.Context) {
	tick := time.NewTicker(d.cfg.Lease / 4)
	defer tick.Stop()
	for {
		d.renewOrTake(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *Dispatcher) renewOrTake(ctx context.Context) {
	asked := time.Now()
	have, taken := d.slot.current()
	if !taken {
		d.takeSlot(ctx, asked)
		return
	}
	ok, err := d.cfg.Store.RenewSlot(ctx, have, d.cfg.Node, d.cfg.Lease)
	switch {
	case err != nil:
		d.logError(ctx, "the bind slot could not be renewed", err)
	case !ok:
		d.slot.lose()
		d.log().Warn("the bind slot was lost to another node; nothing is submitted until one is free")
	default:
		d.setSlot(have, asked)
	}
}

func (d *Dispatcher) takeSlot(ctx context.Context, asked time.Time) {
	c := d.cfg.Connection
	have, ok, err := d.cfg.Store.TakeSlot(ctx, c.ID, c.Slots, d.cfg.Node, d.cfg.Lease)
	if err != nil {
		d.logError(ctx, "no bind slot could be taken", err)
		return
	}
	d.noteSlot(ok, asked)
	if ok {
		d.setSlot(have, asked)
	}
}

// noteSlot tells once of an outage: after two leases a node that is gone would have left its slot to this one.
// A store that does not answer neither begins an outage nor ends one.
func (d *Dispatcher) noteSlot(free bool, now time.Time) {
	s := &d.slot
	if s.missed.IsZero() {
		s.missed = now
	}
	lasted := now.Sub(s.missed)
	switch {
	case free && s.told:
		d.log().Warn("a bind slot is free again and was taken", "after", lasted)
	case !free && !s.told && lasted > 2*d.cfg.Lease:
		d.log().Warn("no bind slot is free: other nodes have all of them, and this one submits nothing over this connection",
			"for", lasted, "slots", d.cfg.Connection.Slots)
		s.told = true
	}
	if free {
		s.missed, s.told = time.Time{}, false
	}
}

// setSlot lets claims run again if they had to stop. No write begins later than the margin before the lease's end.
func (d *Dispatcher) setSlot(have store.Slot, asked time.Time) {
	before := d.slot.held(time.Now())
	d.slot.set(have, asked.Add(d.cfg.Lease-d.cfg.Margin))
	if !before {
		signal(d.room)
	}
}

func (d *Dispatcher) giveSlot(ctx context.Context) error {
	have, taken := d.slot.current()
	if !taken {
		return nil
	}
	d.slot.lose()
	return d.cfg.Store.GiveSlot(ctx, have, d.cfg.Node)
}
