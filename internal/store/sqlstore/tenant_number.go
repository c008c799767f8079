package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const leaseColumns = `l.id, l.e164, l.tenant, l.begins, l.ends, l.created_at, l.created_by`

var (
	// The update changes nothing and locks the row: of two that lease a number the second one sees the first one's lease.
	meetAtNumber = define(`insert into number (e164, created_at) select {1}, {2} where true
		on conflict (e164) do update set created_at = number.created_at`)
	leasesOf    = define(`select ` + leaseColumns + ` from lease l where l.e164 = {1}`)
	insertLease = define(`insert into lease (id, e164, tenant, begins, ends, created_at, created_by) select {1}, {2}, {3}, {4}, {5}, {6}, {7} where true
		on conflict (id) do nothing`)
	readLease = define(`select ` + leaseColumns + ` from lease l where l.id = {1} and l.tenant = {2}`)
	endLease  = define(`update lease set ends = {2} where id = {1}`)
)

func scanLease(res *sql.Rows) (l store.Lease, err error) {
	var id []byte
	err = res.Scan(&id, &l.Number, &l.Tenant, &l.Begins, &l.Ends, &l.CreatedAt, &l.CreatedBy)
	l.ID = ident.Lease(keyFrom(id))
	return l, err
}

// LeaseNumber implements store.Numbers.
func (s *Store) LeaseNumber(ctx context.Context, l store.Lease, rule store.LeaseRule) (stored store.Lease, err error) {
	err = s.administer(ctx, l.Tenant, func(t *tx, _ store.Tenant) error {
		stored = l
		others, now, err := t.otherTerms(&stored)
		if err != nil {
			return err
		}
		stored.CreatedAt = now
		if stored.Begins == 0 {
			stored.Begins = now
		}
		if err := rule(stored.Term, others); err != nil {
			return err
		}
		_, err = t.exec(t.ctx, insertLease, nil, stored.ID, stored.Number, stored.Tenant, stored.Begins, stored.Ends, now, stored.CreatedBy)
		return err
	})
	return stored, err
}

// otherTerms locks the lease's number and reads the terms of all other leases of it.
func (t *tx) otherTerms(l *store.Lease) (others []tenant.Term, now clock.Micros, err error) {
	if now, err = t.now(t.ctx); err != nil {
		return nil, 0, err
	}
	if _, err := t.exec(t.ctx, meetAtNumber, nil, l.Number, now); err != nil {
		return nil, 0, err
	}
	all, err := every(t.ctx, t, leasesOf, scanLease, l.Number)
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		if all[i].ID != l.ID {
			others = append(others, all[i].Term)
		}
	}
	now, err = t.now(t.ctx) // the first one was from before the wait
	return others, now, err
}

// EndLease implements store.Numbers.
func (s *Store) EndLease(ctx context.Context, of ident.Partition, id ident.Lease, ends clock.Micros, rule store.LeaseRule) (l store.Lease, err error) {
	err = s.administer(ctx, of, func(t *tx, _ store.Tenant) error {
		if l, err = one(t.ctx, t, readLease, scanLease, id, of); err != nil {
			return absent("lease", err)
		}
		others, now, err := t.otherTerms(&l)
		if err != nil {
			return err
		}
		l.Term = l.Ended(ends, now)
		if err := rule(l.Term, others); err != nil {
			return err
		}
		_, err = t.exec(t.ctx, endLease, nil, id, l.Ends)
		return err
	})
	return l, err
}

// ListLeases implements store.Numbers.
func (s *Store) ListLeases(ctx context.Context, of ident.Partition, p store.Page) ([]store.Lease, error) {
	q, args := list(`select `+leaseColumns+` from lease l`, "l.created_at desc, l.id desc",
		append([]clause{{"l.tenant = %s", []any{of}}}, after(p, "l.created_at", "l.id")...), p.Limit)
	all, err := every(ctx, s.read(), q, scanLease, args...)
	return all, unavailable(err)
}
