package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const deliveryColumns = `d.webhook_id, d.seq, d.state, d.fence, d.failures, d.next_at, d.done_at, d.status, d.problem`

var (
	lockDeliveries = define(`select ` + deliveryColumns + ` from {rows webhook_id bytes, seq int} cross join webhook_delivery d
		where d.webhook_id = r.webhook_id and d.seq = r.seq order by d.webhook_id, d.seq {update}`)
	writeDeliveries = define(`update webhook_delivery set state = r.state, failures = r.failures, next_at = r.next_at, done_at = r.done_at, status = r.status, problem = r.problem
		from {rows webhook_id bytes, seq int, prior int, state int, failures int, next_at int, done_at int, status int, problem text}
		where webhook_delivery.webhook_id = r.webhook_id and webhook_delivery.seq = r.seq and (webhook_delivery.state = r.prior) is true`)
	ownDelivery = define(`select ` + deliveryColumns + ` from webhook_delivery d where d.webhook_id = {1} and d.seq = {2} and d.tenant = {3} {update}`)
	deadOnes    = define(`select ` + deliveryColumns + ` from webhook_delivery d where d.webhook_id = {1} and d.state = 4 and d.tenant = {2}
		order by d.webhook_id, d.seq limit {3} {skip}`)

	oldDelivered = define(`select d.webhook_id, d.seq from webhook_delivery d where d.state = 3 and d.done_at < {1} order by d.done_at, d.webhook_id, d.seq limit {2} {skip}`)
	// What was removed a minute ago has no transaction left that did not know of it.
	removedWebhooks = define(`select w.id from webhook w where w.removed_at > 0 and w.removed_at < {1} order by w.id`)
	leftDeliveries  = define(`select d.webhook_id, d.seq from webhook_delivery d where d.webhook_id = {1} order by d.webhook_id, d.seq limit {2} {skip}`)
	// The oldest dead letters of which the event is forgotten.
	forgottenDead = define(`select w.webhook_id, w.seq from (select d.webhook_id, d.seq, d.message_id, d.n from webhook_delivery d
		where d.webhook_id = {1} and d.state = 4 order by d.webhook_id, d.seq limit {2}) w
		where (select 1 from event e where e.message_id = w.message_id and e.n = w.n limit 1) is null`)
	allWebhooks      = define(`select w.id from webhook w where w.removed_at = 0 order by w.id`)
	deleteDeliveries = define(`delete from webhook_delivery where (webhook_id, seq) in (select r.webhook_id, r.seq from {rows webhook_id bytes, seq int})`)
	deleteWebhooks   = define(`delete from webhook where id in (select w.id from webhook w where w.removed_at > 0 and w.removed_at < {1}
		and (select 1 from webhook_delivery d where d.webhook_id = w.id limit 1) is null)`)
)

// lockedDelivery is a row under its lock.
type lockedDelivery struct {
	store.DeliveryID
	webhook.Delivery
}

func scanDelivery(res *sql.Rows) (lockedDelivery, error) {
	var d lockedDelivery
	var id []byte
	err := res.Scan(&id, &d.Seq, &d.State, &d.Fence, &d.Failures, &d.NextAt, &d.DoneAt, &d.Status, &d.Problem)
	d.Webhook = ident.Webhook(keyFrom(id))
	return d, err
}

// SettleDeliveries implements store.Deliveries.
func (s *Store) SettleDeliveries(ctx context.Context, results []store.DeliveryResult, settle store.SettleFunc) ([]webhook.Delivery, error) {
	var after []webhook.Delivery
	err := s.once(ctx, func(t *tx) error {
		ctx := t.ctx
		after = make([]webhook.Delivery, len(results))
		ids, seen := &rows{}, map[store.DeliveryID]webhook.Delivery{}
		for _, r := range results {
			if _, twice := seen[r.DeliveryID]; !twice {
				seen[r.DeliveryID] = webhook.Delivery{}
				ids.add(r.Webhook, r.Seq)
			}
		}
		clear(seen)
		locked, err := t.deliveries(ctx, lockDeliveries, ids)
		if err != nil {
			return err
		}
		for _, d := range locked {
			seen[d.DeliveryID] = d.Delivery
		}
		now, err := t.now(ctx)
		if err != nil {
			return err
		}
		for i, r := range results {
			if d, there := seen[r.DeliveryID]; there {
				seen[r.DeliveryID] = settle(d, r.Result, now)
				after[i] = seen[r.DeliveryID]
			}
		}
		return t.writeDeliveries(ctx, locked, seen)
	})
	return after, err
}

func (t *tx) deliveries(ctx context.Context, q *template, r *rows, args ...any) ([]lockedDelivery, error) {
	var all []lockedDelivery
	err := t.query(ctx, q, r, func(res *sql.Rows) error {
		d, err := scanDelivery(res)
		all = append(all, d)
		return err
	}, args...)
	return all, err
}

