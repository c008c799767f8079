package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/einmal/einmal/internal/domain/route"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

var (
	addSetting = define(`insert into connection_setting (connection, settings, enabled, removed, version, changed_at, changed_by)
		select {1}, {2}, {3}, {4}, 1, {5}, {6} where true on conflict do nothing`)
	changeSetting = define(`update connection_setting set settings = {2}, enabled = {3}, removed = {4}, version = version + 1, changed_at = {5}, changed_by = {6}
		where connection = {1} and version = {7}`)
	readSetting  = define(`select version, changed_at, changed_by from connection_setting where connection = {1}`)
	readSettings = define(`select k.connection, connection.name, k.settings, k.enabled, k.removed, k.version, k.changed_at, k.changed_by
		from connection_setting k join connection on connection.id = k.connection order by k.connection`)

	changeRoutes = define(`update route_head set version = version + 1, changed_at = {2}, changed_by = {3} where id = 1 and version = {1}`)
	readRoutes   = define(`select version, changed_at, changed_by from route_head where id = 1`)
	lockRoutes   = define(`select version from route_head where id = 1 {update}`)
	readRemoved  = define(`select connection.name from connection_setting k join connection on connection.id = k.connection where k.removed = 1`)
	dropRules    = define(`delete from route where position >= 0`)
	addRules     = define(`insert into route (position, purpose, tenant, prefix, sender, uses)
		select * from {rows position int, purpose text, tenant int, prefix text, sender text, uses text}`)
	readRules = define(`select purpose, tenant, prefix, sender, uses from route where position >= 0 order by position`)
)

// PutConnection implements store.Connections.
func (s *Store) PutConnection(ctx context.Context, c store.ConnectionSetting) (store.ConnectionSetting, error) {
	made, err := s.change(ctx, c.Changed, func(t *tx, now clock.Micros) (int64, error) {
		if err := t.unrouted(c); err != nil {
			return 0, err
		}
		args := []any{c.ID, c.Settings, c.Enabled, c.Removed, now, c.By}
		if c.Version == 0 {
			return t.exec(t.ctx, addSetting, nil, args...)
		}
		return t.exec(t.ctx, changeSetting, nil, append(args, c.Version)...)
	}, readSetting, c.ID)
	c.Changed = made
	return c, err
}

// unrouted refuses to remove a connection to which routes lead. It locks the head of the routes, as who replaces them does:
// of a removal and of routes that use what is removed, the second one sees the first.
func (t *tx) unrouted(c store.ConnectionSetting) error {
	if !c.Removed {
		return nil
	}
	var version int64
	if err := t.row(t.ctx, lockRoutes, nil, scan1(&version)); err != nil {
		return err
	}
	routed := false
	err := t.query(t.ctx, readRules, nil, func(res *sql.Rows) error {
		r, err := scanRule(res)
		routed = routed || slices.Contains(r.Use, c.Name)
		return err
	})
	if err == nil && routed {
		err = fault.New(fault.State, "one of the routes leads to %s: take it out of them first, or disable the connection", c.Name)
	}
	return err
}

// routable refuses routes that lead to a connection that was removed meanwhile. The head is locked.
func (t *tx) routable(all []route.Rule) error {
	used := map[string]bool{}
	for _, r := range all {
		for _, name := range r.Use {
			used[name] = true
		}
	}
	var gone string
	err := t.query(t.ctx, readRemoved, nil, func(res *sql.Rows) error {
		var name string
		err := res.Scan(&name)
		if used[name] {
			gone = name
		}
		return err
	})
	if err == nil && gone != "" {
		err = fault.New(fault.State, "the connection %s was removed meanwhile: take it out of the routes", gone)
	}
	return err
}

func scanRule(res *sql.Rows) (r route.Rule, err error) {
	var uses []byte
	if err = res.Scan(&r.Purpose, &r.Tenant, &r.Prefix, &r.Sender, &uses); err != nil {
		return r, err
	}
	return r, json.Unmarshal(uses, &r.Use)
}

