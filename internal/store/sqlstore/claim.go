package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	selectClaims = define(`select message_id, fence, ready_at, valid_until from message_state
		where queue > 0 and queue = {1} and ready_at <= {2} and (ready_at, message_id) > ({3}, {4}) order by queue, ready_at, message_id limit {5} {skip}`)
	writeClaims = define(`update message_state set state = {1}, since = {2}, fence = r.fence, node = {3}, queue = {4}, ready_at = {5}
		from {rows id bytes, fence int} where message_state.message_id = r.id and (message_state.state = {6}) is true`)
)

// expiredLooks bounds how often a claim looks behind messages of a flow whose validity is over: after an outage or
// a stop there may be a million of them, and it is the sweep that ends them.
const expiredLooks = 4

// Claim implements store.Dispatcher. A claim is a lease on the message and writes no event: until an attempt is
// opened nothing has happened to it.
func (s *Store) Claim(ctx context.Context, spec store.ClaimSpec) (store.Claims, error) {
	if err := s.unmarked(); err != nil {
		return store.Claims{}, err
	}
	if spec.Turns == nil {
		spec.Turns = &flow.Turns{}
	}
	var got store.Claims
	err := s.once(ctx, func(t *tx) (err error) {
		if got = (store.Claims{}); t.held {
			return nil
		}
		got, err = t.claim(t.ctx, spec)
		return err
	})
	return got, err
}

func (t *tx) claim(ctx context.Context, spec store.ClaimSpec) (got store.Claims, err error) {
	now, err := t.now(ctx) // nothing is waited for before messages are locked, and their locks are not waited for
	if err != nil {
		return got, err
	}
	seen, partial, err := t.waiting(ctx, spec, now)
	if err != nil {
		return got, err
	}
	got.Partial = partial
	// After the flows were looked at, since a stop is obeyed by whoever reads it: the later, the better.
	if got.Stopped, err = t.heed(ctx, spec.Connection, seen); err != nil {
		return got, err
	}
	found := make([]flow.Waiting, len(seen))
	for i, s := range seen {
		found[i] = s.Waiting
	}
	purse, _, err := t.purse(ctx, readCredit, spec, limited(spec.Rates, found))
	if err != nil {
		return got, err
	}
	deal := flow.NewDeal(spec.Turns, found, spec.Room, purse, now)
	h := &harvest{of: map[int64]*reaped{}}
	for shares := deal.Next(); len(shares) > 0; shares = deal.Next() {
		for _, share := range shares {
			n, err := t.reap(ctx, h, share, now)
			if err != nil {
				return got, err
			}
			deal.Got(share.Flow, n)
		}
	}
	got.Taken, got.Expired = h.inOrder(deal.Order()), h.expired
	got.Turn, got.More, got.Wait = deal.Turn(), deal.More(), deal.Wait()
	if got.Taken, err = t.spend(ctx, spec, found, got.Taken); err != nil {
		return got, err
	}
	return got, t.writeClaims(ctx, spec, got.Taken, now)
}

// harvest is what a claim has taken so far.
type harvest struct {
	of      map[int64]*reaped
	expired []ident.Message
}

// reaped is what was taken of one flow, and up to where it was looked at.
type reaped struct {
	claims  []store.Claimed
	readyAt clock.Micros
	message []byte
}

// reap takes a flow's next messages and returns how many there were.
func (t *tx) reap(ctx context.Context, h *harvest, share flow.Share, now clock.Micros) (int, error) {
	r := h.of[share.Flow]
	if r == nil {
		r = &reaped{message: []byte{}}
		h.of[share.Flow] = r
	}
	before := len(r.claims)
	for range expiredLooks {
		want, seen := share.N-(len(r.claims)-before), 0
		err := t.query(ctx, selectClaims, nil, func(res *sql.Rows) error {
			c, valid := store.Claimed{Flow: share.Flow}, clock.Micros(0)
			if err := res.Scan(&r.message, &c.Fence, &r.readyAt, &valid); err != nil {
				return err
			}
			seen++
			c.Message = ident.Message(keyFrom(r.message))
			c.Fence++
			if valid <= now {
				h.expired = append(h.expired, c.Message)
				return nil
			}
			r.claims = append(r.claims, c)
			return nil
		}, share.Flow, now, r.readyAt, r.message, want)
		if err != nil || seen < want || len(r.claims)-before == share.N {
			return len(r.claims) - before, err
		}
	}
	return len(r.claims) - before, nil
}

// inOrder puts the messages in the order in which their flows were given places.
func (h *harvest) inOrder(order []int64) []store.Claimed {
	claims := make([]store.Claimed, 0, len(order))
	for _, id := range order {
		r := h.of[id]
		claims = append(claims, r.claims[0])
		r.claims = r.claims[1:]
	}
	return claims
}

func (t *tx) writeClaims(ctx context.Context, spec store.ClaimSpec, claims []store.Claimed, now clock.Micros) error {
	r := &rows{}
	for _, c := range claims {
		r.add(c.Message, c.Fence)
	}
	_, err := t.exec(ctx, writeClaims, r, message.Sending, now, spec.Node, evidence.QueueLease, now.Add(spec.Lease), message.Pending)
	if len(claims) > 0 {
		chaos.At(chaos.ClaimWritten)
	}
	return err
}

// What is locked is being settled: by another node's sweep, or by the answer that makes the sweep needless.
var selectDue = define(`select message_id from message_state where queue > 0 and queue = {1} and ready_at <= {2} order by queue, ready_at, message_id limit {3} {skip}`)

// Due implements store.Dispatcher. It locks for a moment alone, and decides nothing: whether a time is over is seen again
// under the lock of whoever settles it.
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
	where (queue, ready_at, message_id) > ({2}, {3}, {4}) and queue >= {1} and queue > 0 order by queue, ready_at, message_id limit {5}`)

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
