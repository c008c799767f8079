package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var (
	// Of an endpoint that was changed since the time starts anew, which is the safe side.
	disabledWebhooks = define(`select w.id from webhook w where w.enabled = 0 and w.removed_at = 0 and w.changed_at < {1} order by w.id`)
	openDeliveries   = define(`select ` + deliveryColumns + ` from webhook_delivery d where d.webhook_id = {1} and d.state < 3
		order by d.webhook_id, d.seq limit {2} {skip}`)
)

// abandonDeliveries makes dead letters of what waits for endpoints that are disabled for longer than anything is tried:
// until then who enables one again loses nothing.
func (s *Store) abandonDeliveries(ctx context.Context, limit int) (n int, err error) {
	err = s.once(ctx, func(t *tx) error {
		n = 0
		if t.held {
			return nil
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		ids, err := t.webhookIDs(t.ctx, disabledWebhooks, now.Add(-webhook.Patience()))
		for _, id := range ids {
			if err != nil || n >= limit {
				break
			}
			var locked []lockedDelivery
			if locked, err = t.deliveries(t.ctx, openDeliveries, nil, id, limit-n); err != nil {
				return err
			}
			after := map[store.DeliveryID]webhook.Delivery{}
			for _, d := range locked {
				after[d.DeliveryID] = webhook.Abandon(d.Delivery, now)
			}
			n += len(locked)
			err = t.writeDeliveries(t.ctx, locked, after)
		}
		return err
	})
	return n, err
}

func (t *tx) webhookIDs(ctx context.Context, q *template, args ...any) (ids []ident.Webhook, err error) {
	err = t.query(ctx, q, nil, func(res *sql.Rows) error {
		var id []byte
		err := res.Scan(&id)
		ids = append(ids, ident.Webhook(keyFrom(id)))
		return err
	}, args...)
	return ids, err
}
