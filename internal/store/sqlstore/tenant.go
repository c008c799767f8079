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

const tenantColumns = `id, name, label, state, prepaid, created_at, created_by, state_at, state_by, state_reason`

var (
	readTenant   = define(`select ` + tenantColumns + ` from tenant where name = {1}`)
	pageTenants  = define(`select ` + tenantColumns + ` from tenant where name > {1} order by name limit {2}`)
	lockTenant   = define(`select ` + tenantColumns + ` from tenant where id = {1} {update}`)
	changeTenant = define(`update tenant set label = {2}, state = {3}, state_at = {4}, state_by = {5}, state_reason = {6} where id = {1}`)
)

func scanTenant(res *sql.Rows) (t store.Tenant, err error) {
	err = res.Scan(&t.ID, &t.Name, &t.Label, &t.State, &t.Prepaid, &t.CreatedAt, &t.CreatedBy, &t.StateAt, &t.StateBy, &t.StateReason)
	return t, err
}

// madeBefore is what an earlier try has stored under the same id, where its commit was not answered. Ids are random: what
// is there is nobody else's.
func madeBefore[T any](t *tx, q *template, scan func(*sql.Rows) (T, error), args ...any) (found T, there bool, err error) {
	if !t.again {
		return found, false, nil
	}
	found, err = one(t.ctx, t, q, scan, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return found, false, nil
	}
	return found, err == nil, err
}

// one is a statement's only row.
func one[T any](ctx context.Context, t *tx, q *template, scan func(*sql.Rows) (T, error), args ...any) (found T, err error) {
	err = t.row(ctx, q, nil, func(res *sql.Rows) (err error) {
		found, err = scan(res)
		return err
	}, args...)
	return found, err
}

// every is all of a statement's rows.
func every[T any](ctx context.Context, t *tx, q *template, scan func(*sql.Rows) (T, error), args ...any) (all []T, err error) {
	err = t.query(ctx, q, nil, func(res *sql.Rows) error {
		found, err := scan(res)
		all = append(all, found)
		return err
	}, args...)
	return all, err
}

// TenantByName implements store.Tenants.
func (s *Store) TenantByName(ctx context.Context, name string) (store.Tenant, error) {
	found, err := one(ctx, s.read(), readTenant, scanTenant, name)
	return found, noneOf("tenant", err)
}

// absent is the fault of a row that is not there. Any other error stays what it is: a transaction may be run again for it.
func absent(what string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound(what)
	}
	return err
}

// noneOf is the fault of a question that found nothing, or could not be asked.
func noneOf(what string, err error) error { return unavailable(absent(what, err)) }

// ListTenants implements store.Tenants.
func (s *Store) ListTenants(ctx context.Context, after string, limit int) ([]store.Tenant, error) {
	all, err := every(ctx, s.read(), pageTenants, scanTenant, after, limit)
	return all, unavailable(err)
}

// administer is a transaction that changes something of a tenant. The tenant's row is locked first, so that of two that
// change the same at once the second sees what the first has done; the control count is raised last.
func (s *Store) administer(ctx context.Context, id ident.Partition, change func(t *tx, of store.Tenant) error) error {
	return s.once(ctx, func(t *tx) error {
		of, err := one(t.ctx, t, lockTenant, scanTenant, id)
		if err != nil {
			return absent("tenant", err)
		}
		if err := change(t, of); err != nil {
			return err
		}
		return t.raiseControl(t.ctx)
	})
}

// ChangeTenant implements store.Tenants.
func (s *Store) ChangeTenant(ctx context.Context, id ident.Partition, c store.TenantChange) (changed store.Tenant, err error) {
	err = s.administer(ctx, id, func(t *tx, of store.Tenant) error {
		if c.State == tenant.Suspended && id == store.Installation {
			return fault.New(fault.State, "the installation's own tenant is not suspended: nobody could lift it; einmal stop --all holds all traffic")
		}
		if c.State == tenant.Suspended && of.State == c.State && (of.StateBy != c.By || of.StateReason != c.Reason) {
			return fault.New(fault.State, "%s is suspended already, by %s: %s; lift that first, or leave it", of.Name, of.StateBy, of.StateReason)
		}
		if c.Label != nil {
			of.Label = *c.Label
		}
		if c.State != 0 && c.State != of.State {
			of.State, of.StateBy, of.StateReason = c.State, c.By, c.Reason
			if of.StateAt, err = t.now(t.ctx); err != nil {
				return err
			}
		}
		changed = of
		_, err := t.exec(t.ctx, changeTenant, nil, id, of.Label, of.State, of.StateAt, of.StateBy, of.StateReason)
		return err
	})
	return changed, err
}
