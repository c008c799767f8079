package sqlstore

import (
	"context"
	"database/sql"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

var (
	countExceptions = define(`insert into exception_group (tenant, connection, kind, hour, count, open)
		select tenant, connection, kind, hour, count, closed from {rows tenant int, connection int, kind text, hour int, count int, closed int} where true
		order by tenant, connection, kind, hour
		on conflict (tenant, connection, kind, hour) do update set count = exception_group.count + excluded.count, open = exception_group.open + excluded.open
		returning tenant, connection, kind, hour, count`)
	countOpen = define(`update exception_group set open = open + r.kept
		from {rows tenant int, connection int, kind text, hour int, kept int}
		where exception_group.tenant = r.tenant and exception_group.connection = r.connection and exception_group.kind = r.kind and exception_group.hour = r.hour`)
	insertExceptions = define(`insert into exception (id, tenant, connection, kind, hour, at, message_id, attempt, part, receipt_id, detail, state, event, candidates)
		select * from {rows id bytes, tenant int, connection int, kind text, hour int, at int, message_id bytes, attempt int, part int,
		receipt_id bytes, detail text, state int, event int, candidates bytes}`)
	closeExceptions = define(`update exception set state = r.state, resolved_at = r.resolved_at, resolved_by = r.resolved_by, resolved_reason = r.reason,
		to_message = r.to_message, to_attempt = r.to_attempt, to_part = r.to_part, resolved_state = r.resolved_state
		from {rows id bytes, state int, resolved_at int, resolved_by text, reason text, to_message bytes, to_attempt int, to_part int, resolved_state text}
		where exception.id = r.id and (exception.state = 1) is true`)
)

type exceptionGroup struct {
	Tenant     ident.Partition
	Connection int64
	Kind       exception.Kind
	Hour       clock.Micros
}

func groupOf(x *exception.Exception) exceptionGroup {
	return exceptionGroup{x.Tenant, x.Connection, x.Kind, x.GroupHour()}
}

// writeExceptions counts the new ones by group and keeps each one until its group is full, and writes what became of
// those that were resolved. All groups are locked by one statement, in their order.
func (z *settling) writeExceptions(ctx context.Context) error {
	made, closed := map[exceptionGroup]int64{}, map[exceptionGroup]int64{}
	for i := range z.exceptions {
		made[groupOf(&z.exceptions[i])]++
	}
	gone := &rows{}
	for _, x := range z.closed {
		closed[groupOf(x)]++
		to := x.Resolution.To
		gone.add(x.ID, x.State, x.Resolution.At, x.Resolution.By, x.Resolution.Reason, to.Message, to.Attempt, to.Part, x.Resolution.State)
	}
	room, err := z.countGroups(ctx, made, closed)
	if err != nil {
		return err
	}
	if _, err := z.t.exec(ctx, closeExceptions, gone); err != nil {
		return err
	}
	return z.keepExceptions(ctx, room)
}

// countGroups returns how many exceptions each group has room for.
func (z *settling) countGroups(ctx context.Context, made, closed map[exceptionGroup]int64) (room map[exceptionGroup]int64, err error) {
	groups := &rows{}
	for g, n := range made {
		groups.add(g.Tenant, g.Connection, g.Kind, g.Hour, n, -closed[g])
	}
	for g, n := range closed {
		if made[g] == 0 {
			groups.add(g.Tenant, g.Connection, g.Kind, g.Hour, 0, -n)
		}
	}
	room = map[exceptionGroup]int64{}
	err = z.t.query(ctx, countExceptions, groups, func(res *sql.Rows) error {
		var (
			g     exceptionGroup
			count int64
		)
		err := res.Scan(&g.Tenant, &g.Connection, &g.Kind, &g.Hour, &count)
		room[g] = exception.MaxPerGroup - (count - made[g])
		return err
	})
	return room, err
}

func (z *settling) keepExceptions(ctx context.Context, room map[exceptionGroup]int64) error {
	kept, counts := &rows{}, map[exceptionGroup]int64{}
	for i := range z.exceptions {
		x := &z.exceptions[i]
		g := groupOf(x)
		if room[g]--; room[g] < 0 {
			continue
		}
		counts[g]++
		kept.add(ident.NewException(x.Tenant), x.Tenant, x.Connection, x.Kind, g.Hour, x.At, x.Message, x.Attempt, x.Part, x.Receipt, x.Detail,
			exception.Open, x.Event, candidateBytes(x.Candidates))
	}
	if _, err := z.t.exec(ctx, insertExceptions, kept); err != nil {
		return err
	}
	open := &rows{}
	for g, n := range counts {
		open.add(g.Tenant, g.Connection, g.Kind, g.Hour, n)
	}
	_, err := z.t.exec(ctx, countOpen, open)
	return err
}
