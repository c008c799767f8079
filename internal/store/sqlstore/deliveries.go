package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	wantingWebhooks  = define(`select w.id, w.tenant, w.types from {rows tenant int} cross join webhook w where w.tenant = r.tenant and w.enabled = 1 order by w.id`)
	readTypes        = define(`select e.message_id, e.n, e.kind, e.from_state, e.to_state, e.detail from {rows message_id bytes, n int} cross join event e where e.message_id = r.message_id and e.n = r.n`)
	insertDeliveries = define(`insert into webhook_delivery (webhook_id, seq, tenant, message_id, n, state, fence, failures, next_at, done_at, status, problem)
		select webhook_id, seq, tenant, message_id, n, {1}, 0, 0, at, 0, 0, {2} from {rows webhook_id bytes, seq int, tenant int, message_id bytes, n int, at int}`)

	dueWebhooks = define(`select w.id, w.tenant, (select d.next_at from webhook_delivery d where d.webhook_id = w.id and d.state < 3 order by d.next_at limit 1)
		from webhook w where w.enabled = 1`)
	selectDeliveries = define(`select d.seq, d.fence from webhook_delivery d where d.webhook_id = {1} and d.state < 3 and d.next_at <= {2}
		order by d.next_at, d.seq limit {3} {skip}`)
	claimDeliveries = define(`update webhook_delivery set state = {1}, fence = r.fence, next_at = {2} from {rows webhook_id bytes, seq int, fence int}
		where webhook_delivery.webhook_id = r.webhook_id and webhook_delivery.seq = r.seq and (webhook_delivery.state < 3) is true`)
	readClaimed = define(`select d.webhook_id, d.seq, d.fence, ` + snapshotColumns + ` from {rows webhook_id bytes, seq int} cross join webhook_delivery d
		cross join event e cross join message m where d.webhook_id = r.webhook_id and d.seq = r.seq and e.message_id = d.message_id and e.n = d.n and m.id = d.message_id order by d.webhook_id, d.seq`)
	enabledWebhooks = define(`select ` + webhookColumns + ` from {rows id bytes} cross join webhook w where w.id = r.id and w.enabled = 1`)
)

// wanting is an endpoint that is enabled.
type wanting struct {
	id     []byte
	tenant ident.Partition
	types  webhook.Filter
}

// tell makes the deliveries of events that have just got their places. Tenants without an endpoint cost one look at an
// index in the whole transaction.
func (t *tx) tell(ctx context.Context, all []leaving) error {
	hooks, err := t.wanting(ctx, all)
	if err != nil || len(hooks) == 0 {
		return err
	}
	types, err := t.typesOf(ctx, all, hooks)
	if err != nil {
		return err
	}
	made := &rows{}
	for i := range all {
		l := &all[i]
		for _, w := range hooks[l.tenant] {
			if w.types.Wants(types[l.key()]) {
				made.add(w.id, l.seq, l.tenant, l.message, l.n, l.at)
			}
		}
	}
	_, err = t.exec(ctx, insertDeliveries, made, webhook.Pending, "")
	return err
}

func (t *tx) wanting(ctx context.Context, all []leaving) (map[ident.Partition][]wanting, error) {
	tenants, seen := &rows{}, map[ident.Partition]bool{}
	for _, l := range all {
		if !seen[l.tenant] {
			seen[l.tenant] = true
			tenants.add(l.tenant)
		}
	}
	hooks := map[ident.Partition][]wanting{}
	err := t.query(ctx, wantingWebhooks, tenants, func(res *sql.Rows) error {
		var w wanting
		var types string
		err := res.Scan(&w.id, &w.tenant, &types)
		w.types = webhook.ParseFilter(types)
		hooks[w.tenant] = append(hooks[w.tenant], w)
		return err
	})
	return hooks, err
}

// typesOf reads of what types events are, those of tenants with an endpoint.
func (t *tx) typesOf(ctx context.Context, all []leaving, hooks map[ident.Partition][]wanting) (map[eventKey]string, error) {
	wanted, types := &rows{}, map[eventKey]string{}
	for _, l := range all {
		if len(hooks[l.tenant]) > 0 {
			wanted.add(l.message, l.n)
		}
	}
	err := t.query(ctx, readTypes, wanted, func(res *sql.Rows) error {
		var (
			k      eventKey
			id     []byte
			e      evidence.Event
			detail string
		)
		if err := res.Scan(&id, &k.n, &e.Kind, &e.From, &e.To, &detail); err != nil {
			return err
		}
		if detail != "" {
			if err := json.Unmarshal([]byte(detail), &e.Detail); err != nil {
				return err
			}
		}
		k.message = ident.Message(keyFrom(id))
		types[k] = webhook.TypeOf(e)
		return nil
	})
	return types, err
}

