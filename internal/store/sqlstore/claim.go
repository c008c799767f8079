package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	// The distinct flows of the queue, one look at the index for each, and of those the ones with work that is due.
	dueFlows = define(`with recursive waiting (queue) as (
		select * from (select queue from message_state where queue > 0 and queue >= {1} order by queue limit 1) first
		union all
		select (select m.queue from message_state m where m.queue > 0 and m.queue > waiting.queue order by m.queue limit 1)
			from waiting where waiting.queue is not null)
		select queue from waiting where queue is not null
			and exists (select 1 from message_state s where s.queue > 0 and s.queue = waiting.queue and s.ready_at <= {2})`)
	selectClaims = define(`select message_id, fence from message_state
		where queue > 0 and queue = {1} and ready_at <= {2} and valid_until > {2} order by queue, ready_at, message_id limit {3} {skip}`)
	writeClaims = define(`update message_state set state = {1}, since = {2}, fence = r.fence, node = {3}, queue = {4}, ready_at = {5}
		from {rows id bytes, fence int} where message_state.message_id = r.id and (message_state.state = {6}) is true`)
)

// Claim implements store.Dispatcher. A claim is a lease on the message and writes no event: until an attempt is
// opened nothing has happened to it.
func (s *Store) Claim(ctx context.Context, spec store.ClaimSpec) ([]store.Claimed, error) {
	var claimed []store.Claimed
	err := s.once(ctx, func(t *tx) (err error) {
		claimed, err = t.claim(t.ctx, spec)
		return err
	})
	return claimed, err
}

func (t *tx) claim(ctx context.Context, spec store.ClaimSpec) ([]store.Claimed, error) {
	now, err := t.now(ctx) // nothing is waited for below, so this is the time of the locks too
	if err != nil {
		return nil, err
	}
	due, err := t.dueFlows(ctx, now)
	if err != nil {
		return nil, err
	}
	var claimed []store.Claimed
	for _, flow := range spec.Flows {
		if !due[flow] {
			continue
		}
		left := min(spec.Limit-len(claimed), spec.PerFlow)
		if left <= 0 {
			break
		}
		err := t.query(ctx, selectClaims, nil, func(res *sql.Rows) error {
			var (
				id []byte
				c  = store.Claimed{Flow: flow}
			)
			if err := res.Scan(&id, &c.Fence); err != nil {
				return err
			}
			c.Message = ident.Message(keyFrom(id))
			c.Fence++
			claimed = append(claimed, c)
			return nil
		}, flow, now, left)
		if err != nil {
			return nil, err
		}
	}
	r := &rows{}
	for _, c := range claimed {
		r.add(c.Message, c.Fence)
	}
	_, err = t.exec(ctx, writeClaims, r, message.Sending, now, spec.Node, evidence.QueueLease, now.Add(spec.Lease), message.Pending)
	return claimed, err
}

// dueFlows are the flows, of all connections, in which something is due. There may be many flows in which nothing
// ever is again: a sender makes one for ever.
func (t *tx) dueFlows(ctx context.Context, now clock.Micros) (map[int64]bool, error) {
	due := map[int64]bool{}
	err := t.query(ctx, dueFlows, nil, func(res *sql.Rows) error {
		var flow int64
		err := res.Scan(&flow)
		due[flow] = true
		return err
	}, evidence.FirstFlow, now)
	return due, err
}

var selectDue = define(`select message_id from message_state where queue > 0 and queue = {1} and ready_at <= {2} order by queue, ready_at, message_id limit {3}`)

// Due implements store.Dispatcher.
func (s *Store) Due(ctx context.Context, q evidence.Queue, limit int) ([]ident.Message, error) {
	t := s.read()
	now, err := t.now(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	var due []ident.Message
	err = t.query(ctx, selectDue, nil, func(res *sql.Rows) error {
		var id []byte
		if err := res.Scan(&id); err != nil {
			return err
		}
		due = append(due, ident.Message(keyFrom(id)))
		return nil
	}, q, now, limit)
	return due, unavailable(err)
}

var scanPending = define(`select message_id, queue, ready_at, valid_until from message_state
	where queue > 0 and queue >= {1} and (queue, ready_at, message_id) > ({2}, {3}, {4}) order by queue, ready_at, message_id limit {5}`)

// DueValidity implements store.Dispatcher.
func (s *Store) DueValidity(ctx context.Context, from store.Cursor, scan int) ([]ident.Message, store.Cursor, error) {
	t := s.read()
	now, err := t.now(ctx)
	if err != nil {
		return nil, from, unavailable(err)
	}
	var (
		due  []ident.Message
		last store.Cursor
		seen int
	)
	err = t.query(ctx, scanPending, nil, func(res *sql.Rows) error {
		var (
			id    []byte
			valid clock.Micros
		)
		if err := res.Scan(&id, &last.Queue, &last.ReadyAt, &valid); err != nil {
			return err
		}
		seen++
		last.Message = ident.Message(keyFrom(id))
		if valid <= now {
			due = append(due, last.Message)
		}
		return nil
	}, evidence.FirstFlow, from.Queue, from.ReadyAt, from.Message, scan)
	if seen < scan {
		last = store.Cursor{}
	}
	return due, last, unavailable(err)
}
