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

const userColumns = `u.id, u.tenant, u.login, u.name, u.phone, u.role, u.state, u.created_at, u.created_by`

var (
	insertUser = define(`insert into tenant_user (id, tenant, login, name, phone, role, state, created_at, created_by)
		select {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9} where true on conflict (tenant, login) do nothing`)
	readUser   = define(`select ` + userColumns + ` from tenant_user u where u.id = {1} and u.tenant = {2}`)
	changeUser = define(`update tenant_user set name = {3}, phone = {4}, role = {5}, state = {6} where id = {1} and tenant = {2}`)
	teamPhones = define(`select tenant, phone from tenant_user where phone <> '' and state = {1} union all select tenant, phone from guest`)
)

func scanUser(res *sql.Rows) (u store.User, err error) {
	var id []byte
	err = res.Scan(&id, &u.Tenant, &u.Login, &u.Name, &u.Phone, &u.Role, &u.State, &u.CreatedAt, &u.CreatedBy)
	u.ID = ident.User(keyFrom(id))
	return u, err
}

// CreateUser implements store.Users.
func (s *Store) CreateUser(ctx context.Context, u store.User) (store.User, error) {
	err := s.administer(ctx, u.Tenant, func(t *tx, _ store.Tenant) error {
		stored, there, err := madeBefore(t, readUser, scanUser, u.ID, u.Tenant)
		if there || err != nil {
			u = stored
			return err
		}
		if u.CreatedAt, err = t.now(t.ctx); err != nil {
			return err
		}
		u.State = tenant.Active
		n, err := t.exec(t.ctx, insertUser, nil, u.ID, u.Tenant, u.Login, u.Name, u.Phone, u.Role, u.State, u.CreatedAt, u.CreatedBy)
		if err == nil && n == 0 {
			return fault.New(fault.State, "a user of this tenant has this login: choose another one")
		}
		return err
	})
	return u, err
}

// User implements store.Users.
func (s *Store) User(ctx context.Context, of ident.Partition, id ident.User) (store.User, error) {
	u, err := one(ctx, s.read(), readUser, scanUser, id, of)
	return u, noneOf("user", err)
}

// ListUsers implements store.Users.
func (s *Store) ListUsers(ctx context.Context, of ident.Partition, p store.Page) ([]store.User, error) {
	q, args := list(`select `+userColumns+` from tenant_user u`, "u.created_at desc, u.id desc",
		append([]clause{{"u.tenant = %s", []any{of}}}, after(p, "u.created_at", "u.id")...), p.Limit)
	all, err := every(ctx, s.read(), q, scanUser, args...)
	return all, unavailable(err)
}

// ChangeUser implements store.Users.
func (s *Store) ChangeUser(ctx context.Context, of ident.Partition, id ident.User, c store.UserChange) (u store.User, err error) {
	err = s.administer(ctx, of, func(t *tx, _ store.Tenant) error {
		if u, err = one(t.ctx, t, readUser, scanUser, id, of); err != nil {
			return absent("user", err)
		}
		for _, m := range []struct{ to, from *string }{{&u.Name, c.Name}, {&u.Phone, c.Phone}, {&u.Role, c.Role}} {
			if m.from != nil {
				*m.to = *m.from
			}
		}
		if c.State != 0 {
			u.State = c.State
		}
		_, err := t.exec(t.ctx, changeUser, nil, id, of, u.Name, u.Phone, u.Role, u.State)
		return err
	})
	return u, err
}

// TeamPhones implements store.Users.
func (s *Store) TeamPhones(ctx context.Context) (map[ident.Partition][]string, error) {
	phones := map[ident.Partition][]string{}
	err := s.read().query(ctx, teamPhones, nil, func(res *sql.Rows) error {
		var (
			of    ident.Partition
			phone string
		)
		err := res.Scan(&of, &phone)
		phones[of] = append(phones[of], phone)
		return err
	}, tenant.Active)
	return phones, unavailable(err)
}

const guestColumns = `g.id, g.tenant, g.name, g.phone, g.created_at, g.created_by`

var (
	insertGuest = define(`insert into guest (id, tenant, name, phone, created_at, created_by)
		select {1}, {2}, {3}, {4}, {5}, {6} where true on conflict (tenant, phone) do nothing`)
	findGuest   = define(`select ` + guestColumns + ` from guest g where g.tenant = {1} and g.phone = {2}`)
	readGuest   = define(`select ` + guestColumns + ` from guest g where g.id = {1} and g.tenant = {2}`)
	deleteGuest = define(`delete from guest where id = {1} and tenant = {2}`)
)

func scanGuest(res *sql.Rows) (g store.Guest, err error) {
	var id []byte
	err = res.Scan(&id, &g.Tenant, &g.Name, &g.Phone, &g.CreatedAt, &g.CreatedBy)
	g.ID = ident.Guest(keyFrom(id))
	return g, err
}

// CreateGuest implements store.Users.
func (s *Store) CreateGuest(ctx context.Context, g store.Guest) (stored store.Guest, made bool, err error) {
	err = s.administer(ctx, g.Tenant, func(t *tx, _ store.Tenant) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		if _, err = t.exec(t.ctx, insertGuest, nil, g.ID, g.Tenant, g.Name, g.Phone, now, g.CreatedBy); err != nil {
			return err
		}
		stored, err = one(t.ctx, t, findGuest, scanGuest, g.Tenant, g.Phone)
		return err
	})
	return stored, stored.ID == g.ID, err
}

// ListGuests implements store.Users.
func (s *Store) ListGuests(ctx context.Context, of ident.Partition, p store.Page) ([]store.Guest, error) {
	q, args := list(`select `+guestColumns+` from guest g`, "g.created_at desc, g.id desc",
		append([]clause{{"g.tenant = %s", []any{of}}}, after(p, "g.created_at", "g.id")...), p.Limit)
	all, err := every(ctx, s.read(), q, scanGuest, args...)
	return all, unavailable(err)
}

// DeleteGuest implements store.Users.
func (s *Store) DeleteGuest(ctx context.Context, of ident.Partition, id ident.Guest) (gone store.Guest, err error) {
	err = s.administer(ctx, of, func(t *tx, _ store.Tenant) error {
		found, err := one(t.ctx, t, readGuest, scanGuest, id, of)
		if t.again && gone.ID == id && errors.Is(err, sql.ErrNoRows) {
			return nil // by the earlier try, or by somebody else meanwhile
		}
		if err != nil {
			return absent("guest", err)
		}
		gone = found
		_, err = t.exec(t.ctx, deleteGuest, nil, id, of)
		return err
	})
	return gone, err
}
