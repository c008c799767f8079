package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	insertSealing = define(`insert into sealing_key (tenant, day, wrapped) select {1}, {2}, {3} where true on conflict (tenant, day) do nothing`)
	findSealing   = define(`select id, wrapped from sealing_key where tenant = {1} and day = {2}`)
	readSealing   = define(`select wrapped from sealing_key where id = {1}`)
	readOwnKey    = define(`select wrapped from own_key where message_id = {1}`)
	// A key whose message still waits, or is being sent, is kept: its text is needed to send it, and its validity is as short.
	destroyOwn = define(`delete from own_key where message_id in (select k.message_id from own_key k where k.ends <= {1}
		and exists (select 1 from message_state s where s.message_id = k.message_id and s.queue <> {4}
			and (s.queue < {2} or s.valid_until <= {1}))
		order by k.message_id limit {3} {skip})`)
)

// EnsureSealingKey implements store.Registry.
func (s *Store) EnsureSealingKey(ctx context.Context, tenant ident.Partition, day int32, wrapped []byte) (id int64, stored []byte, err error) {
	err = s.once(ctx, func(t *tx) error {
		if _, err := t.exec(t.ctx, insertSealing, nil, tenant, day, wrapped); err != nil {
			return err
		}
		return t.row(t.ctx, findSealing, nil, scan1(&id, &stored), tenant, day)
	})
	return id, stored, err
}

// SealingKey implements store.Registry.
func (s *Store) SealingKey(ctx context.Context, id int64) ([]byte, error) {
	return s.secret(ctx, readSealing, id)
}

// OwnKey implements store.Registry.
func (s *Store) OwnKey(ctx context.Context, m ident.Message) ([]byte, error) {
	return s.secret(ctx, readOwnKey, m)
}

func (s *Store) secret(ctx context.Context, q *template, id any) ([]byte, error) {
	var wrapped []byte
	err := s.read().row(ctx, q, nil, scan1(&wrapped), id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "the key was destroyed: what it sealed cannot be read any more")
	}
	return wrapped, unavailable(err)
}

// DestroyOwnKeys implements store.Registry.
func (s *Store) DestroyOwnKeys(ctx context.Context, limit int) (int, error) {
	var n int64
	err := s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		n, err = t.exec(t.ctx, destroyOwn, nil, now, evidence.FirstFlow, limit, evidence.QueueLease)
		return err
	})
	return int(n), err
}

var (
	insertSlots = define(`insert into bind_slot (connection, n, node, fence, lease_until)
		select {1}, n, {2}, 0, 0 from {rows n int} where true order by n on conflict (connection, n) do nothing`)
	findSlot = define(`select n, fence from bind_slot where connection = {1} and n < {2} and (lease_until <= {3} or lease_until > {5} or node = {4}) order by n limit 1 {skip}`)
	takeSlot = define(`update bind_slot set node = {1}, fence = {2}, lease_until = {3} where connection = {4} and n = {5}`)
	moveSlot = define(`update bind_slot set lease_until = {1} where connection = {2} and n = {3} and fence = {4} and node = {5} and lease_until > {6}`)
)

// longestLease is longer than any lease is asked for. One that ends later was written by a clock that has stepped
// back since, and is over.
const longestLease = time.Minute

// TakeSlot implements store.Slots.
func (s *Store) TakeSlot(ctx context.Context, connection int64, n int, node ident.Node, lease time.Duration) (store.Slot, bool, error) {
	slot, ok := store.Slot{Connection: connection}, false
	err := s.once(ctx, func(t *tx) error {
		ctx := t.ctx
		ok = false // an earlier try may have been undone
		all := &rows{}
		for i := range n {
			all.add(i)
		}
		if _, err := t.exec(ctx, insertSlots, all, connection, []byte{}); err != nil {
			return err
		}
		now, err := t.now(ctx)
		if err != nil {
			return err
		}
		err = t.row(ctx, findSlot, nil, scan1(&slot.N, &slot.Fence), connection, n, now, node, now.Add(longestLease))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ok = true
		slot.Fence++
		_, err = t.exec(ctx, takeSlot, nil, node, slot.Fence, now.Add(lease), connection, slot.N)
		return err
	})
	return slot, ok && err == nil, err
}

// RenewSlot implements store.Slots.
func (s *Store) RenewSlot(ctx context.Context, slot store.Slot, node ident.Node, lease time.Duration) (bool, error) {
	return s.moveSlot(ctx, slot, node, func(now clock.Micros) clock.Micros { return now.Add(lease) })
}

// GiveSlot implements store.Slots.
func (s *Store) GiveSlot(ctx context.Context, slot store.Slot, node ident.Node) error {
	_, err := s.moveSlot(ctx, slot, node, func(clock.Micros) clock.Micros { return 0 })
	return err
}

func (s *Store) moveSlot(ctx context.Context, slot store.Slot, node ident.Node, until func(now clock.Micros) clock.Micros) (bool, error) {
	var n int64
	err := s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		n, err = t.exec(t.ctx, moveSlot, nil, until(now), slot.Connection, slot.N, slot.Fence, node, now)
		return err
	})
	return n == 1, err
}
