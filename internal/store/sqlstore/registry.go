package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

func micros(n int64) clock.Micros { return clock.Micros(n) }

// ensureTries bounds how often two processes may race for the next number of a table of names.
const ensureTries = 10

// ensure returns the number that find gives; if there is no row, insert makes one and find is asked again. A
// new number is the highest one and one more: tables of names are small. Who loses the race for a number asks
// again.
func (s *Store) ensure(ctx context.Context, find, insert *template, args ...any) (id int64, err error) {
	for range ensureTries {
		err = s.read().row(ctx, find, nil, scan1(&id), args...)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, unavailable(err)
		}
		err = s.once(ctx, func(t *tx) error {
			_, err := t.exec(t.ctx, insert, nil, args...)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return 0, fault.New(fault.Unavailable, "too many processes make names at the same moment; try again")
}

var (
	findTenant       = define(`select id from tenant where name = {1}`)
	insertTenant     = define(`insert into tenant (id, name) select coalesce(max(id), 0) + 1, {1} from tenant where true on conflict do nothing`)
	findConnection   = define(`select id from connection where name = {1}`)
	insertConnection = define(`insert into connection (id, name, id_space)
		select coalesce(max(id), 0) + 1, {1}, 0 from connection where true on conflict do nothing`)
	setSpace  = define(`update connection set id_space = {2} where name = {1} and id_space = 0`)
	readSpace = define(`select id_space from connection where name = {1}`)
	findFlow  = define(`select id from flow where connection = {1} and lane = {2} and tenant = {3} and sender = {4} and purpose = {5}
		and id >= {6} and id < {7}`)
	insertFlow = define(`insert into flow (id, connection, lane, tenant, sender, purpose)
		select coalesce(max(id), {6}) + 1, {1}, {2}, {3}, {4}, {5} from flow where id >= {6} and id < {7} on conflict do nothing`)
)

// EnsureTenant implements store.Registry.
func (s *Store) EnsureTenant(ctx context.Context, name string) (ident.Partition, error) {
	id, err := s.ensure(ctx, findTenant, insertTenant, name)
	if err == nil && id > int64(ident.MaxPartition) {
		return 0, fault.New(fault.Unavailable, "there are %d tenants, which is as many as one installation can have", ident.MaxPartition)
	}
	return ident.Partition(id), err
}

// EnsureConnection implements store.Registry. An id space is chosen once: ids that are stored in it would not be
// found in another.
func (s *Store) EnsureConnection(ctx context.Context, name, idSpace string) (id, space int64, err error) {
	if id, err = s.ensure(ctx, findConnection, insertConnection, name); err != nil {
		return 0, 0, err
	}
	want := id
	if idSpace != "" {
		err := s.read().row(ctx, findConnection, nil, scan1(&want), idSpace)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, 0, fault.New(fault.Invalid, "the id space of the connection %s is that of %s, which is no connection", name, idSpace)
		}
		if err != nil {
			return 0, 0, unavailable(err)
		}
	}
	err = s.once(ctx, func(t *tx) error {
		if _, err := t.exec(t.ctx, setSpace, nil, name, want); err != nil {
			return err
		}
		return t.row(t.ctx, readSpace, nil, scan1(&space), name)
	})
	if err == nil && space != want {
		err = fault.New(fault.Invalid, "the connection %s has another id space already, with ids stored in it: give the connection a new name", name)
	}
	return id, space, err
}

// EnsureFlow implements store.Registry.
func (s *Store) EnsureFlow(ctx context.Context, f store.FlowSpec) (int64, error) {
	if f.Connection > flow.MaxConnection {
		return 0, fault.New(fault.Unavailable, "there are more than %d connections, which is as many as one installation can have", flow.MaxConnection)
	}
	from, to := f.Place().Range()
	return s.ensure(ctx, findFlow, insertFlow, f.Connection, f.Lane, f.Tenant, f.Sender, f.Purpose, from, to)
}

var (
	listTenants     = define(`select id, name from tenant`)
	listConnections = define(`select id, name from connection`)
)

// TenantNames implements store.Registry.
func (s *Store) TenantNames(ctx context.Context) (map[ident.Partition]string, error) {
	return namesOf[ident.Partition](ctx, s, listTenants)
}

// ConnectionNames implements store.Registry.
func (s *Store) ConnectionNames(ctx context.Context) (map[int64]string, error) {
	return namesOf[int64](ctx, s, listConnections)
}

// namesOf reads a table of names.
func namesOf[ID comparable](ctx context.Context, s *Store, q *template) (map[ID]string, error) {
	names := map[ID]string{}
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		var (
			id   ID
			name string
		)
		err := res.Scan(&id, &name)
		names[id] = name
		return err
	})
	return names, unavailable(err)
}

var (
	readMeta   = define(`select value from meta where name = {1}`)
	insertMeta = define(`insert into meta (name, value) select {1}, {2} where true on conflict (name) do nothing`)
	setMeta    = define(`insert into meta (name, value) select {1}, {2} where true on conflict (name) do update set value = excluded.value`)
)

// Meta implements store.Registry.
func (s *Store) Meta(ctx context.Context, name string) (string, error) {
	var value string
	err := s.read().row(ctx, readMeta, nil, scan1(&value), name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, unavailable(err)
}

// SetMeta implements store.Registry.
func (s *Store) SetMeta(ctx context.Context, name, value string) error {
	return s.once(ctx, func(t *tx) error {
		_, err := t.exec(t.ctx, setMeta, nil, name, value)
		return err
	})
}

// EnsureMeta implements store.Registry.
func (s *Store) EnsureMeta(ctx context.Context, name, value string) (string, error) {
	var stored string
	err := s.once(ctx, func(t *tx) error {
		if _, err := t.exec(t.ctx, insertMeta, nil, name, value); err != nil {
			return err
		}
		return t.row(t.ctx, readMeta, nil, scan1(&stored), name)
	})
	return stored, err
}