// DueWebhooks implements store.Deliveries.
func (s *Store) DueWebhooks(ctx context.Context) ([]store.DueWebhook, clock.Micros, error) {
	t := s.read()
	now, err := t.now(ctx)
	if err != nil {
		return nil, 0, unavailable(err)
	}
	var all []store.DueWebhook
	err = t.query(ctx, dueWebhooks, nil, func(res *sql.Rows) error {
		var (
			id   []byte
			d    store.DueWebhook
			next sql.NullInt64
		)
		err := res.Scan(&id, &d.Tenant, &next)
		if d.ID, d.NextAt = ident.Webhook(keyFrom(id)), clock.Micros(next.Int64); next.Valid {
			all = append(all, d)
		}
		return err
	})
	return all, now, unavailable(err)
}

// ClaimDeliveries implements store.Deliveries. Nobody waits here, so the clock is read first.
func (s *Store) ClaimDeliveries(ctx context.Context, grants []webhook.Grant, lease time.Duration) ([]store.ClaimedDelivery, error) {
	var claimed []store.ClaimedDelivery
	err := s.once(ctx, func(t *tx) (err error) {
		claimed = nil
		if t.held {
			return nil
		}
		claimed, err = t.claimDeliveries(t.ctx, grants, lease)
		return err
	})
	if err == nil && len(claimed) > 0 {
		chaos.At(chaos.WebhookClaimed)
	}
	return claimed, err
}

func (t *tx) claimDeliveries(ctx context.Context, grants []webhook.Grant, lease time.Duration) ([]store.ClaimedDelivery, error) {
	now, err := t.now(ctx)
	if err != nil {
		return nil, err
	}
	asked := make([]ident.Webhook, len(grants))
	for i, g := range grants {
		asked[i] = g.ID
	}
	hooks, err := t.enabled(ctx, asked)
	if err != nil {
		return nil, err
	}
	marks, names, missing := &rows{}, &rows{}, map[store.DeliveryID]bool{}
	for _, g := range grants {
		if _, ok := hooks[g.ID]; !ok {
			continue // switched off or removed since it was looked at
		}
		err := t.query(ctx, selectDeliveries, nil, func(res *sql.Rows) error {
			var seq, fence int64
			err := res.Scan(&seq, &fence)
			marks.add(g.ID, seq, fence+1)
			names.add(g.ID, seq)
			missing[store.DeliveryID{Webhook: g.ID, Seq: seq}] = true
			return err
		}, g.ID, now, g.N)
		if err != nil {
			return nil, err
		}
	}
	if _, err := t.exec(ctx, claimDeliveries, marks, webhook.Delivering, now.Add(lease)); err != nil {
		return nil, err
	}
	var all []store.ClaimedDelivery
	err = t.query(ctx, readClaimed, names, func(res *sql.Rows) error {
		var c store.ClaimedDelivery
		var id []byte
		e, err := scanSnapshot(res, &id, &c.Seq, &c.Fence)
		c.DeliveryID.Webhook, c.Event, c.Event.Seq = ident.Webhook(keyFrom(id)), e, c.Seq
		c.Webhook = hooks[c.DeliveryID.Webhook]
		all = append(all, c)
		delete(missing, c.DeliveryID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, t.forget(ctx, missing)
}

// forget removes deliveries of events that are forgotten: a dead letter of long ago that somebody had told again.
func (t *tx) forget(ctx context.Context, missing map[store.DeliveryID]bool) error {
	gone := &rows{}
	for id := range missing {
		gone.add(id.Webhook, id.Seq)
	}
	_, err := t.exec(ctx, deleteDeliveries, gone)
	return err
}

func (t *tx) enabled(ctx context.Context, asked []ident.Webhook) (map[ident.Webhook]store.Webhook, error) {
	ids, hooks := &rows{}, map[ident.Webhook]store.Webhook{}
	for _, id := range asked {
		ids.add(id)
	}
	err := t.query(ctx, enabledWebhooks, ids, func(res *sql.Rows) error {
		w, err := scanWebhook(res)
		hooks[w.ID] = w
		return err
	})
	return hooks, err
}

// EnabledWebhooks implements store.Deliveries.
func (s *Store) EnabledWebhooks(ctx context.Context, ids []ident.Webhook) ([]store.Webhook, error) {
	hooks, err := s.read().enabled(ctx, ids)
	return slices.Collect(maps.Values(hooks)), unavailable(err)
}
