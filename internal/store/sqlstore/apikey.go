package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const keyColumns = `k.id, k.tenant, k.name, k.hash, k.kind, k.scopes, k.user_id, k.created_at, k.created_by, k.expires_at, k.revoked_at`

var (
	insertKey = define(`insert into api_key (id, tenant, name, hash, kind, scopes, user_id, created_at, created_by, expires_at, revoked_at)
		select {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, 0 where true on conflict (id) do nothing`)
	readKey = define(`select ` + keyColumns + ` from api_key k where k.id = {1}`)
	holdKey = define(`select ` + keyColumns + `, t.state, coalesce(u.name, ''), coalesce(u.role, ''), coalesce(u.state, 0)
		from api_key k join tenant t on t.id = k.tenant left join tenant_user u on u.id = k.user_id and u.tenant = k.tenant where k.id = {1}`)
	listKeys  = define(`select ` + keyColumns + ` from api_key k where k.tenant = {1} order by k.created_at, k.id`)
	countKeys = define(`select count(*) from api_key k where k.tenant = {1} and k.name = {2} and k.revoked_at = 0
		and (k.expires_at = 0 or k.expires_at > {3})`)
	endKey    = define(`update api_key set expires_at = {2} where id = {1} and revoked_at = 0`)
	revokeKey = define(`update api_key set revoked_at = {1} where tenant = {2} and id = {3} and revoked_at = 0`)
)

func scanKey(res *sql.Rows, beside ...any) (store.APIKey, error) {
	var (
		k          store.APIKey
		hash, user []byte
	)
	dest := []any{&k.ID, &k.Tenant, &k.Name, &hash, &k.Kind, &k.Scopes, &user, &k.CreatedAt, &k.CreatedBy, &k.ExpiresAt, &k.RevokedAt}
	err := res.Scan(append(dest, beside...)...)
	k.Hash, k.User = keyFrom(hash), ident.User(keyFrom(user))
	return k, err
}

func onlyKey(res *sql.Rows) (store.APIKey, error) { return scanKey(res) }

// works says whether a key is neither revoked nor over.
func works(k *store.APIKey, now clock.Micros) bool {
	return k.RevokedAt == 0 && (k.ExpiresAt == 0 || now < k.ExpiresAt)
}

// PutKey implements store.Keys.
func (s *Store) PutKey(ctx context.Context, k store.APIKey, limit store.KeyLimit) (stored store.APIKey, err error) {
	err = s.administer(ctx, k.Tenant, func(t *tx, _ store.Tenant) error {
		var there bool
		if stored, there, err = madeBefore(t, readKey, onlyKey, k.ID); there || err != nil {
			return err
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		stored, err = t.putKey(k, limit, now)
		return err
	})
	return stored, err
}

// putKey stores a key of a tenant whose row is locked.
func (t *tx) putKey(k store.APIKey, limit store.KeyLimit, now clock.Micros) (store.APIKey, error) {
	if limit != nil {
		var live int
		if err := t.row(t.ctx, countKeys, nil, scan1(&live), k.Tenant, k.Name, now); err != nil {
			return k, err
		}
		if err := limit(live); err != nil {
			return k, err
		}
	}
	if k.Kind == 0 {
		k.Kind = tenant.LiveKey
	}
	if k.ExpiresAt != 0 && k.ExpiresAt <= now {
		return k, fault.New(fault.State, "the key would have expired already: give a time that is to come")
	}
	k.CreatedAt = now
	_, err := t.exec(t.ctx, insertKey, nil, k.ID, k.Tenant, k.Name, k.Hash, k.Kind, k.Scopes, k.User, now, k.CreatedBy, k.ExpiresAt)
	return k, err
}

// RotateKey implements store.Keys.
func (s *Store) RotateKey(ctx context.Context, r store.Rotation) (done store.Rotated, err error) {
	err = s.administer(ctx, r.Tenant, func(t *tx, _ store.Tenant) error {
		made, there, err := madeBefore(t, readKey, onlyKey, r.New.ID)
		if err != nil {
			return err
		}
		if there {
			done.New = made
			done.Old, err = one(t.ctx, t, readKey, onlyKey, r.Old)
			return err
		}
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		old, err := t.liveKey(r.Tenant, r.Old, now)
		if err != nil {
			return err
		}
		k := r.New
		k.Tenant, k.Name, k.Kind, k.Scopes, k.User = old.Tenant, old.Name, old.Kind, old.Scopes, old.User
		if k, err = t.putKey(k, r.Limit, now); err != nil {
			return err
		}
		if ends := now.Add(r.OldEnds); old.ExpiresAt == 0 || ends < old.ExpiresAt {
			old.ExpiresAt = ends
		}
		done = store.Rotated{Old: old, New: k}
		_, err = t.exec(t.ctx, endKey, nil, old.ID, old.ExpiresAt)
		return err
	})
	return done, err
}

// liveKey is a tenant's key that works.
func (t *tx) liveKey(of ident.Partition, id string, now clock.Micros) (store.APIKey, error) {
	k, err := one(t.ctx, t, readKey, onlyKey, id)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (k.Tenant != of || !works(&k, now)) {
		return k, fault.New(fault.NotFound, "there is no such key that works: it is unknown, revoked or expired")
	}
	return k, err
}

// Key implements store.Keys. The clock is asked after the key was read, so that Left is rather too short than too long.
func (s *Store) Key(ctx context.Context, id string) (store.KeyHolder, error) {
	t := s.read()
	h, err := one(ctx, t, holdKey, func(res *sql.Rows) (h store.KeyHolder, err error) {
		h.APIKey, err = scanKey(res, &h.TenantState, &h.UserName, &h.Role, &h.UserState)
		return h, err
	}, id)
	if err != nil {
		return h, noneOf("key", err)
	}
	if h.ExpiresAt == 0 {
		h.Works = h.RevokedAt == 0
		return h, nil
	}
	now, err := t.now(ctx)
	if h.Works = works(&h.APIKey, now); h.Works {
		h.Left = h.ExpiresAt.Time().Sub(now.Time())
	}
	return h, unavailable(err)
}

// ListKeys implements store.Keys.
func (s *Store) ListKeys(ctx context.Context, of ident.Partition) ([]store.APIKey, error) {
	all, err := every(ctx, s.read(), listKeys, onlyKey, of)
	return all, unavailable(err)
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, of ident.Partition, id string) (revoked store.APIKey, err error) {
	err = s.administer(ctx, of, func(t *tx, _ store.Tenant) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		k, err := t.liveKey(of, id, now)
		if t.again && k.Tenant == of && k.RevokedAt != 0 {
			revoked = k // by the earlier try, or by somebody else meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		revoked = k
		revoked.RevokedAt = now
		_, err = t.exec(t.ctx, revokeKey, nil, now, of, id)
		return err
	})
	return revoked, err
}
