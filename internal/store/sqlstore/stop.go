package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/einmal/einmal/internal/domain/flow"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const stopColumns = `id, connection, tenant, purpose, at, owner, person, reason, caller,
	lifted_at, lifted_by, lifted_reason, lifted_caller`

var (
	claimStops = define(`select connection, tenant, purpose from stop where lifted_at = 0 and connection in (0, {1})`)
	purposesOf = define(`select f.id, f.purpose from {rows id int} cross join flow f where f.id = r.id`)
	insertStop = define(`insert into stop (id, connection, tenant, purpose, at, owner, person, reason, caller, lifted_at, lifted_by, lifted_reason, lifted_caller)
		select {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, 0, {10}, {10}, {10} where true on conflict do nothing`)
	findStop = define(`select ` + stopColumns + ` from stop
		where lifted_at = 0 and connection = {1} and tenant = {2} and purpose = {3} and owner = {4}`)
	lockStop = define(`select ` + stopColumns + ` from stop where id = {1} and owner = {2} {update}`)
	liftStop = define(`update stop set lifted_at = {2}, lifted_by = {3}, lifted_reason = {4}, lifted_caller = {5} where id = {1} and lifted_at = 0`)
	// The stops in force are few, whatever the traffic is.
	holdingStops = define(`select ` + stopColumns + ` from stop where lifted_at = 0 and tenant in (0, {1}) order by at, id`)
	countFlows   = define(`select count(*) from flow where ({1} = 0 or connection = {1}) and ({2} = 0 or tenant = {2}) and ({3} = '' or purpose = {3})`)
)

func scanStop(res *sql.Rows) (s store.Stop, err error) {
	var id []byte
	err = res.Scan(&id, &s.Scope.Connection, &s.Scope.Tenant, &s.Scope.Purpose, &s.At, &s.Owner, &s.Person, &s.Reason, &s.Caller,
		&s.LiftedAt, &s.LiftedBy, &s.LiftedReason, &s.LiftedCall)
	s.ID = ident.Stop(keyFrom(id))
	return s, err
}

// oneStop is a statement's only row.
func (t *tx) oneStop(ctx context.Context, q *template, args ...any) (s store.Stop, err error) {
	err = t.row(ctx, q, nil, func(res *sql.Rows) (err error) {
		s, err = scanStop(res)
		return err
	}, args...)
	return s, err
}

// PutStop implements store.Stops. The unique index is the referee between two that set the same stop.
func (s *Store) PutStop(ctx context.Context, stop store.Stop) (inForce store.Stop, made bool, err error) {
	at := stop.Scope
	err = s.once(ctx, func(t *tx) error {
		now, err := t.now(t.ctx)
		if err != nil {
			return err
		}
		_, err = t.exec(t.ctx, insertStop, nil, stop.ID, at.Connection, at.Tenant, at.Purpose, now, stop.Owner, stop.Person, stop.Reason, stop.Caller, "")
		if err != nil {
			return err
		}
		chaos.At(chaos.StopWritten)
		inForce, err = t.oneStop(t.ctx, findStop, at.Connection, at.Tenant, at.Purpose, stop.Owner)
		if errors.Is(err, sql.ErrNoRows) { // lifted between the two statements
			return fault.New(fault.Unavailable, "an equal stop was lifted at this very moment; send the same request again")
		}
		return err
	})
	if err == nil {
		chaos.At(chaos.StopCommitted)
	}
	return inForce, inForce.ID == stop.ID, err
}

// LiftStop implements store.Stops.
func (s *Store) LiftStop(ctx context.Context, l store.Lift) (lifted store.Stop, err error) {
	err = s.once(ctx, func(t *tx) error {
		stop, err := t.oneStop(t.ctx, lockStop, l.Stop, l.Owner)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return notFound("stop")
		case err != nil:
			return err
		case stop.LiftedAt != 0 && stop.LiftedBy == l.Person && stop.LiftedReason == l.Reason:
			lifted = stop // the same word again, whose answer was lost, say
			return nil
		case stop.LiftedAt != 0:
			return fault.New(fault.State, "this stop was lifted before, by %s", stop.LiftedBy)
		}
		if stop.LiftedAt, err = t.now(t.ctx); err != nil {
			return err
		}
		stop.LiftedBy, stop.LiftedReason, stop.LiftedCall = l.Person, l.Reason, l.Caller
		lifted = stop
		_, err = t.exec(t.ctx, liftStop, nil, l.Stop, stop.LiftedAt, l.Person, l.Reason, l.Caller)
		chaos.At(chaos.StopWritten)
		return err
	})
	if err == nil {
		chaos.At(chaos.StopCommitted)
	}
	return lifted, err
}

// ListStops implements store.Stops.
func (s *Store) ListStops(ctx context.Context, tenant ident.Partition, onlyInForce bool, p store.Page) ([]store.Stop, error) {
	clauses := []clause{{"(owner = %s or lifted_at = 0 and tenant in (0, %s))", []any{tenant, tenant}}}
	if onlyInForce {
		clauses = append(clauses, clause{sql: "lifted_at = 0"})
	}
	q, args := list(`select `+stopColumns+` from stop`, "at desc, id desc", append(clauses, after(p, "at", "id")...), p.Limit)
	return s.stops(ctx, q, args...)
}

// HoldingStops implements store.Stops.
func (s *Store) HoldingStops(ctx context.Context, tenant ident.Partition) ([]store.Stop, error) {
	return s.stops(ctx, holdingStops, tenant)
}

func (s *Store) stops(ctx context.Context, q *template, args ...any) ([]store.Stop, error) {
	var all []store.Stop
	err := s.read().query(ctx, q, nil, func(res *sql.Rows) error {
		stop, err := scanStop(res)
		all = append(all, stop)
		return err
	}, args...)
	return all, unavailable(err)
}

// CountFlows implements store.Stops.
func (s *Store) CountFlows(ctx context.Context, at flow.Scope) (n int, err error) {
	err = s.read().row(ctx, countFlows, nil, scan1(&n), at.Connection, at.Tenant, at.Purpose)
	return n, unavailable(err)
}

// inForce are the stops that may hold something of a connection.
func (t *tx) inForce(ctx context.Context, connection int64) (stops []flow.Scope, err error) {
	err = t.query(ctx, claimStops, nil, func(res *sql.Rows) error {
		var s flow.Scope
		err := res.Scan(&s.Connection, &s.Tenant, &s.Purpose)
		stops = append(stops, s)
		return err
	}, connection)
	return stops, err
}

// heed marks what a stop holds, and returns how many flows with work that is due those are.
func (t *tx) heed(ctx context.Context, connection int64, seen []sight) (stopped int, err error) {
	stops, err := t.inForce(ctx, connection)
	for i := range seen {
		for _, s := range stops {
			if one := &seen[i]; !one.Held && s.Holds(one.place(), one.purpose) {
				one.Held = true
				stopped++
			}
		}
	}
	return stopped, err
}

// heldFlows are the flows of later parts of long messages that a stop holds: those parts are not on their way yet,
// and wait like what was never claimed. Where there are none, or no stop is in force, no flow is read.
func (t *tx) heldFlows(ctx context.Context, connection int64, drafts []store.Opened) (map[int64]bool, error) {
	flows, listed := &rows{}, map[int64]bool{}
	for _, o := range drafts {
		if o.Part > 1 && !listed[o.Flow] {
			listed[o.Flow] = true
			flows.add(o.Flow)
		}
	}
	if len(listed) == 0 {
		return nil, nil
	}
	stops, err := t.inForce(ctx, connection)
	if err != nil || len(stops) == 0 {
		return nil, err
	}
	held := map[int64]bool{}
	return held, t.query(ctx, purposesOf, flows, func(res *sql.Rows) error {
		var (
			id      int64
			purpose string
		)
		err := res.Scan(&id, &purpose)
		held[id] = slices.ContainsFunc(stops, func(s flow.Scope) bool { return s.Holds(flow.PlaceOf(id), purpose) })
		return err
	})
}