// change makes a change that touches one row where the version is the one that was seen, and none otherwise. Where the
// commit was not answered, the row is compared with what was written: who made the change is not told that somebody else
// was faster. stored reads the row.
func (s *Store) change(ctx context.Context, seen store.Changed, write func(t *tx, now clock.Micros) (int64, error), stored *template, args ...any) (store.Changed, error) {
	made := store.Changed{Version: seen.Version + 1, By: seen.By}
	err := s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		n, err := write(t, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return t.isMade(made, stored, args...)
		}
		made.At = now
		return t.raiseControl(t.ctx)
	})
	return made, err
}

// isMade is nil where the change is the one that an earlier try has made.
func (t *tx) isMade(made store.Changed, stored *template, args ...any) error {
	if !t.again || made.At == 0 {
		return store.ErrOtherVersion
	}
	var is store.Changed
	err := t.row(t.ctx, stored, nil, scan1(&is.Version, &is.At, &is.By), args...)
	if errors.Is(err, sql.ErrNoRows) || err == nil && is != made {
		return store.ErrOtherVersion
	}
	return err
}

// ConnectionSettings implements store.Connections.
func (s *Store) ConnectionSettings(ctx context.Context) ([]store.ConnectionSetting, error) {
	var all []store.ConnectionSetting
	err := s.read().query(ctx, readSettings, nil, func(res *sql.Rows) error {
		var c store.ConnectionSetting
		var enabled, removed int
		err := res.Scan(&c.ID, &c.Name, &c.Settings, &enabled, &removed, &c.Version, &c.At, &c.By)
		c.Enabled, c.Removed = enabled == 1, removed == 1
		all = append(all, c)
		return err
	})
	return all, unavailable(err)
}

// PutRoutes implements store.Connections. Who changes the head holds its row, and with it the rules.
func (s *Store) PutRoutes(ctx context.Context, l store.RouteList) (store.RouteList, error) {
	made, err := s.change(ctx, l.Changed, func(t *tx, now clock.Micros) (int64, error) {
		n, err := t.exec(t.ctx, changeRoutes, nil, l.Version, now, l.By)
		if err != nil || n == 0 {
			return n, err
		}
		if err := t.routable(l.Rules); err != nil {
			return n, err
		}
		if _, err := t.exec(t.ctx, dropRules, nil); err != nil {
			return n, err
		}
		rules, err := ruleRows(l.Rules)
		if err != nil {
			return n, err
		}
		_, err = t.exec(t.ctx, addRules, rules)
		return n, err
	}, readRoutes)
	l.Changed = made
	return l, err
}

func ruleRows(all []route.Rule) (*rows, error) {
	r := &rows{}
	for i, one := range all {
		uses, err := json.Marshal(one.Use)
		if err != nil {
			return nil, err
		}
		r.add(i, one.Purpose, one.Tenant, one.Prefix, one.Sender, string(uses))
	}
	return r, nil
}

// Routes implements store.Connections. The head is read before the rules and after them: a list that was replaced
// meanwhile is read again, since each statement sees the store as it is then.
func (s *Store) Routes(ctx context.Context) (l store.RouteList, err error) {
	for range ensureTries {
		if l, err = s.routes(ctx); err != nil {
			return l, unavailable(err)
		}
		var after store.Changed
		if err = s.read().row(ctx, readRoutes, nil, scan1(&after.Version, &after.At, &after.By)); err != nil || after.Version == l.Version {
			return l, unavailable(err)
		}
	}
	return l, store.ErrOtherVersion
}

func (s *Store) routes(ctx context.Context) (l store.RouteList, err error) {
	if err = s.read().row(ctx, readRoutes, nil, scan1(&l.Version, &l.At, &l.By)); err != nil {
		return l, err
	}
	err = s.read().query(ctx, readRules, nil, func(res *sql.Rows) error {
		r, err := scanRule(res)
		l.Rules = append(l.Rules, r)
		return err
	})
	return l, err
}
