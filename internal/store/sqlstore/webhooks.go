package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const webhookColumns = `w.id, w.tenant, w.url, w.types, w.enabled, w.version, w.own_key, w.secret, w.former, w.former_until,
	w.created_at, w.created_by, w.changed_at, w.changed_by`

var (
	countWebhooks = define(`select count(*) from webhook where tenant = {1} and removed_at = 0 and id <> {2}`)
	insertWebhook = define(`insert into webhook (id, tenant, url, types, enabled, version, own_key, secret, former, former_until,
		created_at, created_by, changed_at, changed_by, removed_at)
		select {1}, {2}, {3}, {4}, {5}, 1, {6}, {7}, {8}, 0, {9}, {10}, {9}, {10}, 0 where true on conflict (id) do nothing`)
	readWebhook  = define(`select ` + webhookColumns + ` from webhook w where w.id = {1} and w.tenant = {2} and w.removed_at = 0`)
	listWebhooks = define(`select ` + webhookColumns + ` from webhook w where w.tenant = {1} and w.removed_at = 0 order by w.created_at desc, w.id desc`)
	lockWebhook  = define(`select ` + webhookColumns + ` from webhook w where w.id = {1} and w.tenant = {2} and w.removed_at = 0 {update}`)
	writeWebhook = define(`update webhook set url = {3}, types = {4}, enabled = {5}, own_key = {6}, secret = {7}, former = {8}, former_until = {9},
		changed_at = {10}, changed_by = {11}, version = version + 1 where id = {1} and version = {2} and removed_at = 0`)
	removeWebhook = define(`update webhook set enabled = 0, removed_at = {3}, changed_at = {3}, changed_by = {4}, version = version + 1
		where id = {1} and tenant = {2} and removed_at = 0`)
)

func scanWebhook(res *sql.Rows, before ...any) (store.Webhook, error) {
	var (
		w       store.Webhook
		id      []byte
		types   string
		enabled int
		s       = &w.Secrets
	)
	err := res.Scan(append(before, &id, &w.Tenant, &w.URL, &types, &enabled, &w.Version, &s.OwnKey, &s.Current, &s.Former, &s.FormerUntil,
		&w.CreatedAt, &w.CreatedBy, &w.ChangedAt, &w.ChangedBy)...)
	w.ID, w.Types, w.Enabled, s.Former = ident.Webhook(keyFrom(id)), webhook.ParseFilter(types), enabled == 1, orNil(s.Former)
	return w, err
}

// PutWebhook implements store.Webhooks.
func (s *Store) PutWebhook(ctx context.Context, w store.Webhook, most int) (store.Webhook, error) {
	err := s.once(ctx, func(t *tx) error {
		// Under the tenant's lock: of two that are made at once the second one counts the first.
		if _, err := one(t.ctx, t, lockTenant, scanTenant, w.Tenant); err != nil {
			return absent("tenant", err)
		}
		var n int
		if err := t.row(t.ctx, countWebhooks, nil, scan1(&n), w.Tenant, w.ID); err != nil {
			return err
		}
		if n >= most {
			return fault.New(fault.State, "the tenant has %d endpoints, which is as many as it may have: remove one", n)
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		_, err = t.exec(t.ctx, insertWebhook, nil, w.ID, w.Tenant, w.URL, w.Types.String(), w.Enabled, w.Secrets.OwnKey, w.Secrets.Current, []byte{}, now, w.CreatedBy)
		return err
	})
	if err != nil {
		return store.Webhook{}, err
	}
	return s.Webhook(ctx, w.Tenant, w.ID)
}

// Webhook implements store.Webhooks.
func (s *Store) Webhook(ctx context.Context, tenant ident.Partition, id ident.Webhook) (w store.Webhook, err error) {
	err = s.read().row(ctx, readWebhook, nil, func(res *sql.Rows) (err error) {
		w, err = scanWebhook(res)
		return err
	}, id, tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return w, notFound("webhook")
	}
	return w, unavailable(err)
}

// ListWebhooks implements store.Webhooks.
func (s *Store) ListWebhooks(ctx context.Context, tenant ident.Partition) ([]store.Webhook, error) {
	var all []store.Webhook
	err := s.read().query(ctx, listWebhooks, nil, func(res *sql.Rows) error {
		w, err := scanWebhook(res)
		all = append(all, w)
		return err
	}, tenant)
	return all, unavailable(err)
}

// ChangeWebhook implements store.Webhooks. A change whose commit was not answered finds itself.
func (s *Store) ChangeWebhook(ctx context.Context, w store.Webhook) (store.Webhook, error) {
	err := s.changeWebhook(ctx, w.Tenant, w.ID, func(t *tx, stored *store.Webhook, again bool, now clock.Micros) error {
		if again && isChangeOf(stored, &w) {
			return nil
		}
		if stored.Version != w.Version {
			return fault.New(fault.State, "the webhook was changed by somebody else: look at it, and change it again")
		}
		_, err := t.exec(t.ctx, writeWebhook, nil, w.ID, w.Version, w.URL, w.Types.String(), w.Enabled, w.Secrets.OwnKey, w.Secrets.Current,
			some(w.Secrets.Former), w.Secrets.FormerUntil, now, w.ChangedBy)
		return err
	})
	if err != nil {
		return store.Webhook{}, err
	}
	return s.Webhook(ctx, w.Tenant, w.ID)
}

// isChangeOf reports whether what is stored came of this change.
func isChangeOf(stored, w *store.Webhook) bool {
	a, b := &stored.Secrets, &w.Secrets
	return stored.Version == w.Version+1 && stored.URL == w.URL && stored.Types.String() == w.Types.String() && stored.Enabled == w.Enabled &&
		stored.ChangedBy == w.ChangedBy && bytes.Equal(a.OwnKey, b.OwnKey) && bytes.Equal(a.Current, b.Current) &&
		bytes.Equal(a.Former, b.Former) && a.FormerUntil == b.FormerUntil
}

// RemoveWebhook implements store.Webhooks.
func (s *Store) RemoveWebhook(ctx context.Context, tenant ident.Partition, id ident.Webhook, by string) error {
	return s.changeWebhook(ctx, tenant, id, func(t *tx, _ *store.Webhook, _ bool, now clock.Micros) error {
		_, err := t.exec(t.ctx, removeWebhook, nil, id, tenant, now, by)
		return err
	})
}

// changing is a change under the endpoint's lock. again says that it may have been made already, by a commit that was not
// answered.
type changing func(t *tx, stored *store.Webhook, again bool, now clock.Micros) error

func (s *Store) changeWebhook(ctx context.Context, tenant ident.Partition, id ident.Webhook, change changing) error {
	return single(s.persist(ctx, false, func(t *tx, again bool) error {
		var stored store.Webhook
		err := t.row(t.ctx, lockWebhook, nil, func(res *sql.Rows) (err error) {
			stored, err = scanWebhook(res)
			return err
		}, id, tenant)
		if errors.Is(err, sql.ErrNoRows) && again {
			return nil // removed, by us or by somebody else
		}
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("webhook")
		}
		if err != nil {
			return err
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		return change(t, &stored, again, now)
	}))
}
