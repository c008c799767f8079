package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Carrier is a connection's provider on this node, with binds that each are used no longer than it is told.
type Carrier interface {
	provider.Provider
	// Hold lets a bind be used until an instant of this node's monotonic clock, and opens it if it is not there.
	Hold(bind int, until time.Time) error
	// Leave ends a bind in order, within ctx.
	Leave(ctx context.Context, bind int) error
	// Unreachable reports whether none of the binds that there are finds anybody who answers.
	Unreachable() bool
}

// slots are the binds that this node may use, each by a lease in the store.
type slots struct {
	mu      sync.Mutex
	until   time.Time         // no write begins later over any of them; zero: there is none
	leaving map[int]time.Time // binds that end, and since when they have ended; zero: not yet

	left sync.WaitGroup // one for each that ends

	// holder is who holds them. A connection that gets other settings has two dispatchers on a node for a moment: each
	// holds its own, and gives back no more than that.
	holder ident.Node

	// The rest belongs to the goroutine that keeps them.
	held    map[int]store.Slot
	missed  time.Time // since when none was to be had of a share; zero: one was
	told    bool      // of its having lasted long
	standby bool      // told that others have all binds
	alone   time.Time // since when nobody answers; zero: somebody does
	back    time.Time // until when the node stands back
}

// validUntil is the zero time while there is no slot.
func (s *slots) validUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.until
}

func (s *slots) valid(now time.Time) bool { return now.Before(s.validUntil()) }

