package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	listDeliveries = define(`select ` + deliveryColumns + `, ` + snapshotColumns + ` from webhook_delivery d cross join event e cross join message m
		where d.webhook_id = {1} and d.seq < {2} and d.tenant = {3} and e.message_id = d.message_id and e.n = d.n and m.id = d.message_id order by d.seq desc limit {4}`)
	listDead = define(`select ` + deliveryColumns + `, ` + snapshotColumns + ` from webhook_delivery d cross join event e cross join message m
		where d.webhook_id = {1} and d.state = 4 and d.seq < {2} and d.tenant = {3} and e.message_id = d.message_id and e.n = d.n and m.id = d.message_id order by d.seq desc limit {4}`)
	listInState = define(`select ` + deliveryColumns + `, ` + snapshotColumns + ` from webhook_delivery d cross join event e cross join message m
		where d.webhook_id = {1} and d.seq < {2} and d.tenant = {3} and (d.state = {5}) is true and e.message_id = d.message_id and e.n = d.n and m.id = d.message_id order by d.seq desc limit {4}`)
	readDelivery = define(`select ` + deliveryColumns + `, ` + snapshotColumns + ` from webhook_delivery d cross join webhook w cross join event e cross join message m
		where d.webhook_id = {1} and d.seq = {2} and d.tenant = {3} and w.id = d.webhook_id and w.removed_at = 0 and e.message_id = d.message_id and e.n = d.n and m.id = d.message_id`)
)

// ListDeliveries implements store.Deliveries. Dead ones have an index of their own; the others are walked through, and
// are soon found: what is delivered goes after a while, and what waits is new.
func (s *Store) ListDeliveries(ctx context.Context, tenant ident.Partition, id ident.Webhook, state webhook.State, before int64, limit int) ([]store.WebhookDelivery, error) {
	if _, err := s.Webhook(ctx, tenant, id); err != nil {
		return nil, err
	}
	q, args := listInState, []any{id, before, tenant, limit, state}
	switch state {
	case 0:
		q, args = listDeliveries, args[:4]
	case webhook.Dead:
		q, args = listDead, args[:4]
	}
	return s.shownDeliveries(ctx, q, args)
}

// WebhookDelivery implements store.Deliveries.
func (s *Store) WebhookDelivery(ctx context.Context, tenant ident.Partition, id store.DeliveryID) (store.WebhookDelivery, error) {
	found, err := s.shownDeliveries(ctx, readDelivery, []any{id.Webhook, id.Seq, tenant})
	if err == nil && len(found) == 0 {
		err = notFound("delivery")
	}
	if err != nil {
		return store.WebhookDelivery{}, err
	}
	return found[0], nil
}

func (s *Store) shownDeliveries(ctx context.Context, q *template, args []any) ([]store.WebhookDelivery, error) {
	var all []store.WebhookDelivery
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		var d store.WebhookDelivery
		var id []byte
		e, err := scanSnapshot(res, &id, &d.Seq, &d.State, &d.Fence, &d.Failures, &d.NextAt, &d.DoneAt, &d.Status, &d.Problem)
		d.Webhook, d.Event, d.Event.Seq = ident.Webhook(keyFrom(id)), e, d.Seq
		all = append(all, d)
		return err
	}, args...)
	return all, unavailable(err)
}
