package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

var createTenant = define(`insert into tenant (id, name, label, state, prepaid, created_at, created_by)
	select coalesce(max(id), 0) + 1, {1}, {2}, {3}, {4}, {5}, {6} from tenant where true on conflict do nothing`)

// errNumberTaken says that another tenant was made at the same moment, and has the number.
var errNumberTaken = errors.New("the number of a tenant is taken")

var errNameTaken = fault.New(fault.State, "there is a tenant of this name: choose another one")

// CreateTenant implements store.Tenants. Two that are made at the same moment want the same number: the second one
// asks again. One whose commit was not answered finds itself by the moment at which it was made.
func (s *Store) CreateTenant(ctx context.Context, want store.Tenant) (made store.Tenant, err error) {
	for range ensureTries {
		err = s.once(ctx, func(t *tx) error {
			found, err := t.createTenant(want)
			if t.again && errors.Is(err, errNameTaken) && found.CreatedAt == made.CreatedAt && found.CreatedBy == want.CreatedBy {
				err = nil
			}
			made = found
			return err
		})
		if !errors.Is(err, errNumberTaken) {
			return made, err
		}
	}
	return store.Tenant{}, fault.New(fault.Unavailable, "too many tenants are made at the same moment; send the same request again")
}

// createTenant makes a tenant, with all that it has from the beginning.
func (t *tx) createTenant(want store.Tenant) (store.Tenant, error) {
	now, err := t.now(t.ctx)
	if err != nil {
		return store.Tenant{}, err
	}
	n, err := t.exec(t.ctx, createTenant, nil, want.Name, want.Label, tenant.Active, want.Prepaid, now, want.CreatedBy)
	if err != nil {
		return store.Tenant{}, err
	}
	made, err := one(t.ctx, t, readTenant, scanTenant, want.Name)
	switch {
	case n == 0 && errors.Is(err, sql.ErrNoRows):
		return made, errNumberTaken
	case err != nil:
		return made, err
	case n == 0:
		return made, errNameTaken
	case made.ID > ident.MaxPartition:
		return made, fault.New(fault.Unavailable, "there are %d tenants, which is as many as one installation can have", ident.MaxPartition)
	}
	if made.Prepaid {
		if err := t.createWallet(t.ctx, made.ID, now); err != nil {
			return made, err
		}
	}
	return made, t.raiseControl(t.ctx)
}