func (s *slots) set(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

// forever is the hold of a bind that is nobody else's.
const forever = 100 * 365 * 24 * time.Hour

// keepSlots keeps the node's share of the binds, four times in a lease. The lease counts from before the store was asked.
// While the store cannot be asked the slots end by themselves, and with them the submissions.
func (d *Dispatcher) keepSlots(ctx context.Context) {
	if d.cfg.Connection.Own {
		d.holdOwn()
		return
	}
	tick := time.NewTicker(d.cfg.Lease / 4)
	defer tick.Stop()
	for {
		d.shareSlots(ctx, time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// holdOwn holds all binds of a connection whose far side knows this node alone.
func (d *Dispatcher) holdOwn() {
	until := time.Now().Add(forever)
	for n := range d.cfg.Connection.Binds {
		d.hold(n, until)
	}
	d.slots.set(until)
	signal(d.room)
}

func (d *Dispatcher) hold(n int, until time.Time) {
	if err := d.cfg.Provider.Hold(n, until); err != nil {
		d.log().Error("a bind cannot be opened; it is tried again", "bind", n, "error", err)
	}
}

// shareSlots renews what is held, takes what is free of the node's share, and lets go of what it has too much.
func (d *Dispatcher) shareSlots(ctx context.Context, asked time.Time) {
	c := d.cfg.Connection
	if asked.Before(d.slots.back) {
		return
	}
	got, err := d.cfg.Store.KeepSlots(ctx, store.SlotSpec{
		Connection: c.ID, Binds: c.Binds, Node: d.slots.holder, Lease: d.cfg.Lease, Share: flow.BindShare,
	})
	if err != nil {
		d.logError(ctx, "the bind slots could not be renewed", err)
		d.leaveOverdue(ctx, asked)
		return
	}
	d.noteShare(got, asked)
	d.holdSlots(ctx, got.Held, asked)
	d.giveSurplus(ctx, got, asked)
	d.standBack(ctx, got, asked)
	d.showBinds(len(d.slots.held))
}

func (d *Dispatcher) showBinds(n int) {
	d.cfg.Metrics.binds.WithLabelValues(d.cfg.Connection.Name).Set(float64(n))
}

// holdSlots lets claims run again if they had to stop. What the store does not know as ours any more is another's, whose
// bind waits for the end of ours.
func (d *Dispatcher) holdSlots(ctx context.Context, held []store.Slot, asked time.Time) {
	s, before, until := &d.slots, d.slots.valid(time.Now()), asked.Add(d.cfg.Lease-d.cfg.Margin)
	now := make(map[int]store.Slot, len(held))
	usable := false
	for _, slot := range held {
		now[slot.N] = slot
		if !s.isLeaving(slot.N, asked) {
			d.hold(slot.N, until)
			usable = true
		}
	}
	if !usable {
		until = time.Time{}
	}
	s.set(until)
	for n := range s.held {
		if _, still := now[n]; !still && !s.isLeaving(n, asked) {
			d.log().Warn("a bind slot was lost to another node; nothing is submitted over it any more", "bind", n)
			d.leave(ctx, n, d.cfg.Lease, nil)
		}
	}
	s.held = now
	if usable && !before {
		signal(d.room)
	}
}

// leaveOverdue ends the binds when the store was away for so long that others may have the slots: a lease after the
// slots have ended. Until then they stay bound, since a store that is back soon would only have them bound again.
func (d *Dispatcher) leaveOverdue(ctx context.Context, now time.Time) {
	s := &d.slots
	if len(s.held) == 0 || now.Before(s.validUntil().Add(d.cfg.Margin+d.cfg.Lease)) {
		return
	}
	d.log().Warn("the bind slots have ended while the store was away: the binds end, and come back with the store", "binds", len(s.held))
	for n := range s.held {
		d.leave(ctx, n, d.cfg.Lease, nil)
	}
	s.held = nil
	d.showBinds(0)
}

// giveSurplus ends the binds that are more than the node's share, the latest first, and gives their slots back once what
// is under way over them is answered: a new node waits for them. The response time bounds that.
func (d *Dispatcher) giveSurplus(ctx context.Context, got store.SlotShare, asked time.Time) {
	more := len(got.Held) - got.Share
	for i := len(got.Held) - 1; i >= 0 && more > 0; i-- {
		slot := got.Held[i]
		if more--; d.slots.isLeaving(slot.N, asked) {
			continue
		}
		d.log().Info("a bind ends: another node gets its slot", "bind", slot.N, "share", got.Share, "nodes", got.Nodes)
		d.leave(ctx, slot.N, d.cfg.ResponseTimeout, func() error { return d.cfg.Store.GiveSlot(ctx, slot, d.slots.holder) })
	}
}

// leave ends a bind beside everything else. then runs when it has ended.
func (d *Dispatcher) leave(ctx context.Context, n int, within time.Duration, then func() error) {
	s := &d.slots
	s.noteLeaving(n, time.Time{})
	s.left.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if err := d.cfg.Provider.Leave(ctx, n); err != nil {
			d.logError(ctx, "a bind did not end in order: what was under way over it is unknown", err, "bind", n)
		}
		if then != nil {
			if err := then(); err != nil { // it is surplus still when the store is asked again
				d.logError(ctx, "a bind slot could not be given back", err, "bind", n)
			}
		}
		s.noteLeaving(n, time.Now())
	})
}

// isLeaving reports whether a bind was about to end when the store was asked, or later: an answer that names its slot may
// be older than its giving back.
func (s *slots) isLeaving(n int, asked time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended, leaves := s.leaving[n]
	if leaves && !ended.IsZero() && ended.Before(asked) {
		delete(s.leaving, n)
		return false
	}
	return leaves
}

func (s *slots) noteLeaving(n int, ended time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving == nil {
		s.leaving = map[int]time.Time{}
	}
	s.leaving[n] = ended
}

// leaveSlots gives everything back, so that others take it at once. The binds have ended.
func (d *Dispatcher) leaveSlots(ctx context.Context) error {
	d.slots.set(time.Time{})
	d.slots.left.Wait()
	if d.cfg.Connection.Own {
		return nil
	}
	d.showBinds(0)
	return d.cfg.Store.LeaveSlots(ctx, d.cfg.Connection.ID, d.slots.holder)
}
