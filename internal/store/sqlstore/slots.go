package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	// A node locks its own rows and such as are free, and reads the others' as they are committed: one that stops in the
	// middle of this keeps nobody from renewing what is theirs. Two that see each other late share wrongly for a moment,
	// never one slot.
	wantBinds = define(`insert into bind_node (connection, node, since, lease_until) select {1}, {2}, {3}, {4} where true
		on conflict (connection, node) do update set lease_until = excluded.lease_until,
		since = case when bind_node.lease_until > excluded.since then bind_node.since else excluded.since end`)
	listBindNodes   = define(`select node, lease_until from bind_node where connection = {1} order by since, node`)
	forgetBindNodes = define(`delete from bind_node where connection = {1} and node in (select node from {rows node bytes}) and lease_until <= {2}`)
	leaveBinds      = define(`delete from bind_node where connection = {1} and node = {2}`)

	insertSlots = define(`insert into bind_slot (connection, n, node, fence, lease_until)
		select {1}, n, {2}, 0, 0 from {rows n int} where true order by n on conflict (connection, n) do nothing`)
	countSlots = define(`select count(*) from bind_slot where connection = {1} and n < {2}`)
	renewSlots = define(`update bind_slot set lease_until = {1} where connection = {2} and node = {3} and n < {4} and lease_until > {5} and lease_until <= {6} returning n, fence`)
	// A slot whose lease ends later than any lease is asked for was written by a clock that has stepped back since, and is over.
	freeSlots = define(`select n, fence from bind_slot where connection = {1} and n < {2} and (lease_until <= {3} or lease_until > {4}) order by n limit {5} {skip}`)
	takeSlots = define(`update bind_slot set node = {1}, fence = fence + 1, lease_until = {2}
		where connection = {3} and n in (select n from {rows n int}) and (lease_until <= {4} or lease_until > {5}) returning n, fence`)
	giveSlot  = define(`update bind_slot set lease_until = 0 where connection = {1} and n = {2} and fence = {3} and node = {4}`)
	giveSlots = define(`update bind_slot set lease_until = 0 where connection = {1} and node = {2} and lease_until > 0`)
)

const (
	// longestLease is longer than any lease is asked for.
	longestLease = time.Minute
	// bindNodesKept is how long the row of a node that is gone is kept: long enough for nobody to miss it.
	bindNodesKept = time.Minute
)

// KeepSlots implements store.Slots.
func (s *Store) KeepSlots(ctx context.Context, spec store.SlotSpec) (got store.SlotShare, err error) {
	err = s.once(ctx, func(t *tx) error {
		got = store.SlotShare{} // an earlier try may have been undone
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		rank, err := t.standInLine(spec, now, &got)
		if err != nil {
			return err
		}
		got.Share = spec.Share(spec.Binds, got.Nodes, rank)
		if err := t.renewSlots(spec, now, &got); err != nil {
			return err
		}
		if err := t.takeFree(spec, now, &got); err != nil {
			return err
		}
		chaos.At(chaos.SlotsWritten)
		return nil
	})
	return got, err
}

// standInLine says that the node wants binds, counts those that do, and returns its place among them. Rows of nodes that
// are long gone are dropped.
func (t *tx) standInLine(spec store.SlotSpec, now clock.Micros, got *store.SlotShare) (rank int, err error) {
	if _, err := t.exec(t.ctx, wantBinds, nil, spec.Connection, spec.Node, now, now.Add(spec.Lease)); err != nil {
		return 0, err
	}
	gone := &rows{}
	err = t.query(t.ctx, listBindNodes, nil, func(res *sql.Rows) error {
		var (
			node  []byte
			until clock.Micros
		)
		if err := res.Scan(&node, &until); err != nil {
			return err
		}
		switch {
		case bytes.Equal(node, spec.Node[:]):
			rank = got.Nodes
			got.Nodes++
		case until > now && until <= now.Add(longestLease):
			got.Nodes++
		case until <= now.Add(-bindNodesKept):
			gone.add(node)
		}
		return nil
	}, spec.Connection)
	if err != nil {
		return 0, err
	}
	_, err = t.exec(t.ctx, forgetBindNodes, gone, spec.Connection, now.Add(-bindNodesKept))
	return rank, err
}

func (t *tx) renewSlots(spec store.SlotSpec, now clock.Micros, got *store.SlotShare) error {
	return t.query(t.ctx, renewSlots, nil, holding(got, spec.Connection),
		now.Add(spec.Lease), spec.Connection, spec.Node, spec.Binds, now, now.Add(longestLease))
}

// takeFree takes what the share leaves room for. Nothing waits: what another node has locked it is about to take.
func (t *tx) takeFree(spec store.SlotSpec, now clock.Micros, got *store.SlotShare) error {
	room := got.Share - len(got.Held)
	if room <= 0 {
		return nil
	}
	if err := t.ensureSlots(spec); err != nil {
		return err
	}
	free := &rows{}
	err := t.query(t.ctx, freeSlots, nil, func(res *sql.Rows) error {
		var n, fence int64
		err := res.Scan(&n, &fence)
		free.add(n)
		return err
	}, spec.Connection, spec.Binds, now, now.Add(longestLease), room)
	if err != nil {
		return err
	}
	err = t.query(t.ctx, takeSlots, free, holding(got, spec.Connection),
		spec.Node, now.Add(spec.Lease), spec.Connection, now, now.Add(longestLease))
	slices.SortFunc(got.Held, func(a, b store.Slot) int { return cmp.Compare(a.N, b.N) })
	return err
}

// ensureSlots makes the rows of a connection that has got more binds.
func (t *tx) ensureSlots(spec store.SlotSpec) error {
	var have int
	err := t.row(t.ctx, countSlots, nil, scan1(&have), spec.Connection, spec.Binds)
	if err != nil || have >= spec.Binds {
		return err
	}
	all := &rows{}
	for i := range spec.Binds {
		all.add(i)
	}
	_, err = t.exec(t.ctx, insertSlots, all, spec.Connection, []byte{})
	return err
}

// holding adds the slots of a result to what is held.
func holding(got *store.SlotShare, connection int64) func(*sql.Rows) error {
	return func(res *sql.Rows) error {
		s := store.Slot{Connection: connection}
		err := res.Scan(&s.N, &s.Fence)
		got.Held = append(got.Held, s)
		return err
	}
}

// GiveSlot implements store.Slots.
func (s *Store) GiveSlot(ctx context.Context, slot store.Slot, node ident.Node) error {
	return s.once(ctx, func(t *tx) error {
		_, err := t.exec(t.ctx, giveSlot, nil, slot.Connection, slot.N, slot.Fence, node)
		return err
	})
}

// LeaveSlots implements store.Slots.
func (s *Store) LeaveSlots(ctx context.Context, connection int64, node ident.Node) error {
	return s.once(ctx, func(t *tx) error {
		if _, err := t.exec(t.ctx, leaveBinds, nil, connection, node); err != nil {
			return err
		}
		_, err := t.exec(t.ctx, giveSlots, nil, connection, node)
		return err
	})
}