// writeDeliveries writes those that have changed.
func (t *tx) writeDeliveries(ctx context.Context, locked []lockedDelivery, after map[store.DeliveryID]webhook.Delivery) error {
	changed := &rows{}
	for _, d := range locked {
		if now := after[d.DeliveryID]; now != d.Delivery {
			changed.add(d.Webhook, d.Seq, d.State, now.State, now.Failures, now.NextAt, now.DoneAt, now.Status, now.Problem)
		}
	}
	_, err := t.exec(ctx, writeDeliveries, changed)
	return err
}

// ReplayDelivery implements store.Deliveries.
func (s *Store) ReplayDelivery(ctx context.Context, tenant ident.Partition, id store.DeliveryID, again store.AgainFunc) (webhook.Delivery, error) {
	if _, err := s.Webhook(ctx, tenant, id.Webhook); err != nil {
		return webhook.Delivery{}, err
	}
	var after webhook.Delivery
	err := s.once(ctx, func(t *tx) error {
		locked, err := t.deliveries(t.ctx, ownDelivery, nil, id.Webhook, id.Seq, tenant)
		if err == nil && len(locked) == 0 {
			err = notFound("delivery")
		}
		if err != nil {
			return err
		}
		_, err = t.replay(t.ctx, locked, again, &after)
		return err
	})
	return after, err
}

// ReplayDead implements store.Deliveries.
func (s *Store) ReplayDead(ctx context.Context, tenant ident.Partition, id ident.Webhook, limit int, again store.AgainFunc) (int, error) {
	if _, err := s.Webhook(ctx, tenant, id); err != nil {
		return 0, err
	}
	n := 0
	err := s.once(ctx, func(t *tx) error {
		locked, err := t.deliveries(t.ctx, deadOnes, nil, id, tenant, limit)
		if err != nil {
			return err
		}
		var last webhook.Delivery
		n, err = t.replay(t.ctx, locked, again, &last)
		return err
	})
	return n, err
}

func (t *tx) replay(ctx context.Context, locked []lockedDelivery, again store.AgainFunc, last *webhook.Delivery) (int, error) {
	now, err := t.now(ctx)
	if err != nil {
		return 0, err
	}
	after := map[store.DeliveryID]webhook.Delivery{}
	for _, d := range locked {
		next, ok := again(d.Delivery, now)
		if !ok {
			return 0, fault.New(fault.State, "it is under way already: wait until it was delivered or given up")
		}
		after[d.DeliveryID], *last = next, next
	}
	return len(locked), t.writeDeliveries(ctx, locked, after)
}

// removedFor is how long an endpoint is removed before what is left of it goes.
const removedFor = time.Minute

// TrimDeliveries implements store.Deliveries.
func (s *Store) TrimDeliveries(ctx context.Context, before clock.Micros, limit int) (int, error) {
	n, err := s.trimDeliveries(ctx, oldDelivered, before, limit)
	if err != nil || n >= limit {
		return n, err
	}
	abandoned, err := s.abandonDeliveries(ctx, limit-n)
	if n += abandoned; err != nil || n >= limit {
		return n, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return n, err
	}
	more, err := s.trimEach(ctx, leftDeliveries, limit-n, removedWebhooks, now.Add(-removedFor))
	if n += more; err != nil || n >= limit {
		return n, err
	}
	if err = s.once(ctx, func(t *tx) error {
		_, err := t.exec(t.ctx, deleteWebhooks, nil, now.Add(-removedFor))
		return err
	}); err != nil {
		return n, err
	}
	more, err = s.trimEach(ctx, forgottenDead, limit-n, allWebhooks)
	return n + more, err
}

// trimEach removes some of what q finds for each endpoint that of finds.
func (s *Store) trimEach(ctx context.Context, q *template, limit int, of *template, args ...any) (n int, err error) {
	ids, err := s.read().webhookIDs(ctx, of, args...)
	for _, id := range ids {
		if err != nil || n >= limit {
			break
		}
		var some int
		some, err = s.trimDeliveries(ctx, q, id, limit-n)
		n += some
	}
	return n, unavailable(err)
}

func (s *Store) trimDeliveries(ctx context.Context, q *template, args ...any) (int, error) {
	var n int64
	err := s.once(ctx, func(t *tx) error {
		old := &rows{}
		err := t.query(t.ctx, q, nil, func(res *sql.Rows) error {
			var id []byte
			var seq int64
			err := res.Scan(&id, &seq)
			old.add(id, seq)
			return err
		}, args...)
		if err == nil && old.len() > 0 {
			n, err = t.exec(t.ctx, deleteDeliveries, old)
		}
		return err
	})
	return int(n), err
}
