package dispatch

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/store"
)

const (
	// aloneFor is how long nobody answers before another node is let try: longer than a carrier takes that starts anew.
	aloneFor = 20 * time.Second
	// standsBack is how long the others then have the binds to themselves.
	standsBack = time.Minute
)

// standBack gives all slots back where nobody has answered for a while and other nodes want some: the way from here may be
// broken, and theirs not. A refusal is an answer: another node would get the same, and too many lock the account.
func (d *Dispatcher) standBack(ctx context.Context, got store.SlotShare, now time.Time) {
	s := &d.slots
	switch {
	case len(got.Held) == 0 || !d.cfg.Provider.Unreachable():
		s.alone = time.Time{}
		return
	case s.alone.IsZero():
		s.alone = now
	}
	if got.Nodes < 2 || now.Sub(s.alone) < aloneFor {
		return
	}
	d.log().Warn("nobody answers at the carrier's address, as far as this node can reach it: other nodes get its binds for a while",
		"for", now.Sub(s.alone), "stands_back", standsBack)
	s.back, s.alone = now.Add(standsBack), time.Time{}
	for n := range s.held {
		d.leave(ctx, n, d.cfg.Lease, nil)
	}
	s.held = nil
	if err := d.leaveSlots(ctx); err != nil {
		d.logError(ctx, "the bind slots could not be given back; others take them when their leases are over", err)
	}
}

// noteShare tells once of standing by, which is nobody's fault, and once of a share that is not to be had: after two
// leases a node that is gone would have left its slot to this one, and one that lives waits no longer than for its
// answers. A store that does not answer neither begins an outage nor ends one.
func (d *Dispatcher) noteShare(got store.SlotShare, now time.Time) {
	s := &d.slots
	if standby := got.Share == 0 && len(got.Held) == 0; standby != s.standby {
		s.standby = standby
		if standby {
			d.log().Info("there are more nodes than binds: this node submits nothing over this connection until another is gone",
				"binds", d.cfg.Connection.Binds, "nodes", got.Nodes)
		}
	}
	free := got.Share == 0 || len(got.Held) > 0
	if s.missed.IsZero() {
		s.missed = now
	}
	lasted := now.Sub(s.missed)
	switch {
	case free && s.told:
		d.log().Warn("a bind slot is free again and was taken", "after", lasted)
	case !free && !s.told && lasted > 2*d.cfg.Lease+d.cfg.ResponseTimeout:
		d.log().Warn("no bind slot is free, though one is this node's share: others do not give it back, and this one submits nothing over this connection",
			"for", lasted, "binds", d.cfg.Connection.Binds, "nodes", got.Nodes)
		s.told = true
	}
	if free {
		s.missed, s.told = time.Time{}, false
	}
}
